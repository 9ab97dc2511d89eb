"""Questions that annotators disagree on, numbers within their range, exact surfaces, soft targets."""

import polars as pl
import pytest
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.rad import sources
from shortcut_miner.diagnostics.rad.agreement import agreement
from shortcut_miner.diagnostics.rad.augment import augment_questions
from shortcut_miner.diagnostics.rad.config import RadConfig
from shortcut_miner.diagnostics.rad.exclusions import excluded_answers
from shortcut_miner.errors import ConfigError
from shortcut_miner.text import normalise_answer

ASKED = "How many dogs are there?"


@given(st.lists(st.tuples(st.lists(st.sampled_from(["2", "two", "Red", "red", "a red"]), max_size=4),
                          st.sampled_from(["2", "red"])), min_size=1, max_size=8))  # fmt: skip
def test_agreement_by_brute_force(rows: list[tuple[list[str], str]]) -> None:
    table = pl.DataFrame(rows, schema={"answers": pl.List(pl.String), "asked": pl.String}, orient="row")
    expected = [
        sum(normalise_answer(one) == normalise_answer(asked) for one in said) / len(said) if said else None
        for said, asked in rows
    ]
    assert agreement(table, "asked").to_list() == pytest.approx(expected, nan_ok=True)


def test_few_who_agree_are_too_few() -> None:
    said = {at: ["2"] * at + ["3"] * (10 - at) for at in range(1, 11)}
    table = questions(
        *[(ASKED, "2", answers) for answers in said.values()],
        (ASKED, "5"),
        (ASKED, "2", ["2"]),
        (ASKED, "2", []),
    )
    found = augment_questions(table, RadConfig(min_agreement=4))
    skipped = found.skipped.filter(reason=sources.TOO_FEW_AGREE)["question_id"].to_list()
    assert skipped == ["100", "101", "102"]
    assert sources.TOO_FEW_AGREE not in set(augment_questions(table).skipped["reason"])


def test_numbers_within_the_annotators_range_are_left_out() -> None:
    rows = pl.DataFrame({
        "row": pl.Series([0, 1, 2], dtype=pl.UInt32), "augmentation": "how-many", "pool": "how-many",
        "subject": "dogs", "singular": "dog", "substance": ["3", "3", "3"],
        "answers": [["3", "6"], ["3", "5+"], ["3", "some"]],
    })  # fmt: skip
    pools = pl.DataFrame({
        "augmentation": "how-many", "pool": "how-many", "substitute": [str(at) for at in range(9)],
        "position": pl.Series(range(9), dtype=pl.UInt32),
    })  # fmt: skip
    found = excluded_answers(rows, pools, exclude_annotators=True, exclude_doubtful=True)
    of_row = {row: found.filter(row=row)["position"].to_list() for row in range(3)}
    assert of_row == {0: [3, 4, 5, 6], 1: [3, 4, 5, 6, 7, 8], 2: [3]}
    plain = excluded_answers(rows, pools, exclude_annotators=True)
    assert plain.filter(row=0)["position"].to_list() == [3, 6]


def test_many_colours_exclude() -> None:
    color = "What color is the bus?"
    table = questions(
        (color, "red", ["red"] * 9 + ["rainbow"]), (color, "blue", ["blue"] * 9 + ["multi-colored"]),
        *[(color, one) for one in ("red", "blue", "green") * 3],
    )  # fmt: skip
    found = augment_questions(table, RadConfig(exclude_doubtful=True))
    assert found.skipped.rows() == [
        ("100", "colors", sources.MULTICOLORED),
        ("101", "colors", sources.MULTICOLORED),
    ]
    assert augment_questions(table).skipped.is_empty()


def test_exact_surfaces_and_soft_targets() -> None:
    table = questions(*[(ASKED, one, [one] * 7 + ["9"] * 3) for one in ("1", "2", "4") * 10])
    made = augment_questions(table, RadConfig(surface="exact", soft_targets=True)).augmentations
    texts = {"Is there exactly one dog?", "Are there exactly two dogs?", "Are there exactly four dogs?"}
    assert set(made["question"]) == texts
    assert set(made.select("answer", "target").iter_rows()) == {("yes", 0.7), ("no", 0.0)}
    plain = augment_questions(table).augmentations
    assert "target" not in plain.columns
    assert plain.drop("question").equals(made.drop("question", "target"))


def test_the_presets() -> None:
    paper, balanced = RadConfig(), RadConfig(preset="balanced", surface="plain")
    assert (paper.draw, paper.min_agreement, paper.exclude_doubtful, paper.surface, paper.soft_targets) == (
        "paper", 1, False, "plain", False,
    )  # fmt: skip
    assert (balanced.draw, balanced.min_agreement, balanced.exclude_doubtful, balanced.surface) == (
        "balanced", 4, True, "plain",
    )  # fmt: skip
    with pytest.raises(ConfigError, match="min_agreement: got 11, expected a whole number from 1 to 10"):
        RadConfig(min_agreement=11)
