"""The search on a device equals numba's, array for array. The device is this machine (see cuda_host)."""

import dataclasses
import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cuda_host.arrays import DeviceArray
from cuda_host.host import host_device
from hypothesis import given
from hypothesis import strategies as st
from plain import encode_words, same_levels, skewed_rows
from reference import WORD, Row
from strategies import Table, encode, tables

from shortcut_miner.encoding import encode_training
from shortcut_miner.errors import BackendError
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.backends import resolve_backend
from shortcut_miner.mining.jobs_cupy import mine as mine_jobs
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Device
from shortcut_miner.mining.jobs_cupy.mine import mine_first_items_on, mine_on
from shortcut_miner.mining.jobs_cupy.rows import project_rows, send_rows
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.transactions import Transactions, Vocabulary

NUMBA = resolve_backend("numba")
DEVICES = st.builds(
    host_device,
    st.sampled_from([1 << 32, 1 << 21]),
    descending=st.booleans(),
    atomics_a_turn=st.sampled_from([0, 0, 1, 2, 7]),
)


def config_of(min_count: int, max_antecedent: int = 4, max_rules: int | None = None) -> MiningConfig:
    return MiningConfig(min_count=min_count, max_antecedent=max_antecedent, max_rules=max_rules)


def assert_same(found: Antecedents, expected: Antecedents) -> None:
    assert same_levels(found, expected)
    np.testing.assert_array_equal(found.item_names, expected.item_names)
    assert found.item_names.dtype == expected.item_names.dtype
    assert found.is_complete == expected.is_complete


def assert_as_numba(
    transactions: Transactions, config: MiningConfig, device: Device | None = None
) -> Antecedents:
    expected = NUMBA.mine_antecedents(transactions, config, 1)
    assert_same(mine_on(device or host_device(), transactions, config), expected)
    return expected


def plain_transactions(lists: list[list[int]], classes: list[int]) -> Transactions:
    """Return rows of item numbers as they are."""
    lengths = [len(items) for items in lists]
    counts = np.bincount(classes)
    return Transactions(
        offsets=np.cumsum([0, *lengths], dtype=np.int64),
        items=np.fromiter(itertools.chain.from_iterable(lists), np.int32, sum(lengths)),
        classes=np.array(classes, np.int32),
        weights=np.ones(len(lists), np.int64),
        vocabulary=Vocabulary(
            words=pl.Series(range(max(itertools.chain.from_iterable(lists)) + 1)).cast(pl.String),
            objects=pl.Series([], dtype=pl.String),
            answers=pl.Series(range(len(counts))).cast(pl.String),
            answer_counts=counts,
        ),
    )


@given(
    table=tables(max_rows=40, max_weight=4),
    min_count=st.integers(1, 9),
    max_antecedent=st.integers(1, 8),
    device=DEVICES,
)
def test_random_rows(table: Table, min_count: int, max_antecedent: int, device: Device) -> None:
    assert_as_numba(encode(table), config_of(min_count, max_antecedent), device)


@given(table=tables(min_rows=8, max_rows=40, max_weight=2), max_rules=st.integers(1, 60), device=DEVICES)
def test_random_rows_with_a_cut(table: Table, max_rules: int, device: Device) -> None:
    assert_as_numba(encode(table), config_of(2, 4, max_rules), device)


