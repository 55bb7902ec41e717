"""The paper's experiments at one command: specs → jobs → results on disk → figures, tables, a report.

`spec` says what an entry of a TOML file may hold, `book` reads and checks a file of them, `samples` reads the rows of a
data entry. `kinds` has one file per kind of experiment: what its entry needs, which `jobs` it runs, what they show.
`workers` get the jobs done, `store` keeps their results on disk, `results` reads each once. `pieces` are what
experiments show, drawn on `figures`; `report_page` puts them on one page, and `reproduce` is all of it, with the
`theorems`.
"""
