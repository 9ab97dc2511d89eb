from typing import Any

import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from plain import encode_words, found_in, itemset, plain_rules, same_levels, skewed_rows
from reference import WORD, Row
from strategies import MANY, Table, encode, tables

from shortcut_miner.encoding import encode_lists
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.jobs_numba import mine as jobs
from shortcut_miner.mining.kernels_numba.bits import PAIR_LIMIT
from shortcut_miner.mining.miner import Antecedents, MiningConfig, mine_antecedents
from shortcut_miner.mining.search import search_rules
from shortcut_miner.transactions import Transactions, Vocabulary

TYPES = (np.int32, np.int32, np.int64, np.int64, np.int64)


def mine(transactions: Transactions, min_count: int, max_antecedent: int = 4, **options: int) -> Antecedents:
    threads = options.pop("threads", None)
    config = MiningConfig(min_count=min_count, max_antecedent=max_antecedent, **options)
    return mine_antecedents(transactions, config, threads)


def assert_equals_brute_force(table: Table, min_count: int, max_antecedent: int, **options: int) -> None:
    transactions = encode(table)
    mined = mine(transactions, min_count, max_antecedent, **options)
    expected = reference.mine(table.rows, min_count, max_antecedent, table.weights)
    assert found_in(mined, transactions.vocabulary) == expected
    assert mined.is_complete
    assert mined.count == len(expected)


def assert_typed(mined: Antecedents) -> None:
    for level in mined.levels:
        assert tuple(array.dtype for array in level) == TYPES


@pytest.mark.parametrize("max_antecedent", range(1, 9))
@MANY
@given(table=tables(), min_count=st.integers(1, 4))
def test_equals_brute_force(table: Table, min_count: int, max_antecedent: int) -> None:
    assert_equals_brute_force(table, min_count, max_antecedent)


@MANY
@given(table=tables(max_weight=4), min_count=st.integers(1, 9), max_antecedent=st.integers(1, 5))
def test_weights_equal_brute_force(table: Table, min_count: int, max_antecedent: int) -> None:
    assert_equals_brute_force(table, min_count, max_antecedent)


@given(table=tables(max_weight=4), min_count=st.integers(1, 6))
def test_weights_equal_repeated_rows(table: Table, min_count: int) -> None:
    repeated = [row for row, weight in zip(table.rows, table.weights, strict=True) for _ in range(weight)]
    weighted = mine(encode(table), min_count)
    assert same_levels(weighted, mine(encode(Table(repeated, [1] * len(repeated))), min_count))


@given(table=tables(min_rows=2), order=st.randoms(use_true_random=False))
def test_row_order_does_not_matter(table: Table, order: object) -> None:
    rows = list(table.rows)
    order.shuffle(rows)  # type: ignore[attr-defined]
    shuffled = Table(rows, table.weights)
    assert same_levels(mine(encode(table), 2), mine(encode(shuffled), 2))


@pytest.mark.parametrize(("min_count", "max_antecedent"), [(2, 4), (5, 3), (12, 6), (1, 2)])
def test_more_rows_than_a_hypothesis_example(min_count: int, max_antecedent: int) -> None:
    assert_equals_brute_force(skewed_rows(160, 14, seed=min_count), min_count, max_antecedent)


def test_levels_are_sorted_tries() -> None:
    mined = mine(encode(skewed_rows(200, 20, seed=3)), 4)
    for size in range(1, 5):
        level, below = mined.levels[size], mined.levels[size - 1]
        paths = mined.paths(size, np.arange(len(level.items), dtype=np.int64))
        assert len(paths) > 50 or size == 1
        assert [*map(tuple, paths)] == sorted({*map(tuple, paths)})
        assert (np.diff(paths, axis=1) > 0).all()
        assert below.starts[0] == 0
        assert below.starts[-1] == len(level.items)
        assert (np.diff(below.starts) >= 0).all()
    assert (mined.levels[-1].starts == 0).all()
    assert (np.diff(mined.levels[1].antecedent_count) >= 0).all()  # rare items first


