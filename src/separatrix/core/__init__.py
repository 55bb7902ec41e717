"""The arithmetic: its definition in NumPy, the compiled twin in C++, and the twin's one face in Python.

`definition` is the five rules. `lanes`, `exp`, `rows` (.hpp) are their twin, `look`, `stepper`, `local` walk the batch
methods on it, `gram` and `gram_columns` walk them in margin space, `sweep` is the row-at-a-time perceptron, `shard` is
rows elsewhere, `pool` the threads. `isa.cpp` is all that once per instruction set, `core.cpp` chooses. In Python
`library` loads it and has its records; `rows`, `gram`, `sweep` and `shard` check what goes in. No class of other rooms
is known here.
"""
