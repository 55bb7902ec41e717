"""The other hundreds of test_attack.py: a file of their own, so that two processes share the work."""

from __future__ import annotations

import pytest

from trial import not_right

SHORT, LONG = range(1, 20, 2), range(21, 220, 2)  # blocks of 100 problems; `scripts/attack` takes any number of them


@pytest.mark.parametrize("block", [*SHORT, *(pytest.param(k, marks=pytest.mark.long) for k in LONG)])
def test_every_verdict_kind_row_column_and_direction_is_that_of_the_exact_oracle(block):
    assert not_right(range(100 * block, 100 * block + 100)) == []
