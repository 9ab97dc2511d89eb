import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError, SchemaError
from shortcut_miner.scoring.accuracy import score_questions, soft_label_table
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.text import normalise_answer, strip_answer

GOLDEN = Path(__file__).parent / "golden" / "vqa_accuracy"
SCHEMA = {
    "question_id": pl.String,
    "image_id": pl.String,
    "question_type": pl.String,
    "answer_type": pl.String,
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "answer_record_key": pl.List(pl.UInt8),
}
Question = tuple[list[str], list[int] | None, str]


def read_gz(path: Path) -> Any:
    with gzip.open(path) as file:
        return json.load(file)


def question_table(questions: list[Question]) -> pl.DataFrame:
    rows = [
        {"question_id": str(at), "image_id": "7", "answers": answers, "answer_record_key": keys}
        for at, (answers, keys, _) in enumerate(questions)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def prediction_table(answers: list[str]) -> pl.DataFrame:
    ids = [str(at) for at in range(len(answers))]
    return pl.DataFrame(
        {"question_id": ids, "answer": answers}, schema=dict.fromkeys(("question_id", "answer"), pl.String)
    )


def accuracies(questions: list[Question], scorer: str = "vqa-official") -> list[float]:
    predictions = prediction_table([prediction for _, _, prediction in questions])
    return score_questions(question_table(questions), predictions, scorer=scorer)["accuracy"].to_list()


def plain_accuracy(question: Question, scorer: str) -> float:
    answers, keys, prediction = question
    prediction = strip_answer(prediction)
    records = [{"answer": strip_answer(answer), "other": at} for at, answer in enumerate(answers)]
    for record, key in zip(records, keys or [], strict=False):
        record["other"] = key
    if scorer == "vqa-normalized" or len({record["answer"] for record in records}) > 1:
        for record in records:
            record["answer"] = normalise_answer(record["answer"])
        prediction = normalise_answer(prediction)
    shares = []
    for record in records:
        others = [other for other in records if other != record]
        matches = [other for other in others if other["answer"] == prediction]
        shares.append(min(Fraction(1), Fraction(len(matches), 3)))
    return float(100 * sum(shares) / len(shares))


answer = st.sampled_from(
    ["red", "Red", "red.", " red\n", "the red", "two", "2", "a", "", "t-shirt", "t shirt"]
)
keyed = st.lists(st.tuples(answer, st.integers(0, 3)), min_size=1, max_size=12)
question = st.one_of(
    st.tuples(st.lists(answer, min_size=1, max_size=12), st.none(), answer),
    st.builds(lambda records, said: ([a for a, _ in records], [k for _, k in records], said), keyed, answer),
)


@pytest.mark.parametrize("scorer", ["vqa-official", "vqa-normalized"])
@given(questions=st.lists(question, max_size=6))
def test_accuracy_equals_the_mean_over_leave_one_out_subsets(scorer: str, questions: list[Question]) -> None:
    assert accuracies(questions, scorer) == [plain_accuracy(one, scorer) for one in questions]


def test_odd_cases_of_the_official_program() -> None:
    cases = json.loads((GOLDEN / "quirk_cases.json").read_text(encoding="utf-8"))
    assert len(cases) == 12
    questions = [
        (
            case["answers"],
            [0] * len(case["answers"]) if case["without_answer_id"] else None,
            case["prediction"],
        )
        for case in cases
    ]
    assert accuracies(questions) == [case["accuracy"] for case in cases]


@pytest.mark.parametrize(("matches", "accuracy"), [*enumerate([0.0, 30.0, 60.0, 90.0, 100.0, 100.0])])
def test_ten_annotators(matches: int, accuracy: float) -> None:
    assert accuracies([(["cat"] * matches + ["dog"] * (10 - matches), None, "cat")]) == [accuracy]


def test_unanimous_answers_are_compared_as_they_are_only_by_the_official_scorer() -> None:
    unanimous: Question = (["yes"] * 9 + ["yes\n"], None, "Yes")
    assert accuracies([unanimous]) == [0.0]
    assert accuracies([unanimous], "vqa-normalized") == [100.0]


def predictions_of(records: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [{"question_id": str(record["question_id"]), "answer": record["answer"]} for record in records]
    return pl.DataFrame(rows)


@pytest.mark.real
@pytest.mark.parametrize(("model", "overall"), [("p1_plain", 72.1566), ("p2_mixed", 62.3649)])
def test_real_predictions_score_as_the_official_program_says(
    real_data: Path, model: str, overall: float
) -> None:
    golden = real_data.parent / "golden" / "vqa_accuracy"
    expected = read_gz(golden / f"{model}_expected.json.gz")
    files = real_data / "vqa60k"
    questions, _, _ = read_vqa(files / "questions_valid.json.gz", files / "annotations_valid.json.gz")
    scored = score_questions(questions, predictions_of(read_gz(golden / f"{model}_predictions.json.gz")))
    per_question = {str(one["question_id"]): one["accuracy"] for one in expected["per_question"]}
    assert dict(scored.select("question_id", "accuracy").iter_rows()) == per_question
    mean = float(Fraction(int(scored["accuracy"].sum()), len(scored)))
    assert round(mean, 4) == overall
    # The reference adds floats that are not whole numbers (59.999999999999986), so its last digits drift.
    assert mean == pytest.approx(expected["overall"], abs=1e-11)
    for column, name in (("answer_type", "perAnswerType"), ("question_type", "perQuestionType")):
        groups = scored.group_by(column).agg(pl.col("accuracy").mean())
        assert {group: round(value, 2) for group, value in groups.iter_rows()} == expected[name]


@pytest.mark.real
def test_real_soft_labels(real_data: Path) -> None:
    labels = json.loads(
        (real_data / "predictions" / "okvqa_val_soft_labels.json").read_text(encoding="utf-8")
    )
    said = json.loads((real_data / "predictions" / "okvqa_val_pica_vinvl.json").read_text(encoding="utf-8"))
    ids = {
        "question_id": [str(one["question_id"]) for one in labels],
        "image_id": [one["img_id"] for one in labels],
    }
    weights = {str(one["question_id"]): one["label"] for one in labels}
    predictions = predictions_of(said)
    scored = score_questions(
        pl.DataFrame(ids), predictions, scorer="soft-labels", soft_labels=soft_label_table(weights)
    )
    answers = dict(predictions.iter_rows())
    expected = [100.0 * min(1.0, weights[one].get(answers[one], 0.0)) for one in ids["question_id"]]
    assert scored["accuracy"].to_list() == expected


def test_exact_compares_characters_with_the_answer() -> None:
    questions = question_table([([], None, "")] * 3).with_columns(answer=pl.Series(["cat", "cat", "cat"]))
    scored = score_questions(questions, prediction_table(["cat", "Cat", "cat "]), scorer="exact")
    assert scored["accuracy"].to_list() == [100.0, 0.0, 0.0]


def test_soft_labels_are_weights_of_at_most_one() -> None:
    labels = soft_label_table(
        {"0": {"cat": 0.3, "dog": 2}, "1": {"cat": 0.3, "dog": 2}, "2": {}, "3": {"a": 1}}
    )
    questions = question_table([([], None, "")] * 4)
    predictions = prediction_table(["cat", "dog", "cat", "A"])
    scored = score_questions(questions, predictions, scorer="soft-labels", soft_labels=labels)
    assert scored["accuracy"].to_list() == [30.0, 100.0, 0.0, 0.0]


def test_result_names_the_scorer_and_model_and_keeps_order_and_types() -> None:
    questions = question_table([(["a"], None, ""), (["b"], None, "")])[[1, 0]]
    scored = score_questions(questions, prediction_table(["a", "b"]), model="m", scorer="vqa-normalized")
    assert scored.columns == [
        *("question_id", "image_id", "question_type", "answer_type", "model", "scorer", "accuracy")
    ]
    assert scored["question_id"].to_list() == ["1", "0"]
    assert scored.select("model", "scorer").unique().rows() == [("m", "vqa-normalized")]
    assert scored.schema["accuracy"] == pl.Float64


def test_no_questions_give_no_rows() -> None:
    for scorer in ("vqa-official", "vqa-normalized", "exact"):
        assert score_questions(question_table([]), prediction_table([]), scorer=scorer).height == 0


def test_row_order_changes_nothing_and_inputs_stay_as_they_were() -> None:
    drawn = np.random.default_rng(0)
    words = ["red", "Red!", "two", "2", "the red", ""]
    answers = [[words[at] for at in drawn.integers(0, 6, 10)] for _ in range(200)]
    questions = question_table([(each, None, "") for each in answers])
    predictions = prediction_table([words[at] for at in drawn.integers(0, 6, 200)])
    before = questions.clone(), predictions.clone()
    scored = score_questions(questions, predictions)
    shuffled = score_questions(questions.sample(fraction=1, shuffle=True, seed=1), predictions.reverse())
    assert shuffled.sort("question_id").equals(scored.sort("question_id"))
    assert questions.equals(before[0])
    assert predictions.equals(before[1])
    assert score_questions(questions, predictions).equals(scored)  # the reference's second run may differ


def test_every_problem_with_the_ids_is_named_at_once() -> None:
    questions = question_table([(["a"], None, "")] * 8)
    ids = ["0", "0", "9", "10", None]
    predictions = pl.DataFrame({"question_id": ids, "answer": ["a", "a", "a", "a", "b"]})
    with pytest.raises(SchemaError) as caught:
        score_questions(questions, predictions.head(4).vstack(predictions.tail(1).fill_null("1")), model="m")
    assert str(caught.value) == (
        "predictions of m: got the problems below, expected one answer for each question and no other. "
        "Correct them.\n"
        "  - 1 x repeated question id: '0'\n"
        "  - 6 x question without a prediction: '2', '3', '4', '5', '6' and 1 more\n"
        "  - 2 x prediction for an unknown question: '9', '10'"
    )


def test_null_predictions_repeated_questions_and_missing_columns() -> None:
    questions = question_table([(["a"], None, "")])
    with pytest.raises(SchemaError, match="1 x null answer: '0'"):
        score_questions(
            questions, pl.DataFrame({"question_id": ["0"], "answer": pl.Series([None], dtype=pl.String)})
        )
    with pytest.raises(SchemaError, match=r"questions: .*each question once.*\n  - 1 x repeated .* id: '0'"):
        score_questions(questions.vstack(questions), prediction_table(["a"]))
    with pytest.raises(SchemaError) as caught:
        score_questions(
            questions.select("question_id", pl.col("image_id").cast(pl.Int64)), prediction_table(["a"])
        )
    assert "column image_id: got Int64, expected String" in str(caught.value)
    told = "column answers: got none, expected List(String) (the scorer exact compares with `answer` and"
    assert told in str(caught.value)


def test_questions_that_cannot_be_scored_are_named() -> None:
    questions = question_table([(["a"], None, "")] * 5).with_columns(
        answers=pl.Series([["a"], [], None, ["a", None], ["a", "b"]], dtype=pl.List(pl.String)),
        answer_record_key=pl.Series([None, None, None, None, [1]], dtype=pl.List(pl.UInt8)),
    )
    with pytest.raises(SchemaError) as caught:
        score_questions(questions, prediction_table(["a"] * 5))
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "questions: got the problems below, expected annotators' answers in every row, or the scorer exact. "
        "Correct them."
    )
    assert lines[1:] == [
        "  - 2 x question without annotators' answers: '1', '2'",
        "  - 1 x question with a null among its answers: '3'",
        "  - 1 x question whose answer_record_key has not one number per answer: '4'",
    ]
    with pytest.raises(SchemaError, match=r"questions: .*\n  - 5 x null answer: "):
        score_questions(questions, prediction_table(["a"] * 5), scorer="exact")


def test_bad_soft_labels_are_named() -> None:
    questions = question_table([([], None, "")] * 3)
    labels = soft_label_table({"0": {"a": 0.5, "b": -1.0}, "1": {"a": float("nan")}, "8": {"a": 1}})
    with pytest.raises(SchemaError) as caught:
        score_questions(
            questions,
            prediction_table(["a"] * 3),
            scorer="soft-labels",
            soft_labels=labels.vstack(labels.head(1)),
        )
    assert str(caught.value).splitlines()[1:] == [
        "  - 1 x question without soft labels: '2'",
        "  - 2 x label that is repeated: '0', '0'",
        "  - 2 x weight that is not a number of at least 0: '0', '1'",
    ]


def test_scorers_that_do_not_exist_or_lack_their_labels() -> None:
    questions, predictions = question_table([(["a"], None, "")]), prediction_table(["a"])
    with pytest.raises(ConfigError, match="scorer: got 'vqa', expected one of auto, vqa-official, "):
        score_questions(questions, predictions, scorer="vqa")
    with pytest.raises(ConfigError, match="scorer soft-labels: got no soft labels"):
        score_questions(questions, predictions, scorer="soft-labels")
    with pytest.raises(ConfigError, match="scorer exact: got soft labels"):
        score_questions(questions, predictions, scorer="exact", soft_labels=soft_label_table({}))
