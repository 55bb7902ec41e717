"""Compiled loops over raw arrays; they know no class of ours.

`rows` reads rows (dense or CSR), `batch` walks the four batch methods, `fused` is its pass where every weight matters,
`gram` walks them in margin space, `sweep` is the row-at-a-time perceptron.
"""