@pytest.fixture(scope="module")
def real_tables(real_data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    folder = real_data / "vqa60k"
    training, *_ = read_vqa(folder / "questions_train.json.gz", folder / "annotations_train.json.gz")
    return training, read_labels(folder / "image_to_detection.json.gz").table


@pytest.mark.real
@pytest.mark.parametrize("first", [0, 40_000])
def test_a_slice_of_the_real_subset(real_tables: tuple[pl.DataFrame, pl.DataFrame], first: int) -> None:
    training, labels = real_tables
    transactions = encode_training(training.slice(first, 2_500), labels, items="both")
    assert assert_as_numba(transactions, config_of(4)).count > 5_000


# ---- what breaks miners ----


@pytest.mark.parametrize("max_antecedent", [1, 2, 4, 8])
@pytest.mark.parametrize(
    ("lists", "answers"),
    [
        ([], []),
        ([[]], ["yes"]),
        ([[], []], ["yes", "no"]),
        ([["a"]] * 3, ["yes"] * 3),
        ([["a", "b"]] * 3, [None] * 3),
        ([["a", "b"]] * 3, ["yes", None, "yes"]),
        ([["a", "b", "c"]] * 9, ["yes"] * 9),
        ([["a"], ["b"]] * 4, ["yes"] * 8),
    ],
)
def test_next_to_nothing(lists: list[list[str]], answers: list[str | None], max_antecedent: int) -> None:
    assert_as_numba(encode_words(lists, answers), config_of(2, max_antecedent))


@pytest.mark.parametrize("max_antecedent", [2, 3])
def test_rows_of_300_items(max_antecedent: int) -> None:
    long = [f"w{k}" for k in range(300)]
    short = [["w0", "w1", "w299"]] * 4
    answers = ["no", "no", *["yes"] * 4]
    assert_as_numba(encode_words([long, long[:60], *short], answers), config_of(2, max_antecedent))
    mined = assert_as_numba(encode_words([long] * 3, ["yes"] * 3), config_of(3, 2))
    assert mined.count == 300 + 300 * 299 // 2


def test_one_class_and_items_everywhere() -> None:
    table = skewed_rows(300, 20, seed=1, answers=1)
    everywhere = {(WORD, "?"), (WORD, "is")}
    with_both = [Row(row.items | everywhere, row.answer) for row in table.rows]
    assert_as_numba(encode(Table(with_both, table.weights)), config_of(30))


def test_heavy_skew_and_many_classes() -> None:
    random = np.random.default_rng(4)
    lists = [sorted({0, 1, *(random.zipf(1.3, 8) % 500 + 2).tolist()}) for _ in range(4_000)]
    classes = (random.zipf(1.4, 4_000) % 700).tolist()
    assert assert_as_numba(plain_transactions(lists, classes), config_of(6)).count > 2_000


def test_more_than_65535_items_and_rows() -> None:
    random = np.random.default_rng(21)
    count = 70_000
    row = np.arange(count)
    lists = np.stack((row, (row * 3 + 1) % count, count - 1 - random.zipf(1.5, count) % 400), axis=1)
    classes = (row % 1000 == 0).astype(int).tolist()
    transactions = plain_transactions([sorted(set(line)) for line in lists.tolist()], classes)
    mined = assert_as_numba(transactions, config_of(2, 3))
    assert len(mined.item_names) > 65_535
    assert len(mined.levels[2].items) > 400


def test_counts_beyond_32_bits() -> None:
    lines = [Row(frozenset({(WORD, "a"), (WORD, "b")}), answer) for answer in ("x", "y", "x")]
    for weights in ([1 << 30, (1 << 31) - 7, (1 << 30) + 5], [1 << 40, 1 << 41, 1]):
        mined = assert_as_numba(encode(Table(lines, weights)), config_of(1 << 31, 2))
        assert mined.count == 3


# ---- how the work is cut ----

SKEWED = encode(skewed_rows(300, 40, seed=9))


@pytest.mark.parametrize("most_blocks", [1, 3])
def test_more_work_than_a_launch_has_threads(monkeypatch: pytest.MonkeyPatch, most_blocks: int) -> None:
    monkeypatch.setattr(plans, "MOST_BLOCKS", most_blocks)
    assert assert_as_numba(SKEWED, config_of(5)).count > 1_000


@pytest.mark.parametrize("room", [1, 5_000, 1 << 30])
def test_rows_are_sorted_in_parts(room: int) -> None:
    known = np.arange(len(SKEWED)) % 7 > 0
    transactions = dataclasses.replace(SKEWED, classes=np.where(known, SKEWED.classes, -1).astype(np.int32))
    numbers = np.random.default_rng(3).permutation(45)[:40].astype(np.int32)
    numbers[numbers >= 40] = -1
    expected = []
    for row, (low, high) in enumerate(itertools.pairwise(transactions.offsets)):
        items = sorted(number for number in numbers[transactions.items[low:high]].tolist() if number >= 0)
        if known[row] and len(items) > 1:
            expected.append((transactions.classes[row], items))
    device = host_device()
    found = project_rows(device, send_rows(device, transactions), numbers, 40, room)
    offsets, items, classes = map(device.to_host, (found.offsets, found.items, found.classes))
    lists = [items[low:high].tolist() for low, high in itertools.pairwise(offsets)]
    assert [*zip(classes.tolist(), lists, strict=True)] == expected


@given(
    entries=st.lists(st.integers(0, 1 << 40), min_size=1, max_size=20),
    class_count=st.integers(1, 1 << 31),
    max_weight=st.integers(1, 1 << 40),
    min_count=st.integers(1, 1 << 40),
)
def test_tables_have_room_for_their_keys_and_take_no_more_than_planned(
    entries: list[int], class_count: int, max_weight: int, min_count: int
) -> None:
    added = np.array(entries)
    sizes = plans.table_sizes(added, class_count)
    keys = np.minimum(added, class_count)
    assert (2 * keys <= sizes).all()
    assert (sizes <= np.maximum(1, 4 * keys)).all()
    assert all(size.bit_count() == 1 for size in sizes.tolist())
    planned = plans.node_bytes(added, added, np.ones_like(added), class_count, max_weight, min_count)
    reaching = [plans.most_reaching(count, max_weight, min_count) for count in entries]
    assert (planned >= 12 * added + 2 * 16 * sizes + 8 * np.array(reaching)).all()


def noting(device: Device, launches: list[str]) -> Device:
    """Return a device that notes the kernels launched."""

    def launch(source: str, kernel: str, *rest: Any) -> None:
        launches.append(kernel)
        device.launch(source, kernel, *rest)

    return dataclasses.replace(device, launch=launch)


@pytest.mark.parametrize("free_bytes", [1 << 21, 1 << 23, 1 << 30])
def test_what_a_plan_allows_is_not_exceeded(free_bytes: int) -> None:
    launches: list[str] = []
    config = config_of(5)
    mine_on(host_device(), SKEWED, config)
    tracemalloc.start()
    try:
        found = mine_on(noting(host_device(free_bytes), launches), SKEWED, config)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert_same(found, NUMBA.mine_antecedents(SKEWED, config, 1))
    # NumPy's arrays are counted: those that stand for the device's, and the result.
    assert peak < free_bytes
    assert (launches.count("deliver") > 3) == (free_bytes < 1 << 30)


def short_of_memory(device: Device, most_bytes: int) -> Device:
    """Return a device on which kernels with more than so many bytes of arrays fail."""

    def launch(source: str, kernel: str, blocks: int, size: int, given: tuple[Any, ...]) -> None:
        if sum(array.nbytes for array in given if isinstance(array, DeviceArray)) > most_bytes:
            raise MemoryError
        device.launch(source, kernel, blocks, size, given)

    return dataclasses.replace(device, launch=launch)


def test_smaller_parts_where_memory_runs_out() -> None:
    launches: list[str] = []
    device = short_of_memory(noting(host_device(), launches), 1 << 19)
    assert_as_numba(SKEWED, config_of(5), device)
    assert launches.count("deliver") > 20


def test_no_part_is_small_enough() -> None:
    with pytest.raises(BackendError) as error:
        mine_on(short_of_memory(host_device(), 1 << 10), SKEWED, config_of(5))
    assert str(error.value) == (
        "backend cupy: got 3.4 GB of free memory on host, expected more: mining fails even in small parts. "
        "Free memory there, raise min_count, or choose numba."
    )


class TestMaxRules:
    @pytest.mark.parametrize("max_rules", [1, 20, 40, 41, 60, 300, 1000, 3000])
    @pytest.mark.parametrize("free_bytes", [1 << 21, 1 << 30])
    def test_what_is_kept_is_the_same(self, max_rules: int, free_bytes: int) -> None:
        mined = assert_as_numba(SKEWED, config_of(4, 4, max_rules), host_device(free_bytes))
        assert not mined.is_complete

    def test_exactly_enough_is_complete(self) -> None:
        count = NUMBA.mine_antecedents(SKEWED, config_of(4), 1).count
        assert assert_as_numba(SKEWED, config_of(4, 4, count)).is_complete
        assert not assert_as_numba(SKEWED, config_of(4, 4, count - 1)).is_complete

    def test_a_search_without_end(self) -> None:
        # One first item alone has 59 over 7, about 3e8, antecedents below it.
        transactions = encode_words([[f"w{k}" for k in range(60)]] * 2, ["yes"] * 2)
        mined = assert_as_numba(transactions, config_of(2, 8, 20_000))
        assert 60 < mined.count <= 20_000


# ---- a range of first items ----


def suffixes(transactions: Transactions, order: np.ndarray, first: int, stop: int) -> Transactions:
    """Return of each row with an item in order[first:stop] the items from order[first] on."""
    place = np.full(transactions.vocabulary.item_count, -1)
    place[order] = np.arange(len(order))
    lists, which = [], []
    for row, (low, high) in enumerate(itertools.pairwise(transactions.offsets)):
        items = [item for item in transactions.items[low:high] if place[item] >= first]
        if any(place[item] < stop for item in items):
            lists.append(items)
            which.append(row)
    return Transactions(
        offsets=np.cumsum([0, *map(len, lists)], dtype=np.int64),
        items=np.array([item for items in lists for item in items], np.int32),
        classes=transactions.classes[which],
        weights=transactions.weights[which],
        vocabulary=transactions.vocabulary,
    )


@given(data=st.data(), table=tables(max_rows=30, max_weight=3), max_rules=st.sampled_from([None, 5, 30]))
def test_first_items(data: st.DataObject, table: Table, max_rules: int | None) -> None:
    transactions = encode(table)
    config = config_of(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5)), max_rules)
    # Any order will do, also with items that do not reach the least count.
    order = np.array(data.draw(st.permutations(range(transactions.vocabulary.item_count))), np.int32)
    first = data.draw(st.integers(0, len(order)))
    stop = data.draw(st.integers(first, len(order)))
    part = suffixes(transactions, order, first, stop)
    found = mine_first_items_on(data.draw(DEVICES), part, order, first, stop, config)
    assert_same(found, NUMBA.mine_first_items(part, order, first, stop, config, 1))


def test_what_a_part_took_is_there_for_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[bool] = []
    device = dataclasses.replace(host_device(), release=lambda: released.append(True))
    monkeypatch.setattr(mine_jobs, "cuda_device", lambda: device)
    order = np.arange(SKEWED.vocabulary.item_count, dtype=np.int32)
    found = mine_jobs.mine_first_items(SKEWED, order, 0, len(order), config_of(20, 2))
    assert_same(found, NUMBA.mine_first_items(SKEWED, order, 0, len(order), config_of(20, 2), 1))
    assert released == [True]


def test_first_items_together_are_the_whole_search() -> None:
    config = config_of(5)
    whole = NUMBA.mine_antecedents(SKEWED, config, 1)
    order = whole.item_names
    cuts = [0, 3, 4, 17, len(order)]
    found = [
        mine_first_items_on(host_device(), suffixes(SKEWED, order, *span), order, *span, config)
        for span in itertools.pairwise(cuts)
    ]
    for length in range(1, 5):
        for field in range(4):
            parts = np.concatenate([part.levels[length][field] for part in found])
            np.testing.assert_array_equal(parts, whole.levels[length][field])
