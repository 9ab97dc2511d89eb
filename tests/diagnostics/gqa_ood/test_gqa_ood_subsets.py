"""Entropy, cut, head and tail against plain Python, and what must hold whatever the questions are."""

import math
import random
from fractions import Fraction
from itertools import pairwise

import polars as pl
import pytest
from diagnostics.gqa_ood.worlds import Row, entropies, subset
from hypothesis import assume, given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.gqa_ood.config import EntropyCut
from shortcut_miner.diagnostics.gqa_ood.subsets import SWEEP, split_questions, tail_sizes
from shortcut_miner.scoring.head_tail import (
    answer_counts,
    cut_at_mean_minus_std,
    factor,
    is_rare,
    judge_groups,
    normalised_entropy,
    rarity,
)

alphas = st.sampled_from(
    ["0.2", "1", "-0.5", "0", "0.1", "2.8", "-0.999", "0.30000000000000004", "1e-9", "7"]
)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Return questions of a few groups, most of them uneven."""
    found: list[tuple[str, str]] = []
    for group in range(draw(st.integers(1, 6))):
        counts = draw(st.lists(st.integers(1, 12), min_size=1, max_size=5))
        found += [(f"g{group}", f"a{at}") for at, count in enumerate(counts) for _ in range(count)]
    return [(f"{at:04d}", group, answer) for at, (group, answer) in enumerate(found)]


def frame(given_rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(given_rows, schema=["question_id", "group", "answer"], orient="row")


def parted(
    given_rows: list[Row], alpha: str = "0.2", cut: EntropyCut = "none", epsilon: float = 0.0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    questions = frame(given_rows)
    counts = answer_counts(questions)
    groups, _ = judge_groups(counts, epsilon, cut)
    return groups, split_questions(questions, counts, groups, float(alpha))


@given(rows(), st.sampled_from([0.0, 1e-9]))
def test_entropies(given_rows: list[Row], epsilon: float) -> None:
    groups, _ = parted(given_rows, epsilon=epsilon)
    expected = entropies(given_rows, epsilon)
    assert dict(groups.select("group", "entropy").rows()) == pytest.approx(expected, abs=1e-9)
    sizes = {name: [row[2] for row in given_rows if row[1] == name] for name in expected}
    for group, row_count, answer_count in groups.select("group", "row_count", "answer_count").iter_rows():
        assert (row_count, answer_count) == (len(sizes[group]), len(set(sizes[group])))


@given(rows())
def test_the_cut(given_rows: list[Row]) -> None:
    groups, split = parted(given_rows, cut="mean-std")
    values = entropies(given_rows)
    mean = sum(values.values()) / len(values)
    threshold = mean - math.sqrt(sum((one - mean) ** 2 for one in values.values()) / len(values))
    for group, is_kept in groups.select("group", "is_kept").iter_rows():
        if abs(values[group] - threshold) > 1e-9:  # closer ones are decided without rounding
            assert is_kept == (values[group] < threshold)
    kept = set(groups.filter("is_kept")["group"])
    assert split.filter(pl.col("subset").is_null() == pl.col("group").is_in(kept)).is_empty()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_cut_is_exact(values: list[float]) -> None:
    exact = [Fraction(one) for one in values]
    mean = sum(exact) / len(exact)
    variance = sum((one - mean) ** 2 for one in exact) / len(exact)
    kept, cut = cut_at_mean_minus_std(values)
    assert kept == [one <= mean and (mean - one) ** 2 >= variance for one in exact]
    assert (cut.mean, cut.std**2) == (float(mean), pytest.approx(float(variance), abs=1e-12))


@given(st.floats(0, 1), st.floats(0, 1))
def test_of_two_groups_the_less_even_one_is_kept(first: float, second: float) -> None:
    assume(first != second)
    assert cut_at_mean_minus_std([first, second])[0] == [first < second, second < first]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 49])
def test_equally_even_groups_are_all_kept(size: int) -> None:
    assert cut_at_mean_minus_std([0.1] * size)[0] == [True] * size
    even = [normalised_entropy([5] * kinds) for kinds in range(1, size + 1)]
    assert even == [1.0] * size


@given(rows(), alphas)
def test_head_and_tail(given_rows: list[Row], alpha: str) -> None:
    _, split = parted(given_rows, alpha)
    assert dict(split.select("question_id", "subset").rows()) == {
        row[0]: subset(given_rows, row, alpha) for row in given_rows
    }


@given(rows())
def test_the_sweep(given_rows: list[Row]) -> None:
    _, split = parted(given_rows)
    found = {
        alpha: {row[0] for row in given_rows if subset(given_rows, row, str(alpha)) == "tail"}
        for alpha in SWEEP
    }
    for question_id, tail_alpha in split.select("question_id", "tail_alpha").iter_rows():
        assert tail_alpha == min((alpha for alpha in SWEEP if question_id in found[alpha]), default=None)
    assert tail_sizes(split) == {f"{alpha:g}": len(ids) for alpha, ids in found.items()}
    upwards = [found[alpha] for alpha in sorted(SWEEP)]
    assert all(one <= other for one, other in pairwise(upwards))


@given(rows(), alphas)
def test_what_holds_of_every_split(given_rows: list[Row], alpha: str) -> None:
    groups, split = parted(given_rows, alpha, "mean-std")
    kept = set(groups.filter("is_kept")["group"])
    both = split.filter(pl.col("subset").is_not_null())
    assert sorted(both["question_id"]) == [row[0] for row in given_rows if row[1] in kept]
    for group, row_count, answer_count in (
        groups.filter("is_kept").select("group", "row_count", "answer_count").iter_rows()
    ):
        sides = set(split.filter(group=group)["subset"])
        if answer_count >= 2 and float(alpha) >= answer_count - 1:
            assert sides == {"tail"}
        if Fraction(alpha) <= -1 + Fraction(answer_count, row_count):
            assert sides == {"head"}
    shares = split.with_columns(
        n=pl.len().over("group"), c=pl.len().over("group", "answer_share")
    )  # equal shares of several answers add up
    assert ((shares["answer_share"] * shares["n"]).round(6) <= shares["c"]).all()


@given(rows(), st.randoms(use_true_random=False))
def test_order_and_names_change_nothing(given_rows: list[Row], rng: random.Random) -> None:
    groups, split = parted(given_rows, cut="mean-std")
    shuffled = rng.sample(given_rows, len(given_rows))
    renamed = [(one, group, f"z{9 - int(answer[1:])}") for one, group, answer in shuffled]
    for other in (shuffled, renamed):
        others = parted(other, cut="mean-std")
        assert others[0].equals(groups)
        assert others[1].equals(split)


def test_equality_is_head_and_decimals_are_what_was_written() -> None:
    # 6 of 10 with 2 answers: 1.2 times the mean exactly, which floats miss by 2e-16.
    assert rarity(6, 10, 2) == factor(0.2)
    given_rows = [(str(at), "g", "a" if at < 6 else "b") for at in range(10)]
    assert parted(given_rows, "0.2")[1]["subset"].to_list() == ["head"] * 6 + ["tail"] * 4
    assert parted(given_rows, "0.20000000000000001")[1]["subset"].to_list() == ["head"] * 6 + ["tail"] * 4
    assert parted(given_rows, "0.2000000001")[1]["subset"].to_list() == ["tail"] * 10


@given(given_rows=rows(), alpha=alphas)
def test_rare_answers_are_those_of_exact_fractions(given_rows: list[Row], alpha: str) -> None:
    counts = answer_counts(frame(given_rows))
    sized = counts.join(judge_groups(counts)[0], on="group", maintain_order="left")
    sizes = sized.select("count", "row_count", "answer_count").iter_rows()
    least = 1 + Fraction(alpha)
    plain = [Fraction(count * answers, total) < least for count, total, answers in sizes]
    assert is_rare(sized, float(alpha)).to_list() == plain