@pytest.mark.parametrize("max_antecedent", [2, 3, 4])
def test_thread_count_does_not_matter(max_antecedent: int) -> None:
    transactions = encode(skewed_rows(400, 40, seed=9))
    one = mine(transactions, 3, max_antecedent, threads=1)
    assert one.count > 700
    for threads in (2, 5):
        assert same_levels(one, mine(transactions, 3, max_antecedent, threads=threads))


class TestTies:
    @staticmethod
    def best(rows: list[list[str]], answers: list[str]) -> dict[str, str]:
        """Return the best answer of every one-item antecedent."""
        transactions = encode_words(rows, answers)
        found = found_in(mine(transactions, 1, 1), transactions.vocabulary)
        return {name: rule.answer for ((_, name),), rule in found.items()}

    def test_rarer_answer_wins(self) -> None:
        assert self.best([["a"], ["a"], ["b"]], ["common", "rare", "common"]) == {"a": "rare", "b": "common"}

    def test_then_the_lexicographically_smaller(self) -> None:
        assert self.best([["a"], ["a"], ["a"]], ["y", "x", "z"]) == {"a": "x"}
        # Lexicographic by bytes: digits before capitals before lower case, "10" before "9".
        assert self.best([["a"], ["a"], ["a"]], ["9", "b", "10"]) == {"a": "10"}
        assert self.best([["a"], ["a"], ["a"]], ["b", "a", "Z"]) == {"a": "Z"}
        assert self.best([["a"], ["a"]], ["z", "é"]) == {"a": "z"}

    def test_frequency_in_the_antecedent_comes_first(self) -> None:
        rows = [["a"], ["a"], ["a"], []]
        assert self.best(rows, ["common", "common", "rare", "common"]) == {"a": "common"}

    @pytest.mark.parametrize("max_antecedent", [1, 2, 3, 4])
    def test_at_every_length(self, max_antecedent: int) -> None:
        rows = [["p", "q", "r", "s"]] * 4 + [["t"]] * 2
        mined = mine(encode_words(rows, ["b", "a", "b", "a", "a", "c"]), 2, max_antecedent)
        for level in mined.levels[1:]:
            assert len(level.items)
            assert (level.rule_count == 2).all()
            assert (level.best_class == 1).all()  # c (1 row), b (2 rows), a (3 rows)

    def test_weights_decide_which_answer_is_rarer(self) -> None:
        rows = [Row(frozenset({(WORD, "a")}), "x"), Row(frozenset({(WORD, "a")}), "y")]
        other = Row(frozenset(), "x")
        table = Table([*rows, other], [3, 3, 1])
        transactions = encode(table)
        found = found_in(mine(transactions, 1), transactions.vocabulary)
        assert [rule.answer for rule in found.values()] == ["y"]


