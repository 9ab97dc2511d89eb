"""Sharded mining: array for array what the single search finds, and nothing mined twice."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import skewed_rows
from strategies import Table, encode, tables

from shortcut_miner.encoding import encode_training, keep_top_answers
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.mining import memory
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.miner import mine_antecedents, mine_first_items
from shortcut_miner.mining.sharding import jobs, suffixes
from shortcut_miner.mining.sharding.counting import count_rows
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.sharding.found import find_heads
from shortcut_miner.mining.sharding.plans import PLAN, plan_shards, read_plan
from shortcut_miner.mining.sharding.run import found_shards, merge_shards, mine_in_shards
from shortcut_miner.mining.sharding.suffixes import kept_rows
from shortcut_miner.row_files import RowWriter
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.transactions import Transactions, Vocabulary
from shortcut_miner.work_folders import one_run_in

SHARDS = (1, 2, 7, 64)


def assert_same(found: Antecedents, single: Antecedents) -> None:
    assert found.is_complete == single.is_complete
    np.testing.assert_array_equal(found.item_names, single.item_names, strict=True)
    for size, (ours, theirs) in enumerate(zip(found.levels, single.levels, strict=True)):
        for name, one, other in zip(ours._fields, ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other, strict=True, err_msg=f"{name} of {size} items")


def assert_shards_make_no_difference(
    rows: Transactions, config: MiningConfig, shards: tuple[int, ...] = SHARDS
) -> Antecedents:
    single = mine_antecedents(rows, config, 1)
    for count in shards:
        assert_same(mine_in_shards(rows, config, Distribution(shards=count), threads=1), single)
    return single


def rows_of(items: list[np.ndarray], classes: np.ndarray, item_count: int) -> Transactions:
    """Return rows without names, whose classes are numbered by rising count."""
    names, number, counts = np.unique(classes, return_inverse=True, return_counts=True)
    order = np.argsort(counts, kind="stable")
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(names))
    vocabulary = Vocabulary(range(item_count), range(0), range(len(names)), counts[order])  # type: ignore[arg-type]
    return Transactions(
        np.cumsum([0, *map(len, items)]),
        np.concatenate(items).astype(np.int32),
        rank[number],
        np.ones(len(items), np.int64),
        vocabulary,
    )


# ---- equal to the single search ----


@given(table=tables(max_weight=3), min_count=st.integers(1, 4), max_antecedent=st.integers(1, 5))
def test_drawn_rows(table: Table, min_count: int, max_antecedent: int) -> None:
    config = MiningConfig(min_count=min_count, max_antecedent=max_antecedent, max_rules=10**6)
    assert_shards_make_no_difference(encode(table), config)


@given(table=tables(max_weight=3), min_count=st.integers(1, 3), max_rules=st.integers(1, 60))
def test_a_cut_at_max_rules(table: Table, min_count: int, max_rules: int) -> None:
    assert_shards_make_no_difference(encode(table), MiningConfig(min_count=min_count, max_rules=max_rules))


def test_a_cut_of_many_rules() -> None:
    rows = encode(skewed_rows(400, 40, seed=3))
    for max_rules in (50, 1000, 3000):
        cut = assert_shards_make_no_difference(rows, MiningConfig(min_count=2, max_rules=max_rules))
        assert not cut.is_complete


def one_item_everywhere(random: np.random.Generator) -> Transactions:
    items = [np.append(np.flatnonzero(random.random(12) < 0.3), 12) for _ in range(300)]
    return rows_of(items, random.integers(0, 4, 300), 13)


def long_rows(random: np.random.Generator) -> Transactions:
    shared = np.sort(random.choice(600, 30, replace=False))
    items = [np.union1d(random.choice(600, 300, replace=False), shared) for _ in range(24)]
    return rows_of(items, np.arange(24) % 2, 600)


def many_items(random: np.random.Generator) -> Transactions:
    """More than 65,535 items that reach min_count."""
    items = [np.array([k // 2, 35_000 + k // 2, 70_000]) for k in range(70_000)]
    return rows_of(items, np.zeros(70_000, np.int64), 70_001)


def one_class(random: np.random.Generator) -> Transactions:
    return rows_of([np.flatnonzero(random.random(10) < 0.5) for _ in range(200)], np.zeros(200, np.int64), 10)


def heavy_skew(random: np.random.Generator) -> Transactions:
    shares = 1 / np.arange(1, 80) ** 1.5
    items = [np.flatnonzero(random.random(79) < shares) for _ in range(2000)]
    return rows_of(items, np.minimum(random.geometric(0.5, 2000), 6), 79)


def no_frequent_items(random: np.random.Generator) -> Transactions:
    return rows_of([np.array([k]) for k in range(5)], np.arange(5), 5)


@pytest.mark.parametrize(
    "make", [one_item_everywhere, long_rows, many_items, one_class, heavy_skew, no_frequent_items]
)
def test_adversarial_rows(make: Callable[[np.random.Generator], Transactions]) -> None:
    rows = make(np.random.default_rng(1))
    depth = 2 if make in (long_rows, many_items) else 4
    config = MiningConfig(min_count=2, max_antecedent=depth, max_rules=10**7)
    single = assert_shards_make_no_difference(rows, config)
    assert (single.count == 0) == (make is no_frequent_items)
    assert make is not many_items or len(single.item_names) > 65_535


@pytest.mark.real
def test_real_rows(real_data: Path) -> None:
    folder = real_data / "vqa60k"
    questions, *_ = read_vqa(folder / "questions_train.json.gz", folder / "annotations_train.json.gz")
    labels = read_labels(folder / "image_to_detection.json.gz").table
    rows = encode_training(keep_top_answers(questions), labels)
    single = assert_shards_make_no_difference(rows, MiningConfig(max_rules=10**7))
    assert single.count == 99_118


def test_blocks_of_rows_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode(skewed_rows(300, 20, seed=5))
    monkeypatch.setattr("shortcut_miner.row_files.ROWS_A_GROUP", 32)
    with RowWriter(tmp_path, rows.vocabulary) as writer:
        writer.append(rows)
    files = writer.close()
    assert len(list(files.blocks())) > 2
    config = MiningConfig(min_count=3, max_rules=10**6)
    assert_same(mine_in_shards(files, config, Distribution(shards=5)), mine_antecedents(rows, config))


def test_all_threads_find_the_same() -> None:
    rows = encode(skewed_rows(300, 30, seed=6))
    config = MiningConfig(min_count=2, max_rules=10**6)
    single = mine_antecedents(rows, config, 1)
    for threads in (1, 3):
        assert_same(mine_in_shards(rows, config, Distribution(shards=3), threads=threads), single)


# ---- plans ----


@given(table=tables(), min_count=st.integers(1, 4), shards=st.integers(1, 9))
def test_groups_cover_all_first_items(table: Table, min_count: int, shards: int) -> None:
    rows = encode(table)
    config = MiningConfig(min_count=min_count, max_rules=100)
    plan = plan_shards(count_rows(rows), len(rows), config, shards=shards)
    assert [item for group in plan.groups for item in range(*group)] == list(range(len(plan.order)))
    assert len(plan.groups) <= shards
    singles = mine_antecedents(rows, config).item_names
    assert [item for item in plan.order if item in singles] == singles.tolist()


def test_groups_are_cut_until_their_rows_fit() -> None:
    rows = encode(skewed_rows(2000, 30, seed=7))
    counted = count_rows(rows)
    config = MiningConfig(min_count=2, max_rules=100)

    def needed(group: tuple[int, int]) -> int:
        kept = kept_rows(rows, counted.order(2), *group, merge=True)
        assert kept is not None
        return suffixes.bytes_of_rows(kept, counted.order(2)[slice(*group)], 1)

    whole = needed((0, 30))
    plan = plan_shards(counted, len(rows), config, shards=None, room=whole // 2)
    assert len(plan.groups) > 1
    assert all(needed(group) <= whole // 2 for group in plan.groups if group[1] - group[0] > 1)
    assert len(plan_shards(counted, len(rows), config, shards=None, room=whole).groups) == 1


def test_the_digest_of_rows_knows_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode(skewed_rows(50, 8, seed=8))
    whole = count_rows(rows)
    monkeypatch.setattr("shortcut_miner.transactions.ROWS_A_BLOCK", 7)
    parts = count_rows(rows)
    assert whole.digest == parts.digest
    np.testing.assert_array_equal(whole.totals, parts.totals)
    heavier = dataclasses.replace(rows, weights=rows.weights + (np.arange(50) == 3))
    assert count_rows(heavier).digest != whole.digest


def test_a_plan_with_other_arrays_than_were_written(tmp_path: Path) -> None:
    rows = encode(skewed_rows(50, 8, seed=9))
    mine_in_shards(rows, MiningConfig(min_count=2), Distribution(shards=2, work=tmp_path))
    with np.load(tmp_path / PLAN) as archive:
        members = dict(archive)
    np.savez(tmp_path / PLAN, **members | {"order": members["order"] + np.int32(1)})
    with pytest.raises(SourceError, match=r"plan\.npz: got other arrays than were written, expected"):
        read_plan(tmp_path)


def test_a_process_that_holds_its_memory_already_cuts_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "held", lambda: 10**12)
    counts: dict[str, int] = {}
    warnings: list[str] = []
    rows = encode(skewed_rows(300, 20, seed=9))
    config = MiningConfig(min_count=2, max_rules=10**6)
    distribution = Distribution(memory=500_000_000)
    found = mine_in_shards(rows, config, distribution, counts=counts, warnings=warnings)
    assert_same(found, mine_antecedents(rows, config))
    assert (counts, warnings) == ({"shards": 1}, [])


def test_a_shard_of_more_rows_than_fit_is_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode(skewed_rows(300, 20, seed=9))
    config = MiningConfig(min_count=2, max_rules=10**6)
    monkeypatch.setattr(jobs, "room_for_rows", lambda *_: 300 * suffixes.BYTES_A_ROW)
    found = mine_in_shards(rows, config, Distribution(shards=1, work=tmp_path))
    assert_same(found, mine_antecedents(rows, config))
    assert len(list(tmp_path.glob("found-*.npz"))) > 1


def test_an_item_of_more_rows_than_fit_is_mined_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode(skewed_rows(300, 20, seed=9))
    config = MiningConfig(min_count=2, max_rules=10**6)
    counts: dict[str, int] = {}
    warnings: list[str] = []

    def mine() -> None:
        found = mine_in_shards(rows, config, Distribution(shards=3), counts=counts, warnings=warnings)
        assert_same(found, mine_antecedents(rows, config))

    mine()
    assert (counts, warnings) == ({"shards": 3}, [])
    monkeypatch.setattr(jobs, "room_for_rows", lambda *_: 1)
    monkeypatch.setattr(jobs, "bytes_of_rows", lambda *_: 3 * 10**9)
    mine()
    assert warnings == [
        "the rows of one item need about 3.0 GB, more than there is for a shard's rows; they were mined all "
        "the same. To hold them takes about --memory 6.2GB."
    ]


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    rows = encode(skewed_rows(50, 8, seed=9))
    with (
        one_run_in(tmp_path),
        pytest.raises(ConfigError, match=r"another run.* is at work, expected one run at"),
    ):
        mine_in_shards(rows, MiningConfig(min_count=2, max_rules=100), Distribution(work=tmp_path))


def test_halves_are_not_hidden_by_what_was_found_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = encode(skewed_rows(300, 20, seed=9))
    work = Distribution(shards=2, work=tmp_path)
    mine_in_shards(rows, MiningConfig(min_count=2, max_rules=60), work)
    monkeypatch.setattr(jobs, "room_for_rows", lambda *_: 100 * suffixes.BYTES_A_ROW)
    config = MiningConfig(min_count=2, max_rules=10**6)
    assert_same(mine_in_shards(rows, config, work), mine_antecedents(rows, config))


# ---- kept rows ----


@given(table=tables(max_weight=3), data=st.data())
def test_kept_rows_are_suffixes_once(table: Table, data: st.DataObject) -> None:
    rows = encode(table)
    order = count_rows(rows).order(1)
    first = data.draw(st.integers(0, len(order)))
    stop = data.draw(st.integers(first, len(order)))
    expected: dict[tuple[frozenset[int], int], int] = {}
    for k in range(len(rows)):
        items = rows.items[rows.offsets[k] : rows.offsets[k + 1]].tolist()
        kept = frozenset(items) & {*order[first:].tolist()}
        if rows.classes[k] >= 0 and kept & {*order[first:stop].tolist()}:
            key = (kept, int(rows.classes[k]))
            expected[key] = expected.get(key, 0) + int(rows.weights[k])
    found = kept_rows(rows, order, first, stop, merge=True)
    assert found is not None
    lists = np.split(found.items, found.offsets[1:-1]) if len(found) else []
    keys = [(frozenset(one.tolist()), int(label)) for one, label in zip(lists, found.classes, strict=True)]
    assert len({*keys}) == len(keys)
    assert dict(zip(keys, found.weights.tolist(), strict=True)) == expected


def test_many_kept_rows_are_merged_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode(skewed_rows(900, 12, seed=10))
    order = count_rows(rows).order(1)
    few = kept_rows(rows, order, 6, 12)
    merged = kept_rows(rows, order, 6, 12, merge=True)
    monkeypatch.setattr(suffixes, "_UNMERGED_ROWS", 1)
    monkeypatch.setattr(suffixes, "_UNMERGED_ITEMS", 1)
    many = kept_rows(rows, order, 6, 12)
    assert few is not None and merged is not None and many is not None
    assert len(many) < len(few) // 2
    for name in ("offsets", "items", "classes", "weights"):
        np.testing.assert_array_equal(getattr(many, name), getattr(merged, name), strict=True)


def test_rows_without_room_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode(skewed_rows(900, 12, seed=10))
    order = count_rows(rows).order(1)
    merged = kept_rows(rows, order, 6, 12, merge=True)
    assert merged is not None
    enough = suffixes.bytes_of_rows(merged, order[6:12], 1)
    assert kept_rows(rows, order, 6, 12, room=enough) is not None
    assert kept_rows(rows, order, 6, 12, room=enough - 1) is None


def test_placed_rows_are_the_same_rows() -> None:
    rows = encode(skewed_rows(200, 12, seed=12))
    order = count_rows(rows).order(20)
    placed = suffixes.placed_rows(rows, order)
    assert (np.diff(placed.classes) >= 0).all()
    inverse = mine_antecedents(
        dataclasses.replace(placed, weights=placed.weights), MiningConfig(min_count=20)
    )
    single = mine_antecedents(rows, MiningConfig(min_count=20))
    np.testing.assert_array_equal(order[inverse.item_names], single.item_names)
    assert inverse.count == single.count


# ---- what is there already ----


@pytest.fixture
def counted_backend() -> tuple[Backend, list[tuple[int, int]]]:
    """Return a backend that lists the ranges of first items it was asked for."""
    asked: list[tuple[int, int]] = []

    def noted(rows, order, first, stop, config, threads):  # type: ignore[no-untyped-def]
        asked.append((first, stop))
        return mine_first_items(rows, order, first, stop, config, threads, "numba")

    return dataclasses.replace(resolve_backend("numba"), mine_first_items=noted), asked


class TestResumption:
    rows = encode(skewed_rows(300, 30, seed=11))
    config = MiningConfig(min_count=3, max_rules=10**6)

    @pytest.fixture
    def work(self, tmp_path: Path) -> Distribution:
        return Distribution(shards=6, work=tmp_path)

    def test_finished_shards_are_not_mined_again(
        self, work: Distribution, counted_backend: tuple[Backend, list[tuple[int, int]]]
    ) -> None:
        backend, asked = counted_backend
        first = mine_in_shards(self.rows, self.config, work, backend=backend)
        groups = sorted(asked)
        assert len(groups) == 6
        asked.clear()
        assert_same(mine_in_shards(self.rows, self.config, work, backend=backend), first)
        assert asked == []
        (work.work / f"found-{groups[2][0]}-{groups[2][1]}.npz").unlink()  # type: ignore[operator]
        assert_same(mine_in_shards(self.rows, self.config, work, backend=backend), first)
        assert asked == [groups[2]]

    def test_other_rows_or_limits_are_mined_again(
        self, work: Distribution, counted_backend: tuple[Backend, list[tuple[int, int]]]
    ) -> None:
        backend, asked = counted_backend
        mine_in_shards(self.rows, self.config, work, backend=backend)
        asked.clear()
        heavier = dataclasses.replace(self.rows, weights=2 * self.rows.weights)
        found = mine_in_shards(heavier, self.config, work, backend=backend)
        assert_same(found, mine_antecedents(heavier, self.config))
        assert len(asked) == 6
        asked.clear()
        shorter = dataclasses.replace(self.config, max_antecedent=2)
        found = mine_in_shards(heavier, shorter, work, backend=backend)
        assert_same(found, mine_antecedents(heavier, shorter))
        assert len(asked) == 6

    def test_another_cap_uses_what_is_complete(
        self, work: Distribution, counted_backend: tuple[Backend, list[tuple[int, int]]]
    ) -> None:
        backend, asked = counted_backend
        for max_rules in (1000, 2000, 10**6, 1500):
            config = dataclasses.replace(self.config, max_rules=max_rules)
            found = mine_in_shards(self.rows, config, work, backend=backend)
            assert_same(found, mine_antecedents(self.rows, config))
        asked.clear()
        mine_in_shards(self.rows, self.config, work, backend=backend)
        assert asked == []

    def test_shards_before_the_cut_are_mined_for_single_items_only(
        self, work: Distribution, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        depths = []

        def noted(rows, order, first, stop, config, threads):  # type: ignore[no-untyped-def]
            depths.append(config.max_antecedent)
            return mine_first_items(rows, order, first, stop, config, threads, "numba")

        backend = dataclasses.replace(resolve_backend("numba"), mine_first_items=noted)
        cut = dataclasses.replace(self.config, max_rules=60)
        mine_in_shards(self.rows, cut, work, backend=backend)
        assert depths == [4, 1, 1, 1, 1, 1]

    @pytest.mark.parametrize("part", range(8))
    def test_a_damaged_file_is_mined_again(
        self, work: Distribution, counted_backend: tuple[Backend, list[tuple[int, int]]], part: int
    ) -> None:
        backend, asked = counted_backend
        first = mine_in_shards(self.rows, self.config, work, backend=backend)
        path = sorted(work.work.glob("found-*.npz"))[part % 6]  # type: ignore[union-attr]
        content = bytearray(path.read_bytes())
        if part == 7:
            del content[len(content) // 2 :]
        else:  # in the middle of an array, whatever its number
            place = content.find(b"items_2.npy") + 200 + part
            content[place] ^= 0xFF
        path.write_bytes(bytes(content))
        asked.clear()
        assert_same(mine_in_shards(self.rows, self.config, work, backend=backend), first)
        assert len(asked) == 1

    def test_a_damaged_plan_is_made_again(self, work: Distribution) -> None:
        first = mine_in_shards(self.rows, self.config, work)
        assert work.work is not None
        (work.work / PLAN).write_bytes(b"PK")
        assert_same(mine_in_shards(self.rows, self.config, work), first)
        with pytest.raises(SourceError, match=r"plan\.npz: got .*, expected the plan of a search in shards"):
            (work.work / PLAN).write_bytes(b"PK")
            read_plan(work.work)

    def test_missing_shards_are_named(self, work: Distribution) -> None:
        mine_in_shards(self.rows, self.config, work)
        assert work.work is not None
        plan = read_plan(work.work)
        for number in (1, 4):
            (head,) = find_heads(work.work, plan.key, plan.groups[number])
            head.path.unlink()
        with pytest.raises(SourceError) as error:
            merge_shards(work.work, plan, found_shards(work.work, plan))
        assert str(error.value) == (
            f"{work.work}: got 4 of 6 shards, expected all. Run shortcut-miner mine --work {work.work} "
            "--shard N for each N of 1, 4."
        )
