"""Scores of pairs and groups: against plain Python, and what must hold between them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shortcut_miner as sm
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.diagnostics.pairs.groups import group_scores, parse_answer
from shortcut_miner.diagnostics.pairs.judged import component_note, connected_images
from shortcut_miner.errors import ConfigError, SchemaError, SourceError

ROWS = [
    # question, image, text, answer
    (1, 1, "is it red?", "yes"),
    (2, 2, "is it red?", "no"),
    (3, 1, "is it a cat?", "no"),
    (4, 2, "Is it  a cat?", "yes"),
    (5, 3, "what color?", "blue"),
    (6, 4, "what color?", "red"),
    (7, 5, "what color?", "red"),
]


def write_questions(folder: Path, rows: list[tuple[int, int, str, str]] = ROWS) -> Path:
    names = ("question_id", "image_id", "question", "answer")
    table = pl.DataFrame(rows, schema=list(names), orient="row").with_columns(answer_type=pl.lit("any"))
    table.write_csv(folder / "questions.csv")
    return folder / "questions.csv"


def write_answers(path: Path, said: dict[int, str]) -> Path:
    records = [{"question_id": one, "answer": text} for one, text in said.items()]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pairs")
    report = sm.pairs.build(questions=write_questions(out), groups=True, out=out / "built")
    sides = report.pairs.select("question_id_agree", "question_id_counter").rows()
    assert sides == [("1", "2"), ("3", "4"), ("5", "6")]
    assert report.groups.drop("group_id").rows() == [("1", "2", "1", "2", "3", "4")]
    assert report.figures["unpaired"] == {"used": 1}
    return out / "built"


TRUTH = {one: answer for one, _, _, answer in ROWS}


def overall(report: ScoreReport) -> dict[tuple[str, str], float]:
    table = report.scores.filter(group="overall").select("metric", "model", "value")
    return {(metric, model): value for metric, model, value in table.iter_rows()}


def test_values_by_hand(built: Path, tmp_path: Path) -> None:
    said = TRUTH | {2: "Yes.", 6: "blue"}
    files = {"m": write_answers(tmp_path / "m.json", said), "t": write_answers(tmp_path / "t.json", TRUTH)}
    values = overall(sm.pairs.score(built, files, scorer="exact", resamples=0))
    assert {metric: values[metric, "m"] for metric in ("accuracy", "pair_accuracy", "one", "neither")} == {
        "accuracy": pytest.approx(400 / 6), "pair_accuracy": pytest.approx(100 / 3),
        "one": pytest.approx(200 / 3), "neither": 0,
    }  # fmt: skip
    assert values["flip_rate", "m"] == pytest.approx(100 / 3)  # "Yes." is "yes"
    assert values["pair_accuracy_by_chance", "m"] == pytest.approx(100 / 3)
    assert [values[one, "m"] for one in ("q_acc", "i_acc", "acc", "g_acc")] == [50, 50, 75, 0]
    for metric in ("accuracy", "pair_accuracy", "flip_rate", "q_acc", "i_acc", "acc", "g_acc"):
        assert values[metric, "t"] == 100
    assert "shortcut_rate" not in {metric for metric, _ in values}


def test_a_baseline_is_compared_pair_by_pair(built: Path, tmp_path: Path) -> None:
    files = {
        "m": write_answers(tmp_path / "m.json", TRUTH | {2: "yes"}),
        "t": write_answers(tmp_path / "t.json", TRUTH),
    }
    report = sm.pairs.score(built, files, scorer="exact", baseline="t", resamples=20)
    assert report.differences is not None
    told = report.differences.filter(group="overall")
    values = dict(told.select("metric", "value").iter_rows())
    assert values["pair_accuracy_difference"] == pytest.approx(-100 / 3)
    assert values["g_acc_difference"] == -100
    assert {*told["baseline"]} == {"t"}


def test_a_pair_counts_if_both_questions_are_answered(built: Path, tmp_path: Path) -> None:
    files = {"m": write_answers(tmp_path / "m.json", {n: TRUTH[n] for n in (1, 2, 3, 5, 6, 7)})}
    with pytest.raises(SchemaError, match=r"1 x question without a prediction: '4'"):
        sm.pairs.score(built, files, scorer="exact", resamples=0)
    report = sm.pairs.score(built, files, scorer="exact", on_missing="skip", resamples=0)
    of_pairs = report.scores.filter(metric="pair_accuracy", group="overall")
    assert of_pairs["n"].to_list() == [2]
    assert "g_acc" not in set(report.scores["metric"])
    files = {"m": write_answers(tmp_path / "few.json", {1: "yes", 3: "no", 5: "blue"})}
    with pytest.raises(
        SchemaError, match="got no pair that all models answer on both sides, expected at least"
    ):
        sm.pairs.score(built, files, on_missing="skip")


def test_the_majority_answer_may_not_be_right(tmp_path: Path) -> None:
    rows = [
        {"question_id": n, "image_id": n, "question": "what?", "answer": answer,
         "answers": [answer] * count + [f"{answer} {k}" for k in range(10 - count)]}
        for n, answer, count in ((1, "a cat", 1), (2, "dog", 10))
    ]  # fmt: skip
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    sm.pairs.build(questions=tmp_path / "q.jsonl", out=tmp_path / "out")
    files = {"m": write_answers(tmp_path / "m.json", {1: "a cat", 2: "dog"})}
    report = sm.pairs.score(tmp_path / "out", files)
    assert "questions whose majority answer scores below 50: 1" in report.notes
    assert overall(report)["pair_accuracy", "m"] == 0
    assert overall(sm.pairs.score(tmp_path / "out", files, correct_at=20))["pair_accuracy", "m"] == 100


def test_what_can_not_be_scored_is_told(built: Path, tmp_path: Path) -> None:
    answers = write_answers(tmp_path / "m.json", TRUTH)
    with pytest.raises(ConfigError, match="predictions: got none, expected at least one"):
        sm.pairs.score(built, {})
    with pytest.raises(ConfigError, match="baseline: got 'x', expected one of m"):
        sm.pairs.score(built, {"m": answers}, baseline="x")
    with pytest.raises(ConfigError, match="correct_at: got 0, expected a number above 0, at most 100"):
        sm.pairs.score(built, {"m": answers}, correct_at=0)
    alone = sm.pairs.build(questions=write_questions(tmp_path, ROWS[:1]), out=tmp_path / "empty")
    assert alone.warnings == ("pairs: got none. Try a looser --match, all rules, or more questions.",)
    with pytest.raises(SourceError, match="got a folder without pairs, expected some"):
        sm.pairs.score(tmp_path / "empty", {"m": answers})


# ---- what must hold whatever is said ----

ANSWERED = st.fixed_dictionaries({n: st.sampled_from(["yes", "no", "Red", "blue", "dunno"]) for n in TRUTH})


@given(said=ANSWERED)
def test_shares_fit_together(said: dict[int, str], built: Path, tmp_path_factory: Any) -> None:
    path = write_answers(tmp_path_factory.getbasetemp() / "drawn.json", said)
    report = sm.pairs.score(built, {"m": path}, scorer="exact", resamples=0)
    values = {metric: value for (metric, _), value in overall(report).items()}
    assert values["pair_accuracy"] + values["one"] + values["neither"] == pytest.approx(100)
    assert values["accuracy"] == pytest.approx(values["pair_accuracy"] + values["one"] / 2)
    assert values["g_acc"] <= min(values["q_acc"], values["i_acc"]) <= values["acc"]


@given(said=st.lists(st.lists(st.sampled_from([1, 0, -1]), min_size=4, max_size=4), min_size=1, max_size=6))
def test_group_metrics_are_those_of_plain_python(said: list[list[int]]) -> None:
    rows = []
    for a, b, c, d in said:
        right = [[a == 1, b == 0], [c == 0, d == 1]]
        flat = [*right[0], *right[1]]
        by_question = [all(one) for one in right]
        by_image = [right[0][image] and right[1][image] for image in (0, 1)]
        rows.append((50.0 * sum(by_question), 50.0 * sum(by_image), 25.0 * sum(flat), 100.0 * all(flat)))
    scores = group_scores(np.array(said))
    assert scores.rows() == rows
    for q_acc, i_acc, acc, g_acc in rows:
        assert g_acc <= min(q_acc, i_acc) <= acc
    # The other image first, with the other question first: the truth is the same.
    assert group_scores(np.array(said)[:, [3, 2, 1, 0]]).rows() == rows


def test_answers_are_parsed_by_their_first_word() -> None:
    for text, value in (
        ("yes", 1), ("NO!", 0), ("No, yes", 0), ("I think yes. Not no", 1), ("A", 1), ("b)", 0),
        ("There is a man: no", 0), ("nope", -1), ("", -1), ("eyes", -1), ("(B) or (A)", 0),
    ):  # fmt: skip
        assert parse_answer(text) == value, text


# ---- images that pairs connect ----


@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_connected_images_are_those_of_plain_python(edges: list[tuple[int, int]]) -> None:
    questions = pl.DataFrame(
        {"question_id": [f"q{n}" for n in range(10)], "image_id": [str(n) for n in range(10)]}
    )
    pairs = pl.DataFrame(
        [(f"q{a}", f"q{b}") for a, b in edges], schema={"a": pl.String, "b": pl.String}, orient="row"
    )
    parts = [{n} for n in range(10)]
    for a, b in edges:
        joined = next(part for part in parts if a in part) | next(part for part in parts if b in part)
        parts = [part for part in parts if not part & joined] + [joined]
    named = {str(n): str(min(part)) for part in parts for n in part}
    clusters = connected_images(questions, (pairs, ("a", "b")))
    assert dict(clusters.iter_rows()) == named
    note, warning = component_note(clusters)
    largest = max(map(len, parts))
    assert note == f"images that pairs connect: 10 in {len(parts)} parts, the largest of {largest}"
    assert (warning is None) == (largest <= 5)


def test_intervals_are_of_connected_images(tmp_path: Path) -> None:
    """Two pairs that share an image are drawn together: with all else alone, their mean never mixes."""
    rows = [(1, 1, "x", "a"), (2, 2, "x", "b"), (3, 2, "y", "a"), (4, 3, "y", "b")]
    out = sm.pairs.build(questions=write_questions(tmp_path, rows), out=tmp_path / "out")
    assert len(out.pairs) == 2
    files = {"m": write_answers(tmp_path / "m.json", {1: "a", 2: "b", 3: "no", 4: "no"})}
    report = sm.pairs.score(tmp_path / "out", files, scorer="exact", resamples=200)
    (row,) = report.scores.filter(metric="pair_accuracy", group="overall").iter_rows(named=True)
    assert (row["value"], row["low"], row["high"]) == (50, 50, 50)
    assert any("intervals: got 3 of 3 images that pairs connect" in text for text in report.warnings)
    assert len(report.warnings) == 1