class TestDegenerate:
    @pytest.mark.parametrize("max_antecedent", [1, 2, 4, 8])
    @pytest.mark.parametrize(
        ("rows", "answers"),
        [
            ([], []),
            ([[]], ["yes"]),
            ([[], []], ["yes", "no"]),
            ([["a"]], ["yes"]),
            ([["a", "b"]], ["yes"]),
            ([["a"], ["a"]], [None, None]),
        ],
    )
    def test_nothing_frequent(
        self, rows: list[list[str]], answers: list[str | None], max_antecedent: int
    ) -> None:
        mined = mine(encode_words(rows, answers), 2, max_antecedent)
        assert_typed(mined)
        assert len(mined.levels) == max_antecedent + 1
        assert mined.count == 0
        assert mined.is_complete

    def test_one_row(self) -> None:
        table = Table([Row(frozenset((WORD, name) for name in "abcdefgh"), "yes")], [1])
        for max_antecedent in range(1, 9):
            assert_equals_brute_force(table, 1, max_antecedent)

    def test_all_rows_equal(self) -> None:
        row = Row(frozenset((WORD, name) for name in "abcde"), "yes")
        for size in (2, 9, 300):
            table = Table([row] * size, [1] * size)
            assert_equals_brute_force(table, size, 5)
            assert mine(encode(table), size + 1).count == 0

    def test_one_class(self) -> None:
        table = skewed_rows(80, 9, seed=1, answers=1)
        assert_equals_brute_force(table, 3, 4)
        mined = mine(encode(table), 3)
        assert all((level.rule_count == level.antecedent_count).all() for level in mined.levels)

    def test_an_item_in_every_row(self) -> None:
        table = skewed_rows(80, 9, seed=2)
        everywhere = {(WORD, "?"), (WORD, "is")}
        rows = [Row(row.items | everywhere, row.answer) for row in table.rows]
        assert_equals_brute_force(Table(rows, table.weights), 3, 4)

    def test_all_answers_distinct(self) -> None:
        table = Table([Row(frozenset({(WORD, "a"), (WORD, "b")}), f"a{k}") for k in range(50)], [1] * 50)
        assert_equals_brute_force(table, 1, 3)
        assert mine(encode(table), 2).count == 0

    def test_rows_without_a_class_count_nowhere(self) -> None:
        rows = skewed_rows(60, 8, seed=4).rows
        unknown = [Row(row.items, None) for row in rows]
        mixed = [row for pair in zip(unknown, rows, strict=True) for row in pair]
        assert_equals_brute_force(Table(mixed, [1] * len(mixed)), 3, 3)

    @pytest.mark.parametrize(("max_antecedent", "expected"), [(1, 300), (2, 45_150), (3, 4_500_250)])
    def test_rows_of_300_items(self, max_antecedent: int, expected: int) -> None:
        mined = mine(encode_words([[f"w{k}" for k in range(300)]] * 3, ["yes"] * 3), 3, max_antecedent)
        assert mined.count == expected
        assert mined.is_complete
        assert (mined.levels[-1].antecedent_count == 3).all()

    def test_a_row_of_300_items_among_short_ones(self) -> None:
        long = [f"w{k}" for k in range(300)]
        short = [["w0", "w1", "w299"]] * 4
        transactions = encode_words([long, *short], ["no", *["yes"] * 4])
        mined = mine(transactions, 2, 8)
        found = found_in(mined, transactions.vocabulary)
        assert len(found) == 7
        assert set(found.values()) == {reference.Found("yes", 5, 4)}

    def test_the_root_is_the_most_common_answer(self) -> None:
        root = mine(encode_words([["a"], [], []], ["no", "yes", "yes"]), 1).levels[0]
        assert (root.best_class, root.antecedent_count, root.rule_count) == (1, 3, 2)
        root = mine(encode_words([], []), 1).levels[0]
        assert (root.best_class, root.antecedent_count, root.rule_count) == (-1, 0, 0)


class TestMaxRules:
    @pytest.fixture
    def transactions(self) -> Transactions:
        return encode(skewed_rows(150, 20, seed=5))

    @pytest.mark.parametrize("room", [2, 1 << 19])
    @pytest.mark.parametrize("max_rules", [1, 20, 21, 60, 300, 1000])
    def test_cut_is_exact_flagged_and_the_same_for_all_threads(
        self, transactions: Transactions, max_rules: int, room: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jobs, "_FIRST_BUFFER", room)
        everything = found_in(mine(transactions, 3), transactions.vocabulary)
        cuts = [mine(transactions, 3, max_rules=max_rules, threads=threads) for threads in (1, 2, 5)]
        found = found_in(cuts[0], transactions.vocabulary)
        assert len(everything) > 1000
        assert not cuts[0].is_complete
        assert found.items() <= everything.items()
        assert len(found) <= max(max_rules, 20)  # one-item antecedents are always there
        for other in cuts[1:]:
            assert not other.is_complete
            assert same_levels(cuts[0], other)
        # Beside single items it is all that the most frequent items have, of as many of them as fit.
        longer = {antecedent for antecedent in everything if len(antecedent) > 1}
        items = cuts[0].item_names
        frequent = (itemset(items[first:], transactions.vocabulary) for first in range(len(items) + 1))
        parts = [{antecedent for antecedent in longer if antecedent <= some} for some in frequent]
        fitting = next(part for part in parts if len(part) <= max(max_rules - len(items), 0))
        assert {antecedent for antecedent in found if len(antecedent) > 1} == fitting

    @pytest.mark.parametrize("superset_filter", ["none", "immediate", "all"])
    def test_a_cut_leaves_no_rule_that_the_whole_search_drops(
        self, transactions: Transactions, superset_filter: str
    ) -> None:
        options: dict[str, Any] = {"min_count": 3, "superset_filter": superset_filter}
        whole = search_rules(transactions, SearchConfig(**options))
        everything = plain_rules(whole.rules, transactions.vocabulary)
        for max_rules in (60, 300, 1000):
            cut = search_rules(
                transactions, SearchConfig(**options, max_rules=max_rules), allow_incomplete=True
            )
            rules = plain_rules(cut.rules, transactions.vocabulary)
            assert 0 < len(rules) < len(everything)
            assert {*rules} <= {*everything}

    def test_exactly_enough_is_complete(self, transactions: Transactions) -> None:
        count = mine(transactions, 3).count
        assert mine(transactions, 3, max_rules=count).is_complete
        assert not mine(transactions, 3, max_rules=count - 1).is_complete

    @pytest.mark.slow
    def test_a_search_without_end_is_cut_in_time_and_memory(self) -> None:
        # One first item alone has 299 over 7, about 4e13, antecedents below it.
        transactions = encode_words([[f"w{k}" for k in range(300)]] * 2, ["yes"] * 2)
        mined = mine(transactions, 2, 8, max_rules=1_000_000)
        assert not mined.is_complete
        assert mined.count <= 1_000_000


