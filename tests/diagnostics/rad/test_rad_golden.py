"""The golden examples: real questions with the expected "yes" augmentation, or a skip."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.rad.tables import SCHEMA, record

from shortcut_miner.diagnostics.rad import how_many, sources
from shortcut_miner.diagnostics.rad.config import Mode, RadConfig
from shortcut_miner.diagnostics.rad.sources import find_sources
from shortcut_miner.diagnostics.rad.surfaces import with_surfaces

EXAMPLES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "golden" / "rad" / "examples.json").read_text(encoding="utf-8")
)
# Why each golden skip is one, by its own words for it.
REASONS = {
    "answer denies the object": sources.NOT_A_COLOR,
    "'clear' is not a colour (recommended: skip)": sources.NOT_A_COLOR,
    "answer '4-18-45' is not a whole number": sources.NOT_DIGITS,
    "answer '3 different'": how_many.SECOND_CLAUSE,
    "answer 'many'": sources.NOT_DIGITS,
    "word after 'How many' is 'are' (AUX)": how_many.NOT_A_NOUN,
    "main verb is 'is'": how_many.OTHER_VERB,
    "'can be seen': not a plain permutation -> skipped": how_many.OTHER_VERB,
    "predicate noun after 'are'": how_many.NOT_A_MODIFIER,
    "predicate adjective after 'are' ('Are there two cars red?' is not English)": how_many.NOT_A_MODIFIER,
    "subject after 'are': object question": how_many.NOT_A_MODIFIER,
    "'unknown' is not a kind": sources.NO_KIND,
    "article inside S ('kind of an exposure')": sources.ARTICLE_INSIDE,
    "text after 'this': pattern must end in 'is this?'": sources.NO_OPENING,
}


def phrased(examples: list[dict[str, Any]], mode: Mode) -> tuple[dict[str, str], dict[str, str]]:
    """Return question id -> the augmentation with the answer itself put in, and id -> reason of a skip."""
    rows = [
        record(0, one["question"], one["answer"]) | {"question_id": str(one["question_id"])}
        for one in examples
    ]
    found = find_sources(pl.DataFrame(rows, schema=SCHEMA), RadConfig(mode=mode))
    made = with_surfaces(found.eligible.with_columns(substitute="substance"), mode)
    return (
        dict(made.select("question_id", "augmented").iter_rows()),
        dict(found.skipped.select("question_id", "reason").iter_rows()),
    )


@pytest.fixture(scope="module")
def grammar() -> tuple[dict[str, str], dict[str, str]]:
    return phrased(EXAMPLES, "grammar")


def test_there_are_examples_of_everything() -> None:
    assert len(EXAMPLES) == 44
    assert {one["type"] for one in EXAMPLES} == {"colors", "how-many", "what-kind"}
    assert sum(one["expected"] == "skip" for one in EXAMPLES) == 15


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: f"{one['type']}-{one['question_id']}")
def test_examples(example: dict[str, Any], grammar: tuple[dict[str, str], dict[str, str]]) -> None:
    made, skipped = grammar
    key = str(example["question_id"])
    if example["expected"] != "skip":
        assert made[key] == example["expected"]
        return
    assert key not in made
    if example["reason"].startswith("same word, other sentence"):
        assert skipped[key] == how_many.NOT_A_NOUN
    else:
        assert skipped[key] == REASONS[example["reason"]]


def test_the_literal_mode() -> None:
    made, _ = phrased(EXAMPLES, "literal")
    literal = {
        str(one["question_id"]): one["expected_literal_table1"]
        for one in EXAMPLES
        if "expected_literal_table1" in one
    }
    assert len(literal) == 4
    assert {key: made[key] for key in literal} == literal
