"""Rows in files are the rows that were written, a bounded block at a time, in any other process too."""

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import encode, tables

from shortcut_miner import row_files
from shortcut_miner.encoding import encode_item_table
from shortcut_miner.errors import SourceError
from shortcut_miner.row_files import FACTS, NAMES, ROWS, RowFiles, RowWriter, open_row_files
from shortcut_miner.transactions import RowBlocks, Transactions, Vocabulary

Row = tuple[tuple[int, ...], int, int]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "ROWS_A_GROUP", 5)
    monkeypatch.setattr(row_files, "ITEMS_A_GROUP", 12)


def numbered(
    rows: list[list[int]], classes: list[int], weights: list[int] | None = None, items: int = 400
) -> Transactions:
    count = max(classes, default=-1) + 1
    like = Vocabulary(range(items), range(0), range(count), np.ones(count, np.int64))  # type: ignore[arg-type]
    return Transactions(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([item for row in rows for item in row], np.int32),
        np.array(classes, np.int32),
        np.ones(len(rows), np.int64) if weights is None else np.array(weights, np.int64),
        like,
    )


def groups_of(rows: Transactions) -> np.ndarray:
    """Return a group number a row, of few groups."""
    return np.arange(len(rows), dtype=np.int32) % 3 - 1


def listed(rows: Transactions, groups: np.ndarray) -> list[tuple[Row, int]]:
    """Return each row's (items, class, group) and its weight."""
    return [
        ((tuple(rows.items[low:high].tolist()), int(klass), int(group)), int(weight))
        for (low, high), klass, group, weight in zip(
            pairwise(rows.offsets), rows.classes, groups, rows.weights, strict=True
        )
    ]


def read(files: RowFiles) -> list[tuple[Row, int]]:
    return [row for rows, groups in files.grouped_blocks() for row in listed(rows, groups)]


def totals(rows: list[tuple[Row, int]]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row, weight in rows:
        found[row] += weight
    return found


def write(folder: Path, rows: Transactions, merge: bool, cuts: tuple[int, ...] = ()) -> RowFiles:
    """Write rows in calls that end at `cuts`."""
    groups = groups_of(rows)
    with RowWriter(folder, rows.vocabulary, merge) as writer:
        for start, stop in pairwise((0, *cuts, len(rows))):
            writer.append(part(rows, start, stop), groups[start:stop])
    return writer.close()


def part(rows: Transactions, start: int, stop: int) -> Transactions:
    offsets = rows.offsets[start : stop + 1]
    return Transactions(
        offsets - offsets[0],
        rows.items[offsets[0] : offsets[-1]],
        rows.classes[start:stop],
        rows.weights[start:stop],
        rows.vocabulary,
    )


def assert_facts(files: RowFiles) -> None:
    """Check what was counted at writing, and that no block is larger than it may be."""
    blocks = list(files.blocks())
    assert files.row_count == len(files) == sum(map(len, blocks))
    assert files.transaction_count == sum(block.transaction_count for block in blocks)
    assert files.item_total == sum(len(block.items) for block in blocks)
    frequency = np.zeros(files.vocabulary.item_count, np.int64)
    for block in blocks:
        frequency += block.item_frequency
        assert 0 < len(block) <= row_files.ROWS_A_GROUP
        assert len(block.items) <= row_files.ITEMS_A_GROUP or len(block) == 1
        assert block.offsets[0] == 0
        assert (block.offsets.dtype, block.items.dtype, block.classes.dtype, block.weights.dtype) == (
            np.int64, np.int32, np.int32, np.int64,
        )  # fmt: skip
        assert all(array.flags.writeable for array in (block.offsets, block.items, block.classes))
    assert files.item_frequency.tolist() == frequency.tolist()


@given(tables(max_rows=40, max_weight=3), st.data())
def test_unmerged_rows_are_read_back_in_order(table, data: st.DataObject) -> None:
    rows = encode(table)
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4))))
    with TemporaryDirectory() as folder:
        files = write(Path(folder), rows, False, cuts)
        assert read(files) == listed(rows, groups_of(rows))
        assert_facts(files)
        assert sum(1 for _ in files.blocks()) >= len(rows) // 5


