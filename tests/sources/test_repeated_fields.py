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
from shortcut_miner.sources.opening import repeated_fields
from shortcut_miner.sources.opening.json_text import keys_twice
from shortcut_miner.sources.opening.reading import Problem
from shortcut_miner.sources.opening.repeated_fields import check_keys_once
from shortcut_miner.sources.questions.vqa import read_vqa_annotations

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
    *("rect", "class", "conf", "dialog", "completion", "filtered_resps", "metadata", "doc"),
}


def doubled() -> Iterator[tuple[str, str, str, str]]:
    """Give the JSON files of the corpus with each field that is read written twice.

    Letters of a key may be escapes: to JSON it is the same key.
    """
    for family, files in CORPUS.items():
        for kind, content in files.items():
            is_json = content[:1] in (b"{", b"[") or kind == "VinVL TSV"
            text = content.decode() if is_json else ""
            for found in _PAIR.finditer(text):
                if found[1] in READ:
                    before, after = text[: found.start()], text[found.end() :]
                    disguised = found[0].replace(found[1], f"\\u{ord(found[1][0]):04x}{found[1][1:]}", 1)
                    for pair in (
                        f"{found[0]}, {found[0]}",
                        f"{found[0]}, {disguised}",
                        f"{disguised}, {disguised}",
                    ):
                        yield family, kind, pair, f"{before}{pair}{after}"


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
        with pytest.raises(SourceError, match="label: got 'red' twice in an object, expected each key once"):
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


def test_records_that_are_alike_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """GQA's questions have "question" in their annotations too: twice in each record is no sign."""
    looked_at = []

    def seen(raw: bytes) -> dict[str, int]:
        looked_at.append(raw)
        return keys_twice(raw)

    monkeypatch.setattr(repeated_fields, "keys_twice", seen)
    alike = [b'{"question": "a", "annotations": {"question": {}}}'] * 100
    other = [b'{"question": "a: b", "annotations": {"question": {}}}']
    assert found_in([*alike, *other]) == []
    assert {*looked_at} == {alike[0], other[0]}
    assert len(looked_at) < 5
    looked_at.clear()
    unlike = [
        b'{"question": "a", "annotations": {"question": {%s}}}' % (b'"1": ":",' * n)[:-1] for n in range(99)
    ]
    assert found_in(unlike) == []
    assert len(looked_at) < 60


def found_in(raws: list[bytes], *names: str) -> list[Problem]:
    content = b"[" + b",".join(raws) + b"]"
    return repeated_fields.repeated_fields(raws, content, names or ("question",), 0)


def test_what_all_records_have_twice_is_told() -> None:
    """As a program writes that is wrong once, and so in every record."""
    for inner in (b"", b', "more": {"c": 1}'):
        raws = [b'{"question": "a", "question": "b"%s}' % (inner if n % 2 else b"") for n in range(100)]
        assert [one.records for one in found_in(raws)] == [(n,) for n in range(100)]


@pytest.mark.parametrize("count", [3, 49, 50, 1000, 30_000])
def test_an_annotators_answer_is_told_among_many(count: int, tmp_path: Path) -> None:
    """What inner objects have twice is seen where the records are alike."""
    answers = [{"answer": "red", "answer_id": at} for at in range(10)]
    text = {"image_id": 7, "multiple_choice_answer": "red", "answers": answers}
    raws = [json.dumps({"question_id": n} | text) for n in range(count)]
    raws[-1] = raws[-1].replace('"answer": "red"', '"answer": "no", "answer": "red"', 1)
    path = tmp_path / "annotations.json"
    path.write_text(f'{{"annotations": [{", ".join(raws)}]}}')
    with pytest.raises(SourceError) as caught:
        read_vqa_annotations(path)
    assert f"record {count - 1}, answers: got 'answer' twice in an object, expected each key once" in str(
        caught.value
    )


@pytest.mark.parametrize("count", [1, 100])
def test_a_choice_that_is_there_twice_is_told(count: int, tmp_path: Path) -> None:
    choices = {f"gen_args_{at}": {"arg_0": "Why?", "arg_1": text} for at, text in enumerate(["red", "no"])}
    given = [["-1.0", "False"], ["-2.0", "False"]]
    sample = {"doc": {"question_id": 1}, "doc_id": 0, "filtered_resps": given, "arguments": choices}
    path = tmp_path / "samples.jsonl"
    lines = [
        json.dumps(sample | {"doc": {"question_id": n} | dict.fromkeys("abcdef"[: n % 6])})
        for n in range(count)
    ]
    path.write_text("\n".join(lines))
    assert read_predictions(path).table["answer"].to_list() == ["red"] * count
    lines[-1] = lines[-1].replace('"arg_1": "no"', '"arg_1": "no", "arg_1": "yes"')
    path.write_text("\n".join(lines))
    with pytest.raises(
        SourceError, match=f"line {count}, arguments: got 'arg_1' twice in an object, expected"
    ):
        read_predictions(path)


@pytest.mark.parametrize("between", [": ", " : ", "\t:", "\n  : "])
def test_ids_without_digits_that_are_there_twice_are_told(between: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    named = [*((f"q{n}", "a") for n in range(500)), ("one", "c"), ("two", "d"), ("one", "e")]
    path.write_text("{" + ", ".join(f'"{key}"{between}"{value}"' for key, value in named) + "}")
    with pytest.raises(SourceError) as caught:
        read_predictions(path)
    assert "question 'one', question_id: got 2 entries, expected an id that occurs once" in str(caught.value)


_keys = st.sampled_from(["a", "b", "é", 'q"', "\\", "\u2028", ""])
_values = st.sampled_from(['"a"', "1", "[1, 2]", '{"a": 1, "a": 2}', "1.50", '"\\u00e9\\""', "null"])


@pytest.mark.parametrize("again", ['"annotations"', '"annot\\u0061tions"'])
@pytest.mark.parametrize("key", ["first", "last"])
@pytest.mark.parametrize("between", [",", ", ", ",\n  "])
def test_a_list_of_few_records_beside_one_of_many_is_told(
    again: str, key: str, between: str, tmp_path: Path
) -> None:
    one = {"question_id": 1, "image_id": 7, "multiple_choice_answer": "red"}
    many = json.dumps([one | {"question_id": n} for n in range(2, 100)])
    few = f"{again}: [{json.dumps(one)}]"
    pairs = ['"info": {"annotations": 0}', f'"annotations": {many}']
    path = tmp_path / "annotations.json"
    path.write_text(f"{{{between.join(pairs)}}}")
    assert len(read_vqa_annotations(path).table) == 98
    pairs.insert(0 if key == "first" else 2, few)
    path.write_text(f"{{{between.join(pairs)}}}")
    with pytest.raises(SourceError, match="got the key 'annotations' more than once, expected one list"):
        read_vqa_annotations(path)


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
