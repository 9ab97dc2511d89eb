"""Samples of lm-eval and lmms-eval: choices, filters, and ids under any name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]


def lm_eval(number: int, responses: Any, choices: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a line of lm-eval's samples; with `choices` of a multiple-choice task."""
    asked = [("Q:", choice) for choice in choices] if choices else [("Q:", "{'until': []}")]
    arguments = {f"gen_args_{at}": {"arg_0": one, "arg_1": two} for at, (one, two) in enumerate(asked)}
    return {
        "doc_id": number,
        "doc": {"question_id": f"0{number}", "question": "?"},
        "target": "0",
        "arguments": arguments,
        "resps": [[one] for one in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "0f",
        "prompt_hash": "0f",
        "target_hash": "0f",
        "acc": 1.0,
    } | fields


def as_lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def message_of(path: Path, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read_predictions(path, **options)
    return str(caught.value)


def test_generated_answers(write: Write) -> None:
    path = write("samples_t.jsonl", as_lines(lm_eval(1, [" yes\n"]), lm_eval(2, ["n/a"])))
    reading = read_predictions(path)
    assert reading.table.rows() == [("01", "yes"), ("02", "n/a")]
    assert reading.kind == recognise(path).kind == "lm-eval samples JSONL"


def test_the_likeliest_choice_is_the_answer(write: Write) -> None:
    logarithms = [["-3.5", "False"], ["-0.5", "True"], ["-0.5", "False"]]
    path = write("s", as_lines(lm_eval(1, logarithms, [" cat", " dog", " cow"]), lm_eval(2, ["bird"])))
    reading = read_predictions(path)
    assert reading.table.rows() == [("01", "dog"), ("02", "bird")]
    assert reading.notes[-1] == "answers that are the likeliest of several choices: 1"


@given(st.lists(st.floats(max_value=0, allow_nan=False), min_size=2, max_size=5))
def test_the_likeliest_choice_against_a_plain_reading(write: Write, logarithms: list[float]) -> None:
    names = [f"choice {at}" for at in range(len(logarithms))]
    path = write("s", as_lines(lm_eval(1, [[str(one), "False"] for one in logarithms], names)))
    best = next(name for name, one in zip(names, logarithms, strict=True) if one == max(logarithms))
    assert read_predictions(path).table["answer"].to_list() == [best]


@pytest.mark.parametrize(
    ("responses", "choices"),
    [
        ([["-1", "False"], ["-2", "False"]], None),  # no texts
        ([["-1", "False"], ["-2", "False"]], ["a", "a"]),
        ([["-1", "False"], ["-2", "False"]], ["a", "b", "c"]),
        ([["nan", "False"], ["-2", "False"]], ["a", "b"]),
        ([["a", "b"], ["c", "d"]], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_choices_that_are_not_clear_are_no_answers(write: Write, responses: Any, choices: Any) -> None:
    path = write("s", as_lines(lm_eval(1, responses, choices), lm_eval(2, ["x"])))
    assert message_of(path).endswith("\n  - line 1, filtered_resps: got 2 responses, expected one response")


def test_a_likelihood_is_no_answer(write: Write) -> None:
    path = write("s", as_lines(lm_eval(1, [["-1.5", "False"]], ["a"]), lm_eval(2, [["x", "False"]])))
    assert message_of(path).endswith("\n  - line 1, filtered_resps: got a likelihood, expected one response")


def test_choices_of_several_contexts_are_no_answers(write: Write) -> None:
    one = lm_eval(1, [["-1", "False"], ["-2", "False"]], ["a", "b"])
    one["arguments"]["gen_args_1"]["arg_0"] = "another"
    assert "got 2 responses" in message_of(write("s", as_lines(one, lm_eval(2, ["x"]))))


def test_answers_of_several_filters_ask(write: Write) -> None:
    path = write("s", as_lines(*(lm_eval(1, ["x"], filter=name) for name in ("strict", "flexible"))))
    assert message_of(path) == (
        f"{path}: got the answers of 2 filters ('flexible', 'strict'), expected those of one. Keep the lines "
        "of one filter."
    )


@pytest.mark.parametrize("place", ["doc", "submission"])
def test_two_ids_that_differ_ask(write: Write, place: str) -> None:
    def sample(number: int, **ids: Any) -> dict[str, Any]:
        return {"doc_id": number, "filtered_resps": "yes", place: ids}

    path = write("s", as_lines(sample(0, question_id=7, qid=7), sample(1, question_id=8, qid=9)))
    assert message_of(path) == (
        f"{path}, line 2: got the {place}.question_id '8' and the {place}.qid '9', expected one id of a "
        "question (1 records have two). Name the right one with "
        f"--columns question_id={place}.question_id or --columns question_id={place}.qid."
    )
    reading = read_predictions(path, columns=f"question_id={place}.qid")
    assert reading.table["question_id"].to_list() == ["7", "9"]


def test_question_ids_that_repeat_beside_others_that_count_ask(write: Write) -> None:
    """As in POPE, whose question_id starts anew in each category."""
    docs = [{"id": str(at), "question_id": str(at % 2), "category": "adversarial"} for at in range(4)]
    samples = [{"doc_id": at, "filtered_resps": ["yes"], "doc": doc} for at, doc in enumerate(docs)]
    path = write("s", as_lines(*samples))
    assert "line 3: got the doc.question_id '0' and the doc.id '2'" in message_of(path)
    assert len(read_predictions(path, columns="question_id=doc.id").table) == 4


def test_another_field_with_the_answer(write: Write) -> None:
    path = write("s", as_lines(lm_eval(1, ["x"], said="y")))
    assert read_predictions(path, columns="answer=said").table.rows() == [("01", "y")]
