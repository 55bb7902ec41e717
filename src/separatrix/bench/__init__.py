"""Us against the peers, in one run: `separatrix bench`.

`peers` are the plain loops people write, `speed` times both sides alternately, `growth` grows n and d, `report` says on
which machine.
"""
