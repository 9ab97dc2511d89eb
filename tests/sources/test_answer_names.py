"""Models' answers under the names that people and programs give them, in every form of file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.test_answer_columns import FORMS, written
from sources.test_evaluators import ODD_TEXTS, write_xlsx

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.answer_column import ANSWER_NAMES, ID_NAMES
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]
IDS = ("007", "n12", "99")
SAID = ("yes", "n/a", "1.0")


def message_of(path: Path, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read_predictions(path, **options)
    return str(caught.value)


@pytest.mark.sample(60)
@pytest.mark.parametrize("form", [*FORMS, "xlsx"])
@pytest.mark.parametrize("answer", ANSWER_NAMES)
@pytest.mark.parametrize("one", ID_NAMES)
def test_every_name_in_every_form(tmp_path: Path, form: str, one: str, answer: str) -> None:
    records = [{one: number, answer: said} for number, said in zip(IDS, SAID, strict=True)]
    if form == "xlsx":
        path = write_xlsx(tmp_path / "p.xlsx", [[one, answer], *(list(row.values()) for row in records)])
    else:
        path = written(tmp_path, form, records)
    reading = read_predictions(path)
    assert reading.table.rows() == [*zip(IDS, SAID, strict=True)]
    if (one, answer) != ("questionId", "prediction"):  # GQA's own
        told = [f"{ours}: column {name}" for ours, name in (("question_id", one), ("answer", answer))]
        assert list(reading.notes) == [note for note in told if note.split(": column ")[0] not in note[12:]]
    found = recognise(path)
    assert found.kind == reading.kind
    assert found.is_known
    assert found.counts == {"answers": 3}
    assert "vqa-ce score --predictions" in found.goes_to


def test_what_llava_writes_is_clear_by_its_fields(tmp_path: Path) -> None:
    record = {"question_id": 1, "prompt": "Is it?", "text": "Yes.", "answer_id": "x", "model_id": "m"}
    path = written(
        tmp_path, "jsonl", [record | {"metadata": {}}, record | {"question_id": 2, "metadata": {}}]
    )
    assert read_predictions(path).table.rows() == [("1", "Yes."), ("2", "Yes.")]
    path = written(tmp_path, "jsonl", [record | {"answer": "truth"}])
    assert "got 'answer' beside 'text'" in message_of(path)


@pytest.mark.parametrize("form", FORMS)
def test_a_text_beside_an_image_may_be_the_question(tmp_path: Path, form: str) -> None:
    record = {"question_id": 1, "image": "a.jpg", "text": "Is it?", "label": "yes"}
    path = written(tmp_path, form, [record, record | {"question_id": 2}])
    assert " expected " in message_of(path)
    assert read_predictions(path, columns="answer=text").table["answer"].to_list() == ["Is it?"] * 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("truth", ["target", "gt", "label", "gt_ans", "gt_answer", "correct_answer"])
@pytest.mark.parametrize("said", ["prediction", "pred_ans", "response"])
def test_the_truth_beside_what_a_model_says_is_no_rival(
    tmp_path: Path, form: str, truth: str, said: str
) -> None:
    path = written(tmp_path, form, [{"question_id": "1", truth: "right", said: "wrong"}])
    assert read_predictions(path).table.rows() == [("1", "wrong")]


def test_numbers_beside_numbers_are_rivals_in_text(write: Write) -> None:
    path = write("p.csv", "question_id,answer,pred\n1,2,3\n2,4,5\n")
    assert "got 'answer' beside 'pred', expected one column" in message_of(path)
    path = write("p.csv", "question_id,answer\n1,2\n2,4\n")
    assert read_predictions(path).table["answer"].to_list() == ["2", "4"]


@pytest.mark.parametrize("spelt", ['"response": "a"', '"response"\n:\t"a"', r'"respo\u006ese":"a"'])
def test_a_response_that_starts_late_is_a_rival(tmp_path: Path, spelt: str) -> None:
    records = [{"question_id": n, "answer": "right", "response": None if n < 50 else "a"} for n in range(60)]
    path = written(tmp_path, "json", records)
    text = path.read_text()
    path.write_text(text.replace('"response": "a"', spelt))
    assert "got 'answer' beside 'response'" in message_of(path)


@pytest.mark.parametrize("form", FORMS)
def test_two_ids_that_differ_ask(tmp_path: Path, form: str) -> None:
    records = [{"question_id": "7", "id": "7", "pred": "a"}, {"question_id": "8", "id": "9", "pred": "b"}]
    path = written(tmp_path, form, records)
    place = {"json": "record 1", "jsonl": "line 2", "csv": "line 3", "tsv": "line 3"}.get(form, "row 1")
    assert message_of(path) == (
        f"{path}, {place}: got the question_id '8' and the id '9', expected one id of a question (1 records "
        "have two). Name the right one with --columns question_id=question_id or --columns question_id=id."
    )
    for name, last in (("question_id", "8"), ("id", "9")):
        assert read_predictions(path, columns=f"question_id={name}").table.rows()[1] == (last, "b")


@pytest.mark.parametrize("first", [0, 1])
def test_an_id_that_only_counts_is_none(tmp_path: Path, first: int) -> None:
    records = [{"id": n + first, "question_id": n + 500, "answer": "a"} for n in (2, 0, 1)]
    reading = read_predictions(written(tmp_path, "json", records))
    assert reading.table["question_id"].to_list() == ["502", "500", "501"]
    again = [*records, {"id": 3 + first, "question_id": 500, "answer": "a"}]
    assert "got the question_id '502' and the id" in message_of(written(tmp_path, "json", again))


def test_another_id_that_is_none_does_no_harm(tmp_path: Path) -> None:
    records = [{"question_id": n, "id": {"$oid": "x"}, "answer": "a"} for n in (4, 5)]
    assert read_predictions(written(tmp_path, "json", records)).table["question_id"].to_list() == ["4", "5"]


# ---- objects ----


@pytest.mark.parametrize("key", ["results", "predictions", "annotations", "data"])
def test_a_list_in_an_object(write: Write, key: str) -> None:
    records = [{"qid": one, "pred_ans": said} for one, said in zip(IDS, SAID, strict=True)]
    path = write("p.json", {"info": {"version": "1"}, key: records})
    reading = read_predictions(path)
    assert reading.table.rows() == [*zip(IDS, SAID, strict=True)]
    found = recognise(path)
    if key != "annotations":  # inspect takes these for questions' annotations
        assert (found.kind, found.counts) == ("predictions JSON in an object", {"answers": 3})
    path = write("p.json", {"info": {}, key: [*records, {"qid": 3, "pred_ans": 5}]})
    assert message_of(path).endswith("\n  - record 3, pred_ans: got 5, expected text")
    named = write("p.json", {"info": {}, key: [record | {"key": "k"} for record in records]})
    assert read_predictions(named, columns="answer=key").table["answer"].to_list() == ["k"] * 3


def test_two_lists_of_answers_ask(write: Write) -> None:
    records = [{"question_id": 1, "answer": "a"}]
    path = write("p.json", {"results": records, "data": records})
    assert message_of(path) == (
        f"{path}: got lists of answers under 'results', 'data', expected one. Keep the list of the model's "
        "answers."
    )
    text = json.dumps({"results": records * 40})
    path = write("p.json", text[:-1] + ", " + text[1:])
    assert message_of(path).startswith(f"{path}: got the key 'results' more than once")


def test_answers_by_question_id(write: Write) -> None:
    said = {str(n): text for n, text in enumerate(ODD_TEXTS)} | {"007": 'two\nlines, "q"\t\u2028'}
    path = write("p.json", said)
    reading = read_predictions(path)
    assert reading.table.rows() == [*said.items()]
    assert reading.notes == ("empty answers kept: 1",)
    path = write("p.json", {"1": "a", "2": None, "3": "c", "q4": "d", "5": "e"})
    assert message_of(path).endswith("\n  - question '2', answer: got null, expected text")
    path = write("p.json", '{"1": "a", "2": "b", "1": "c"}')
    assert message_of(path).endswith(
        "\n  - question '1', question_id: got 2 entries, expected an id that occurs once"
    )


@pytest.mark.parametrize(
    "top", [{"name": "m", "version": "1"}, {"1": {"a": "b"}}, {"1": ["a"]}, {"1": 5, "2": 6}]
)
def test_other_objects_are_no_answers(write: Write, top: Any) -> None:
    path = write("p.json", top)
    assert " expected a table or JSON list with an id " in message_of(path)
    assert not recognise(path).kind.startswith("predictions")


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


@given(answers=st.dictionaries(st.integers(0, 10**12).map(str), TEXTS, min_size=1, max_size=6))
def test_every_shape_of_json_says_the_same(write: Write, answers: dict[str, str]) -> None:
    rows = [*answers.items()]
    records = [{"qid": one, "output": said} for one, said in rows]
    texts = [
        json.dumps(answers),
        json.dumps(answers, ensure_ascii=False, indent=1),
        json.dumps({"results": records}),
        json.dumps(records),
        "\n".join(map(json.dumps, records)),
    ]
    try:
        found = read_predictions(write("p", texts[-2])).table.rows()
    except SourceError as error:  # answers that are lists written as text, in part
        assert "expected " in str(error)
        return
    for text in texts:
        assert read_predictions(write("p", text)).table.rows() == found