@given(tables(max_rows=40, max_weight=3), st.data())
def test_merged_rows_stand_for_the_same_rows(table, data: st.DataObject) -> None:
    rows = encode(table)
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4))))
    with TemporaryDirectory() as folder:
        files = write(Path(folder), rows, True, cuts)
        found = read(files)
        assert totals(found) == totals(listed(rows, groups_of(rows)))
        assert_facts(files)
        for block, groups in files.grouped_blocks():
            assert len({row for row, _ in listed(block, groups)}) == len(block)
        # Where calls end decides nothing.
        assert read(write(Path(folder), rows, True)) == found


def test_many_equal_rows_become_one_block(tmp_path: Path) -> None:
    rows = numbered([[1, 2]] * 1000 + [[]] * 1000 + [[1, 2]] * 1000, [0] * 3000)
    with RowWriter(tmp_path, rows.vocabulary) as writer:
        writer.append(rows)
    assert read(writer.close()) == [(((1, 2), 0, -1), 2000), (((), 0, -1), 1000)]
    assert writer.close() is writer.close()


def test_class_and_group_keep_rows_apart(tmp_path: Path) -> None:
    rows = numbered([[3]] * 4, [0, 1, 0, 0], [1, 2, 4, 8])
    with RowWriter(tmp_path, rows.vocabulary) as writer:
        writer.append(rows, np.array([0, 0, 1, 0], np.int32))
    assert read(writer.close()) == [(((3,), 0, 0), 9), (((3,), 0, 1), 4), (((3,), 1, 0), 2)]  # by class


def test_equal_hashes_of_different_rows_merge_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "shortcut_miner.row_merging._hashes", lambda rows: np.zeros(len(rows.classes), np.uint64)
    )
    rows = numbered([[1], [2], [1, 2], [], [3]], [0] * 5)
    assert totals(read(write(tmp_path, rows, True))) == totals(listed(rows, groups_of(rows)))


def test_a_row_longer_than_a_block_is_a_block(tmp_path: Path) -> None:
    rows = numbered([[1], list(range(300)), [], list(range(12))], [0, 0, 1, 1])
    files = write(tmp_path, rows, False)
    assert [len(block) for block in files.blocks()] == [1, 1, 2]
    assert read(files) == listed(rows, groups_of(rows))
    assert_facts(files)


def test_no_rows(tmp_path: Path) -> None:
    rows = numbered([], [])
    for merge in (True, False):
        files = write(tmp_path, rows, merge)
        assert list(files.blocks()) == []
        assert (len(files), files.transaction_count, files.item_total) == (0, 0, 0)
        assert len(open_row_files(tmp_path)) == 0


@given(tables(max_rows=20))
def test_opened_again(table) -> None:
    rows = encode(table)
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = write(folder, rows, True)
        for names in (False, True):
            again = open_row_files(folder, names)
            assert read(again) == read(files)
            assert_facts(again)
            assert (again.row_count, again.paths) == (files.row_count, files.paths)
            assert again.vocabulary.first_items.tolist() == rows.vocabulary.first_items.tolist()
            assert again.vocabulary.answer_counts.tolist() == rows.vocabulary.answer_counts.tolist()
        for kind, series in again.vocabulary.names.items():
            assert series.dtype == pl.String
            assert series.to_list() == rows.vocabulary.names[kind].to_list()
        assert list(again.vocabulary.names) == list(rows.vocabulary.names)
        assert again.vocabulary.answers.to_list() == rows.vocabulary.answers.to_list()