class TestOutputBuffer:
    @pytest.mark.parametrize("room", [1, 2, 7, 64])
    @pytest.mark.parametrize("chunks", [1, 3, 256])
    def test_growing_changes_nothing(self, monkeypatch: pytest.MonkeyPatch, room: int, chunks: int) -> None:
        transactions = encode(skewed_rows(120, 16, seed=6))
        for max_antecedent in (2, 3, 5):
            expected = mine(transactions, 3, max_antecedent)
            with monkeypatch.context() as patch:
                patch.setattr(jobs, "_FIRST_BUFFER", room)
                patch.setattr(jobs, "_CHUNKS_A_THREAD", chunks)
                small = mine(transactions, 3, max_antecedent)
            assert expected.count > 60
            assert same_levels(small, expected)

    def test_growing_keeps_to_max_rules(self, monkeypatch: pytest.MonkeyPatch) -> None:
        transactions = encode(skewed_rows(120, 16, seed=6))
        count = mine(transactions, 3).count
        monkeypatch.setattr(jobs, "_FIRST_BUFFER", 1)
        assert mine(transactions, 3, max_rules=count).is_complete
        assert not mine(transactions, 3, max_rules=count - 1).is_complete


class TestBits:
    """Rows kept as bits, in words of 64 rows and 64 candidates, and rows that do not fit into these."""

    @pytest.mark.parametrize("max_antecedent", [2, 3, 4, 5])
    @pytest.mark.parametrize("most_weight", [1, 9, 1 << 40])
    def test_whatever_fits_the_same_is_found(
        self, monkeypatch: pytest.MonkeyPatch, most_weight: int, max_antecedent: int
    ) -> None:
        random = np.random.default_rng(31)
        held = [random.choice(90, random.integers(2, 9), replace=False) % 70 for _ in range(700)]
        rows = [sorted({f"w{k:02}" for k in some}) for some in held]
        answers = [f"a{k}" for k in np.minimum(random.geometric(0.5, len(rows)), 5)]
        weights = random.integers(1, most_weight + 1, len(rows)).tolist()
        table = Table(reference.word_rows(rows, answers), weights)
        min_count = 4 * (most_weight + 1) // 2
        found = []
        for masks in (1, 640, 5000, 1 << 18):
            monkeypatch.setattr(jobs, "_MASKS", masks)
            found.append(mine(encode(table), min_count, max_antecedent))
        assert len(found[0].levels[2].items) > 300
        assert all(same_levels(found[0], other) for other in found[1:])
        assert_equals_brute_force(table, min_count, max_antecedent)


