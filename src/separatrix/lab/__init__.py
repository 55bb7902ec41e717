"""The paper's experiments, and what their numbers look like on a page.

`table` is rows with a title, `paper` computes the tables that `separatrix reproduce` prints.
"""
