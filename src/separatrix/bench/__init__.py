"""Us against the peers, in one run: `separatrix bench`.

`peers` are the plain loops people write, `speed` times both sides alternately, `growth` grows n and d, `sweeps` opens
the data once for several runs. For large data, `rivals` are the sides of a `race` on `planted` rows, and `large` has a
cluster's overhead and growth on files.
"""