class TestManyCandidates:
    """Nodes with more candidates than are tried in pairs, and nodes with fewer."""

    def test_dense_rows_equal_matrix_products(self) -> None:
        random = np.random.default_rng(8)
        rows, items, min_count = 36, PAIR_LIMIT + 12, 7
        holds = random.random((rows, items)) < 0.8
        classes = random.integers(0, 3, rows)
        names = [f"w{k:03}" for k in range(items)]
        transactions = encode_words(
            [[names[k] for k in np.flatnonzero(held)] for held in holds], [f"a{c}" for c in classes]
        )
        mined = mine(transactions, min_count, 3)
        assert len(mined.item_names) == items

        # By numpy: the counts of every triple, per class in the order of the vocabulary.
        holds = holds[:, mined.item_names].astype(np.int64)
        order = [int(name[1:]) for name in transactions.vocabulary.answers]
        total, best, best_class = np.zeros((3, items, items, items), np.int64)
        for number, answer in enumerate(order):
            chosen = holds[classes == answer]
            count = np.einsum("ri,rj,rk->ijk", chosen, chosen, chosen, optimize=True)
            total += count
            best_class = np.where(count > best, number, best_class)
            best = np.maximum(best, count)
        i, j, k = np.nonzero(best >= min_count)
        ascending = (i < j) & (j < k)
        triples = np.stack((i, j, k), axis=1)[ascending]

        level = mined.levels[3]
        paths = mined.paths(3, np.arange(len(level.items), dtype=np.int64))
        assert len(paths) > 100_000
        np.testing.assert_array_equal(paths, triples)
        np.testing.assert_array_equal(level.rule_count, best[*triples.T])
        np.testing.assert_array_equal(level.antecedent_count, total[*triples.T])
        np.testing.assert_array_equal(level.best_class, best_class[*triples.T])

    @pytest.mark.parametrize("max_antecedent", [2, 3, 4, 5])
    def test_sparse_rows_equal_brute_force(self, max_antecedent: int) -> None:
        # "rare" is the first item, with more candidates than the limit, each in a few of its rows.
        random = np.random.default_rng(12)
        others = np.array([f"w{k}" for k in range(PAIR_LIMIT + 8)])
        rows, answers = [], []
        for row in range(1100):
            is_rare = row < 440
            chosen = random.choice(len(others), 5 if is_rare else 4, replace=False)
            chosen[0] = row % len(others)
            rows.append([*others[chosen], *(["rare"] if is_rare else [])])
            answers.append(f"a{row % 2}")
        # Every other item once more than "rare".
        rows += [[name] for name in others for _ in range(441)]
        answers += ["a0"] * (len(rows) - len(answers))
        table = Table(reference.word_rows(rows, answers), [1] * len(rows))
        transactions = encode(table)
        mined = mine(transactions, 2, max_antecedent)
        assert transactions.vocabulary.words[int(mined.item_names[0])] == "rare"
        assert max_antecedent == 2 or mined.levels[1].starts[1] > PAIR_LIMIT
        assert_equals_brute_force(table, 2, max_antecedent)


