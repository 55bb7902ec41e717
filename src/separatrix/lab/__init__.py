"""The paper's experiments at one command: specs → jobs → results on disk → figures, tables, a report.

`spec` reads experiments from TOML, `material` their rows, `plan` says which `jobs` they need, `crew` gets them done and
`store` keeps them. `evidence` turns `results` into `figures`, `table`s and sentences, `counts` does so for tables of
counts, both by way of `statistics`; `page` puts them on one page, and `reproduce` is all of it.
"""
