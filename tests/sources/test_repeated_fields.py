"""Records that have a key twice are told: JSON decoders keep the last one without a word."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.corpus import CORPUS, readers

from shortcut_miner.diagnostics.swapmix.neighbours import read_similar_classes
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.opening import json_records
from shortcut_miner.sources.opening.repeated_fields import check_keys_once, keys_twice

# Fields of inner objects, of which nothing tells how often a record should have them.
NOT_TOLD = {
    "VisDial JSON": {"question", "answer", "answers"},
    "lmms-eval samples JSONL": {"question_id"},
    "lm-eval samples JSONL": {"question_id"},
}  # fmt: skip
_PAIR = re.compile(r'"(\w+)": (?:\[[^\[\]]*\]|\{[^{}]*\}|"[^"]*"|[\d.]+)')
READ = {
    *(
        "question_id",
        "image_id",
        "question",
        "answer",
        "answers",
        "label",
        "labels",
        "questionId",
        "prediction",
    ),
    *(
        "index",
        "imageId",
        "multiple_choice_answer",
        "img_id",
        "sent",
        "red",
        "x",
        "box",
        "score",
        "bbox",
        "image",
    ),
    *("category_id", "classes", "scores", "text", "direct_answers", "7", "1", "01"),
}


def doubled() -> Iterator[tuple[str, str, str, str]]:
    """Give the JSON files of the corpus with each field that is read written twice."""
    for family, files in CORPUS.items():
        for kind, content in files.items():
            text = content.decode() if content[:1] in (b"{", b"[") else ""
            for found in _PAIR.finditer(text):
                if found[1] in READ - NOT_TOLD.get(kind, set()):
                    yield (
                        family,
                        kind,
                        found[0],
                        f"{text[: found.start()]}{found[0]}, {text[found.start() :]}",
                    )


@pytest.mark.parametrize(
    ("family", "kind", "text"),
    [pytest.param(family, kind, text, id=f"{kind}: {pair}") for family, kind, pair, text in doubled()],
)
def test_no_reader_loses_one_of_two(family: str, kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "twice"
    path.write_text(text)
    read = readers(tmp_path)[family]
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    path.write_bytes(CORPUS[family][kind])
    read(path)


def test_they_are_told_with_their_record_and_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    good = [json.dumps({"question_id": n, "answer": "red"}) for n in range(100)]
    path.write_text(f'[{", ".join(good)}, {{"question_id": 100, "answer": "no", "answer": "yes"}}]')
    with pytest.raises(SourceError) as caught:
        read_predictions(path)
    assert "record 100, answer: got 2 values, expected a field that a record has once" in str(caught.value)
    reading = read_predictions(path, on_bad_row="skip")
    assert len(reading.table) == 100
    assert reading.dropped == {"answer: expected a field that a record has once": 1}


def test_an_answer_with_two_weights_is_told(tmp_path: Path) -> None:
    path = tmp_path / "soft.json"
    for text in (
        '[{"question_id": 1, "label": {"red": 1, "red": 0.5}}, {"question_id": 2, "label": {"a": 1}}]',
        '{"1": {"red": 1, "no": 0.3, "red": 0.5}, "2": {"a": 1}}',
    ):
        path.write_text(text)
        with pytest.raises(
            SourceError, match="label: got 'red' 2 times, expected an answer that a question has once"
        ):
            read_soft_labels(path)
        assert len(read_soft_labels(path, on_bad_row="skip").table) == 1


def test_a_class_with_two_lists_of_neighbours_is_told(tmp_path: Path) -> None:
    path = tmp_path / "obj_matching.json"
    for text in ('{"cat": {"dog": 0.9}, "cat": {"cow": 0.8}}', '{"cat": {"dog": 0.9, "dog": 0.8}}'):
        path.write_text(text)
        with pytest.raises(
            SourceError, match=r"got the keys '\w+' more than once in an object, expected each once"
        ):
            read_similar_classes(path)


def test_a_field_that_inner_objects_have_too_makes_no_record_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """GQA's questions have "question" in their annotations too: twice in each record is no sign."""
    looked_at = []
    monkeypatch.setattr("shortcut_miner.sources.opening.repeated_fields.keys_twice", looked_at.append)
    raws = [b'{"question": "a", "annotations": {"question": {}}}'] * 60
    found = json_records.repeated_fields(raws, b",".join(raws), ["question"], 0)
    assert (found, looked_at) == ([], [])


_keys = st.sampled_from(["a", "b", "é", 'q"', "\\", "\u2028", ""])
_values = st.sampled_from(['"a"', "1", "[1, 2]", '{"a": 1, "a": 2}', "1.50", '"\\u00e9\\""', "null"])


@given(st.lists(st.tuples(_keys, _values), max_size=5), st.sampled_from([", ", ",", " ,\n\t"]), st.booleans())
def test_keys_twice_are_those_that_json_has_twice(
    pairs: list[tuple[str, str]], between: str, ascii: bool
) -> None:
    text = between.join(f"{json.dumps(key, ensure_ascii=ascii)} : {value}" for key, value in pairs)
    keys = [key for key, _ in pairs]
    assert keys_twice(f"{{ {text}}}".encode()) == {
        key: keys.count(key) for key in keys if keys.count(key) > 1
    }


def test_keys_are_looked_at_as_deep_as_asked() -> None:
    text = b'{"a": {"b": {"c": 1, "c": 2}}}'
    check_keys_once("f", text, 2)
    with pytest.raises(SourceError, match="f: got the keys 'c' more than once"):
        check_keys_once("f", text, 3)
