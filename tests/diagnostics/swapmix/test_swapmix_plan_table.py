"""Plans as tables: dictionaries of the values that occur, and row groups of the fixed size."""

import dataclasses
from collections import Counter
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.swapmix import plan_table
from shortcut_miner.diagnostics.swapmix.kernels_numba.dictionaries import distinct_codes
from shortcut_miner.diagnostics.swapmix.plan import PlanRows


@given(st.lists(st.integers(-1, 9)), st.sampled_from([np.int32, np.int64]))
def test_dictionaries_have_the_values_that_occur_in_order(codes, dtype) -> None:
    used, places, is_there = distinct_codes(np.array(codes, dtype), 10)
    assert used.tolist() == sorted({*codes} - {-1})
    assert [used[place] if there else -1 for place, there in zip(places, is_there, strict=True)] == codes
    values = pa.array([f"value {code}" for code in range(10)])
    column = plan_table._dictionary(np.array(codes, dtype), values)
    assert column.to_pylist() == [None if code < 0 else f"value {code}" for code in codes]


def block(first: int, length: int) -> PlanRows:
    """Return rows whose questions are numbered from `first` on."""
    columns = {field.name: np.zeros(length, np.int32) for field in dataclasses.fields(PlanRows)}
    return PlanRows(
        **columns | {"question": np.arange(first, first + length, dtype=np.int32), "counts": Counter()}
    )


@given(st.lists(st.integers(0, 20)), st.integers(1, 8))
def test_row_groups_have_the_fixed_size_however_blocks_are_cut(lengths, size) -> None:
    starts = np.cumsum([0, *lengths])
    blocks = [block(int(first), length) for first, length in zip(starts, lengths, strict=False)]
    seen: list[PlanRows] = []
    with patch.object(plan_table, "ROW_GROUP_SIZE", size):
        groups = [group["question"].tolist() for group in plan_table._groups(blocks, seen.append)]
    assert [row for group in groups for row in group] == list(range(sum(lengths)))
    assert all(len(group) == size for group in groups[:-1])
    assert all(groups)
    assert seen == blocks
