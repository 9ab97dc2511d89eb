"""Answers beside the questions of a score, against a plain reading of the options."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.datasets.answers import fit_answers
from shortcut_miner.errors import SchemaError
from shortcut_miner.options import AnswerOptions
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.reading import Reading

KNOWN = [f"q{n}" for n in range(6)]
NEEDED = KNOWN[:4]


def reading(rows: list[tuple[str, str]], name: str = "m.json") -> Reading:
    table = pl.DataFrame(rows, schema={"question_id": pl.String, "answer": pl.String}, orient="row")
    return Reading(table=table, kind="test", file=FileFacts(name=name, size=0, sha256=""))


def fitted(files: dict[str, list[list[tuple[str, str]]]], **options: Any) -> Any:
    return fit_answers(
        {role: [reading(rows) for rows in parts] for role, parts in files.items()},
        known=pl.Series("question_id", KNOWN),
        needed=pl.Series("question_id", NEEDED),
        options=AnswerOptions(**options),
    )


ROWS = st.lists(st.tuples(st.sampled_from([*KNOWN, "x", "y"]), st.sampled_from("abc")), max_size=10)


@given(
    st.lists(st.lists(ROWS, min_size=1, max_size=2), min_size=1, max_size=3),
    st.sampled_from(["error", "skip"]),
    st.sampled_from(["error", "ignore"]),
    st.sampled_from(["error", "first", "last"]),
)
def test_against_a_plain_reading(
    models: list[list[list[tuple[str, str]]]], on_missing: str, on_extra: str, on_duplicate: str
) -> None:
    files = {f"m{at}": parts for at, parts in enumerate(models)}
    options = {"on_missing": on_missing, "on_extra": on_extra, "on_duplicate": on_duplicate}
    said, left_out, dropped, is_error = {}, set(), {}, False
    for role, parts in files.items():
        rows = [row for part in parts for row in part]
        answers: dict[str, str] = {}
        for one, answer in rows:
            if one not in answers or on_duplicate == "last":
                answers[one] = answer
        repeated = len(rows) - len(answers)
        missing = [one for one in NEEDED if one not in answers]
        extra = [one for one in answers if one not in KNOWN]
        if on_duplicate == "error":
            extra = [one for one, _ in rows if one not in KNOWN]
        is_error |= bool(repeated and on_duplicate == "error")
        is_error |= bool(missing and on_missing == "error") or bool(extra and on_extra == "error")
        said[role] = {one: answer for one, answer in answers.items() if one in KNOWN}
        left_out |= {*missing}
        counts = {
            "question without an answer": len(missing),
            "answer to a question that nobody asked": len(extra),
            f"answer to a question answered already, the {on_duplicate} one kept": repeated,
        }
        dropped |= {f"{role}: {reason}": count for reason, count in counts.items() if count}
    if is_error or len(left_out) == len(NEEDED):
        with pytest.raises(SchemaError):
            fitted(files, **options)
        return
    found = fitted(files, **options)
    assert {role: dict(table.rows()) for role, table in found.answers.items()} == said
    assert set(found.left_out) == left_out
    assert found.dropped == dropped
    asked = [{one: answer for one, answer in part.items() if one in NEEDED} for part in said.values()]
    assert bool(found.warnings) == any(one in asked[:at] for at, one in enumerate(asked))


def test_all_problems_of_all_models_are_told_with_what_to_do() -> None:
    whole = [(one, "a") for one in NEEDED]
    with pytest.raises(SchemaError) as caught:
        fitted({"predictions of m": [whole[1:], whole[:2]], "predictions of n": [[*whole[2:], ("x", "b")]]})
    assert str(caught.value).splitlines() == [
        "predictions: got ids that don't fit the 4 questions, expected one answer for each and no other. "
        "Correct the files, or leave these questions out for all models with --on-missing skip, or leave "
        "these answers out with --on-extra ignore, or keep one answer a question with --on-duplicate first, "
        "or give the files of one run alone.",
        "  - predictions of m (m.json, m.json): 1 x repeated question id: 'q1'",
        "  - predictions of n (m.json): 2 x question without a prediction: 'q0', 'q1'",
        "  - predictions of n (m.json): 1 x prediction for an unknown question: 'x'",
    ]


def test_what_leaves_no_question_is_named() -> None:
    whole = [(one, "a") for one in NEEDED]
    rest = (
        "got no question that all models answer, expected at least one. "
        "Check that the files belong to these questions."
    )
    for last, blamed, lost in (
        ([("q5", "b")], "predictions of n (m.json)", 4),
        (whole[3:], "predictions of m (m.json) and predictions of n (m.json)", 3),
    ):
        with pytest.raises(SchemaError) as caught:
            fitted({"predictions of m": [whole[:3]], "predictions of n": [last]}, on_missing="skip")
        assert str(caught.value).splitlines() == [
            f"{blamed}: {rest}",
            "  - predictions of m (m.json): 1 of 4 without an answer",
            f"  - predictions of n (m.json): {lost} of 4 without an answer",
        ]


def test_no_question_needs_an_answer() -> None:
    """As on a folder of rad build without any augmentation."""
    none = pl.Series("question_id", [], dtype=pl.String)
    files = {"m": [reading([("q1", "a")])]}
    found = fit_answers(files, known=pl.Series(KNOWN), needed=none, options=AnswerOptions())
    assert (len(found.left_out), len(found.answers["m"]), found.dropped) == (0, 1, {})


def test_the_same_answers_twice_are_a_warning() -> None:
    one = [(name, "a") for name in NEEDED]
    other = [*reversed(one), (KNOWN[5], "z")]
    found = fitted({"all of m": [one], "relevant of m": [other], "n": [[*one[1:], (NEEDED[0], "b")]]})
    assert found.warnings == (
        "all of m and relevant of m: got the same answers, expected different ones. "
        "Check that each file is the right one.",
    )