class TestLargeNumbers:
    def test_more_than_65535_items_and_65536_rows(self) -> None:
        sparse = pytest.importorskip("scipy.sparse")
        random = np.random.default_rng(21)
        rows, items, min_count = 140_001, 70_000, 2
        row = np.repeat(np.arange(rows), 5)
        item = np.stack(
            (
                np.arange(rows) % items,  # every item twice
                (np.arange(rows) * 7 + 1) % items,  # and twice again, in other company
                (np.arange(rows) // 2) % items,
                items - 1 - random.zipf(1.5, rows) % 400,
                items - 1 - random.zipf(1.5, rows) % 400,
            ),
            axis=1,
        ).ravel()
        classes = random.integers(0, 2, rows)  # so every item has an answer in two rows
        holds = sparse.csr_array((np.ones(len(row), np.int64), (row, item)), shape=(rows, items))
        holds.data[:] = 1
        transactions = self.encode(holds, classes)
        mined = mine(transactions, min_count, 2)
        assert len(mined.item_names) > 65_535

        total, best, best_class = self.pair_counts(sparse, holds, transactions, classes)
        pairs = best >= min_count
        pairs = sparse.triu(pairs[mined.item_names][:, mined.item_names], k=1).tocsr()
        pairs.sort_indices()
        left, right = pairs.nonzero()
        paths = mined.paths(2, np.arange(len(mined.levels[2].items), dtype=np.int64))
        assert len(paths) > 10_000
        assert (mined.item_names[paths] > 65_535).any()
        np.testing.assert_array_equal(paths, np.stack((left, right), axis=1))
        left, right = mined.item_names[paths].T
        level = mined.levels[2]
        np.testing.assert_array_equal(level.antecedent_count, total[left, right])
        np.testing.assert_array_equal(level.rule_count, best[left, right])
        np.testing.assert_array_equal(level.best_class, best_class[left, right])
        single = mined.levels[1]
        np.testing.assert_array_equal(single.antecedent_count, holds.sum(axis=0)[mined.item_names])

    @staticmethod
    def encode(holds: "object", classes: np.ndarray) -> Transactions:
        holds.sort_indices()
        names = np.array([f"w{k:05}" for k in range(holds.shape[1])])
        flat = names[holds.indices].tolist()
        lists = [flat[low:high] for low, high in zip(holds.indptr[:-1], holds.indptr[1:], strict=True)]
        return encode_lists(lists, [f"a{c}" for c in classes])

    @staticmethod
    def pair_counts(sparse, holds, transactions: Transactions, classes: np.ndarray):
        """Return how often each pair of items occurs, with its best answer's count and class, by products."""
        total = best = best_class = None
        for number, name in enumerate(transactions.vocabulary.answers):
            chosen = holds[classes == int(name[1:])]
            count = (chosen.T @ chosen).tocsr()
            if total is None:
                total, best, best_class = count, count, count * 0
                continue
            is_better = count > best
            best_class = (best_class - best_class.multiply(is_better) + is_better * number).tocsr()
            total, best = total + count, best.maximum(count)
        return total, best, best_class

    def test_many_distinct_items(self) -> None:
        # 800,000 rows of two items: a search in which each item looks at all others would take minutes.
        items, rows = 400_000, 800_000
        pairs = np.stack((np.arange(rows) % items, (np.arange(rows) * 7 + 1) % items), axis=1)
        transactions = Transactions(
            offsets=np.arange(0, 2 * rows + 1, 2, dtype=np.int64),
            items=np.sort(pairs, axis=1).astype(np.int32).ravel(),
            classes=np.zeros(rows, np.int32),
            weights=np.ones(rows, np.int64),
            vocabulary=Vocabulary(
                words=pl.Series(np.arange(items)).cast(pl.String),
                objects=pl.Series([], dtype=pl.String),
                answers=pl.Series(["yes"]),
                answer_counts=np.array([rows]),
            ),
        )
        mined = mine(transactions, 2)
        assert mined.count == 2 * items

    def test_counts_beyond_32_bits(self) -> None:
        rows = [Row(frozenset({(WORD, "a"), (WORD, "b")}), answer) for answer in ("x", "y", "x")]
        table = Table(rows, [1 << 30, (1 << 31) - 7, (1 << 30) + 5])
        assert_equals_brute_force(table, 1 << 31, 2)
        table = Table(rows, [1 << 40, 1 << 41, 1])
        assert_equals_brute_force(table, 1 << 41, 2)


class TestConfig:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"min_count": 0}, "min_count: got 0, expected a whole number of 1 or more. Change --min-count."),
            (
                {"max_antecedent": 9},
                "max_antecedent: got 9, expected a whole number from 1 to 8. Change --max-antecedent.",
            ),
            (
                {"max_antecedent": 0},
                "max_antecedent: got 0, expected a whole number from 1 to 8. Change --max-antecedent.",
            ),
            ({"max_rules": 0}, "max_rules: got 0, expected a whole number of 1 or more. Change --max-rules."),
        ],
    )
    def test_values_without_meaning(self, options: dict[str, int], message: str) -> None:
        with pytest.raises(ConfigError) as error:
            MiningConfig(**options)
        assert str(error.value) == message
