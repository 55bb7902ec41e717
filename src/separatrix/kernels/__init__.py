"""Compiled loops over raw arrays; they know no class of ours.

`rows` reads rows (dense or CSR), `batch` walks the four batch methods, `gram` the same in margin space, `sweep` the
row-at-a-time perceptron.
"""
