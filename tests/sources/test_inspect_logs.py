"""Answers in logs of inspect_ai; the writer's archives are packed as its own are."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.logs import DEFLATED, STORED, ZSTANDARD, archive, eval_log, json_log, sample
from sources.test_evaluators import ODD_TEXTS

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]
TEXTS = [*ODD_TEXTS, 'two\nlines\t"q"\u2028', " é"]
WRITERS = {"eval": eval_log, "json": json_log}


def message_of(path: Path, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read_predictions(path, **options)
    return str(caught.value)


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
def test_an_archive_however_it_is_packed(write: Write, method: int) -> None:
    samples = [sample(f"00{n}", text) for n, text in enumerate(TEXTS)]
    path = write("run.eval", eval_log(samples, method=method))
    reading = read_predictions(path)
    assert reading.table.rows() == [(f"00{n}", text) for n, text in enumerate(TEXTS)]
    assert reading.kind == recognise(path).kind == "inspect_ai log"
    assert reading.notes == ("question ids: id", "answers: output.completion", "empty answers kept: 1")
    assert recognise(path).counts == {"answers": len(TEXTS)}


def test_a_json_log(write: Write) -> None:
    samples = [sample(n, text) for n, text in enumerate(TEXTS)]
    path = write("run.json", json_log(samples))
    reading = read_predictions(path)
    assert reading.table.rows() == [(str(n), text) for n, text in enumerate(TEXTS)]
    assert reading.kind == recognise(path).kind == "inspect_ai log JSON"
    assert recognise(path).counts == {"answers": len(TEXTS)}


@pytest.mark.parametrize("form", WRITERS)
def test_ids_that_are_odd_names_of_files(write: Write, form: str) -> None:
    ids = ["two\nlines", "../../x", "a/b", "..", "-5", "é\u2028", "x.json", "%20", "{}"]
    path = write("run", WRITERS[form]([sample(one) for one in ids]))
    assert read_predictions(path).table["question_id"].to_list() == ids


@pytest.mark.parametrize("form", WRITERS)
def test_the_text_of_the_first_choice_where_there_is_no_completion(write: Write, form: str) -> None:
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "yes"}]
    parts += [{"type": "image", "image": "x"}, {"type": "text", "text": "no"}]
    path = write("run", WRITERS[form]([sample(1, parts)]))
    assert read_predictions(path).table.rows() == [("1", "yes\nno")]


@pytest.mark.parametrize("form", WRITERS)
def test_failed_samples_and_epochs(write: Write, form: str) -> None:
    samples = [sample(1, "a"), sample(2, None), sample("x/3", "c"), sample(1, "d", epoch=2)]
    path = write("run", WRITERS[form](samples))
    names = ("sample 1_epoch_1", "sample 2_epoch_1", "sample 1_epoch_2")
    first, failed, second = names if form == "eval" else ("record 0", "record 1", "record 3")
    assert message_of(path).splitlines() == [
        f"{path}: got 3 bad of 4 predictions, expected none. Fix them, or keep one answer a question with "
        "--on-duplicate first and skip the other rows with --on-bad-row skip.",
        f"  - {first} and {second}, question_id: got '1' 2 times, expected an id that occurs once",
        f"  - {failed}, error: got \"ValueError('no')\", expected a sample that did not fail",
    ]
    reading = read_predictions(path, on_bad_row="skip", on_duplicate="last")
    assert sorted(reading.table.rows()) == [("1", "d"), ("x/3", "c")]
    assert reading.dropped == {
        "error: expected a sample that did not fail": 1,
        "answer to a question answered already, the last one kept": 1,
    }


@pytest.mark.parametrize("form", WRITERS)
def test_a_question_id_among_the_metadata(write: Write, form: str) -> None:
    samples = [sample(n, "a", metadata={"question_id": f"0{n}", "image_id": 5}) for n in (2, 1)]
    path = write("run", WRITERS[form](samples))
    assert read_predictions(path).table["question_id"].to_list() == ["02", "01"]  # the id only counts
    samples[0] = sample(7, "a", metadata={"question_id": "02"})
    path = write("run", WRITERS[form](samples))
    assert message_of(path).endswith(
        ": got the metadata.question_id '02' and the id '7', expected one id of a question (2 records have "
        "two). Name the right one with --columns question_id=metadata.question_id or --columns "
        "question_id=id."
    )
    for name, ids in (("id", ["7", "1"]), ("metadata.question_id", ["02", "01"])):
        reading = read_predictions(path, columns=f"question_id={name}")
        assert reading.table["question_id"].to_list() == ids
    samples = [sample("02", "a", metadata={"question_id": "02"}), sample(1, "a")]
    path = write("run", WRITERS[form](samples))
    assert "metadata.question_id: got no such field, expected a value" in message_of(path)


def test_other_fields_by_name(write: Write) -> None:
    samples = [sample(1, "ANSWER: b", scores={"exact": {"answer": "b", "value": "C"}}, key="k1")]
    path = write("run", eval_log(samples))
    reading = read_predictions(path, columns="question_id=key,answer=scores.exact.answer")
    assert reading.table.rows() == [("k1", "b")]
    with pytest.raises(ConfigError, match=r"columns: got 'id\.', expected a field such as id or doc"):
        read_predictions(path, columns="question_id=id.")
    with pytest.raises(ConfigError, match="expected fields apart from each other"):
        read_predictions(path, columns="question_id=output.completion,answer=output")


def test_a_run_that_did_not_end_well_is_said(write: Write) -> None:
    for status, content in (
        ("cancelled", eval_log([sample(1)], "cancelled")),
        ("started", eval_log([sample(1)], None)),
        ("error", json_log([sample(1)], "error")),
    ):
        assert read_predictions(write("run", content)).notes[-1] == f"the run's status: {status}"


@pytest.mark.parametrize("form", WRITERS)
def test_a_log_without_samples(write: Write, form: str) -> None:
    path = write("run", WRITERS[form]([]))
    assert message_of(path).startswith(f"{path}: got 0 samples, expected at least one.")


def test_samples_that_a_log_lists_twice(write: Write) -> None:
    text = json_log([sample(1), sample(2)]).decode()
    listed = text[text.index('"samples"') : text.rindex("]") + 1]
    path = write("run.json", text.replace(listed, f"{listed},\n  {listed}"))
    assert "got the key 'samples' more than once, expected one list. Join the lists" in message_of(path)


def test_of_members_of_one_name_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    path.write_bytes(eval_log([sample(1, "first")], method=DEFLATED))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as opened:
        other = eval_log([sample(1, "second")], method=DEFLATED)
        (tmp_path / "other").write_bytes(other)
        with zipfile.ZipFile(tmp_path / "other") as given_too:
            opened.writestr("samples/1_epoch_1.json", given_too.read("samples/1_epoch_1.json"))
    assert read_predictions(path).table.rows() == [("1", "second")]


def test_a_wrong_checksum_and_a_broken_sample_are_told(write: Write) -> None:
    whole = eval_log([sample(1), sample(2)])
    at = whole.index(b"PK\1\2", whole.index(b"PK\1\2") + 1) + 16  # the first sample's in the directory
    path = write("run.eval", whole[:at] + b"\0\0\0\0" + whole[at + 4 :])
    assert "got a zip file that is damaged or ends too early (wrong checksum of 'samples/1" in message_of(
        path
    )
    broken = archive({"header.json": b"{}", "samples/1_epoch_1.json": b'{"id": 1, "outp'})
    assert "sample 1_epoch_1, record: got " in message_of(write("run.eval", broken))


def test_a_damaged_archive_is_told_in_few_words(write: Write) -> None:
    # Python's own message quotes as many bytes as the damaged header claims that its name has.
    content = bytearray(eval_log([sample(1), sample(2)], method=STORED))
    length_of_first_name = content.index(b"PK\3\4", 1) + 26
    content[length_of_first_name : length_of_first_name + 2] = b"\xff\xff"
    message = message_of(write("run.eval", bytes(content)))
    assert "got a zip file that is damaged or ends too early (" in message
    assert ", expected a complete archive. " in message


@given(data=st.data())
def test_damaged_archives_are_read_or_refused(write: Write, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from([STORED, ZSTANDARD]))
    content = eval_log([sample(1), sample(2, "no")], method=method)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        until = data.draw(st.integers(at, min(len(content), at + 8)))
        content = content[:at] + data.draw(st.binary(max_size=8)) + content[until:]
    path = write("run.eval", content)
    for read in (read_predictions, recognise):
        try:
            read(path)
        except SourceError as error:
            assert ", expected " in str(error)