def test_reading_needs_no_polars(tmp_path: Path) -> None:
    rows = numbered([[1], [2, 3]], [0, 1])
    write(tmp_path, rows, True)
    code = (
        "import sys\nfor name in ('polars', 'pandas', 'numba'):\n    sys.modules[name] = None\n"
        "from pathlib import Path\nfrom shortcut_miner.row_files import open_row_files\n"
        f"print([rows.items.tolist() for rows in open_row_files(Path({str(tmp_path)!r})).blocks()])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[1, 2, 3]]", done.stderr


def test_rows_satisfy_the_protocol(tmp_path: Path) -> None:
    def row_total(rows: RowBlocks) -> int:
        return sum(map(len, rows.blocks()))

    rows = numbered([[1], [2]], [0, 0])
    assert row_total(rows) == row_total(write(tmp_path, rows, True)) == 2


# ---- what goes wrong ----


def test_an_exception_leaves_no_file(tmp_path: Path) -> None:
    rows = numbered([[1]] * 20, [0] * 20)
    with pytest.raises(KeyError), RowWriter(tmp_path, rows.vocabulary, merge=False) as writer:
        writer.append(rows)
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_being_replaced_are_gone(tmp_path: Path) -> None:
    rows = numbered([[1]], [0])
    write(tmp_path, rows, True)
    writer = RowWriter(tmp_path, rows.vocabulary)
    with pytest.raises(SourceError, match="No such file"):
        open_row_files(tmp_path)
    writer.close()
    assert len(open_row_files(tmp_path)) == 0


@pytest.mark.parametrize("name", [ROWS, FACTS, NAMES])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damaged_files_are_named(tmp_path: Path, name: str, damage: str) -> None:
    table = encode(tables_example())
    write(tmp_path, table, False)
    path = tmp_path / name
    content = bytearray(path.read_bytes())
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        content[len(content) // 4 : len(content) // 4 + 40] = bytes(40)
        path.write_bytes(content)
    with pytest.raises(SourceError, match="Remove the folder and encode them again") as told:
        read(open_row_files(tmp_path, names=True))
    assert str(tmp_path) in str(told.value)


def test_other_arrow_files_are_told(tmp_path: Path) -> None:
    write(tmp_path, numbered([[1]], [0]), True)
    pl.DataFrame({"a": [1]}).write_ipc(tmp_path / ROWS)
    with pytest.raises(SourceError, match="other columns than rows have"):
        read(open_row_files(tmp_path))


def test_no_changed_byte_changes_names(tmp_path: Path) -> None:
    table = pl.DataFrame({"words": [[f"word {number}" for number in range(300)]]})
    no_objects = pl.lit([], pl.List(pl.String))
    rows = encode_item_table(table.with_columns(objects=no_objects, answer=pl.lit("yes"), weight=1))
    with RowWriter(tmp_path, rows.vocabulary) as writer:
        writer.append(rows)
    content, told = (tmp_path / NAMES).read_bytes(), 0
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1
        (tmp_path / NAMES).write_bytes(changed)
        try:
            names = open_row_files(tmp_path, names=True).vocabulary.names
            assert names["words"].to_list() == rows.vocabulary.names["words"].to_list()
        except SourceError:
            told += 1
    assert told > 100


def test_no_changed_byte_changes_rows(tmp_path: Path) -> None:
    files = write(tmp_path, numbered([[1, 3], [2], [3], [], [4]] * 2, [0, 1] * 5), False)
    content, rows = (tmp_path / ROWS).read_bytes(), read(files)
    told = 0
    for place in range(0, len(content), 5):
        changed = bytearray(content)
        changed[place] ^= 0x55
        (tmp_path / ROWS).write_bytes(changed)
        try:
            assert read(files) == rows
        except SourceError:
            told += 1
    assert told > len(content) // 15


def tables_example():
    from reference import OBJECT, WORD, Row
    from strategies import Table

    rows = [Row(frozenset({(WORD, f"w{k % 7}"), (OBJECT, f"o{k % 5}")}), f"a{k % 3}") for k in range(60)]
    return Table(rows, [1] * 60)
