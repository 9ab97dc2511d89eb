"""Object labels as flat tables: a row a label or a row an image, in every form that a table has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sources.any_table import FORMS, write_table

from shortcut_miner import schemas
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]
Images = dict[str, list[tuple[str, float | None]]]

KINDS = {"TSV": "labels CSV"}
_label = st.sampled_from(["dog", "traffic light", "None", "null", "n/a", "NA", "1.0", "é", 'a "b"', "a,b"])
_scores = st.none() | st.sampled_from([0.0, 0.1, 0.5, 1.0])
IMAGES = st.dictionaries(
    st.sampled_from(["7", "0012", "n16"]), st.lists(st.tuples(_label, _scores), max_size=3), min_size=1
)
slow = settings(max_examples=25)


def expected(images: Images) -> list[tuple[str, str | None, float | None]]:
    return [(image, *one) for image, found in images.items() for one in found or [(None, None)]]


def message_of(path: Path, on_bad_row: str = "error") -> str:
    with pytest.raises(SourceError) as caught:
        read_labels(path, on_bad_row=on_bad_row)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("form", FORMS)
@given(images=IMAGES)
@slow
def test_a_row_a_label_comes_out_as_it_went_in(tmp_path: Path, form: str, images: Images) -> None:
    rows = expected(images)
    schema = {"image_id": pl.String, "label": pl.String, "score": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    path = tmp_path / "labels"
    write_table(path, form, frame.to_dict())
    reading = read_labels(path)
    assert reading.table.rows() == rows
    assert reading.kind == recognise(path).kind == KINDS.get(form, f"labels {form}")
    schemas.validated(reading.table, schemas.Labels, "labels")
    assert reading.table.columns == list(schemas.Labels.columns())


@pytest.mark.parametrize("form", FORMS)
@given(images=IMAGES, is_scored=st.booleans())
@slow
def test_a_row_an_image_comes_out_as_it_went_in(
    tmp_path: Path, form: str, images: Images, is_scored: bool
) -> None:
    assume(not is_scored or all(score is not None for found in images.values() for _, score in found))
    lists = {"labels": [[label for label, _ in found] for found in images.values()]}
    table = {"image_id": pl.Series([*images])} | {
        name: pl.Series(values, dtype=pl.List(pl.String)) for name, values in lists.items()
    }
    if is_scored:
        scores = [[score for _, score in found] for found in images.values()]
        table["scores"] = pl.Series(scores, dtype=pl.List(pl.Float64))
    path = tmp_path / "labels"
    write_table(path, form, table, as_json=True)
    found = {
        image: [(label, score if is_scored else None) for label, score in found]
        for image, found in images.items()
    }
    reading = read_labels(path)
    assert reading.table.rows() == expected(found)
    assert reading.notes in ((), ("labels, lists written as text, unpacked",))
    schemas.validated(reading.table, schemas.Labels, "labels")


def test_an_empty_list_is_known_and_a_missing_one_is_not(write: Write, tmp_path: Path) -> None:
    note = ("images whose labels are null, taken as not detected: 1",)
    rows = [("1", "dog", None), ("1", "cat", None), ("2", None, None)]
    lines = '{"image_id": 1, "labels": ["dog", "cat"]}\n{"image_id": 2, "labels": []}\n{"image_id": 3}\n'
    text = 'image_id,labels\n1,"[""dog"", ""cat""]"\n2,[]\n3,\n'
    for path in (write("d.jsonl", lines), write("d.csv", text)):
        reading = read_labels(path)
        assert (reading.table.rows(), reading.notes) == (rows, note)
    path = tmp_path / "d.parquet"
    pl.DataFrame({"image_id": [1, 2, 3], "labels": [["dog", "cat"], [], None]}).write_parquet(path)
    assert read_labels(path).table.rows() == rows


def test_labels_with_bars_between_and_float32_scores(write: Write, tmp_path: Path) -> None:
    reading = read_labels(write("d.csv", "image_id,labels,scores\n1,dog|cat,0.5|1\n2,dog,0.25\n"))
    assert reading.table.rows() == [("1", "dog", 0.5), ("1", "cat", 1.0), ("2", "dog", 0.25)]
    frame = pl.DataFrame(
        {"image_id": [1, 2], "labels": [["dog"], ["cat"]], "scores": [[0.5], None]},
        schema_overrides={"labels": pl.Array(pl.Categorical, 1), "scores": pl.List(pl.Float32)},
    )
    frame.write_parquet(tmp_path / "d.parquet")
    assert read_labels(tmp_path / "d.parquet").table.rows() == [("1", "dog", 0.5), ("2", "cat", None)]


def test_all_bad_rows_of_a_text_are_told_at_once(write: Write) -> None:
    path = write(
        "d.csv",
        "image_id,label,score\n1,dog,0.5\n,dog,1\n2,dog,high\n3,dog,1.5\n4, ,1\n5,,0.5\n6,,\n6,dog,\n7,,\n",
    )
    expected_none = "expected null only in an image's single row, without a score"
    assert message_of(path).splitlines()[1:] == [
        "  - line 3, image_id: got '', expected an id",
        "  - line 4, score: got 'high', expected a number from 0 to 1",
        "  - line 5, score: got 1.5, expected a number from 0 to 1",
        "  - line 6, label: got ' ', expected text that is not blank",
        f"  - line 7, label: got null, {expected_none}",
        f"  - line 8, label: got null, {expected_none}",
    ]
    reading = read_labels(path, on_bad_row="skip")
    assert reading.table.rows() == [("1", "dog", 0.5), ("6", "dog", None), ("7", None, None)]
    assert sum(reading.dropped.values()) == 6


BAD_LISTS = {
    "d.jsonl": """{"image_id": 1, "labels": ["dog"], "scores": [0.5]}
{"image_id": 2, "labels": ["dog", "cat"], "scores": [0.5]}
{"image_id": 3, "labels": [], "scores": [1]}
{"image_id": 4, "labels": ["dog", " "]}
{"image_id": 5, "labels": ["dog"], "scores": [2]}
{"image_id": 6, "labels": ["dog"]}
{"image_id": "6", "labels": ["dog"]}
{"image_id": 1.5, "labels": ["dog"]}
{"image_id": 7, "labels": ["dog", 3]}
{"image_id": 8, "labels": "dog"}
{"image_id": 9, "labels": ["dog"], "scores": ["high"]}
""",
    "d.csv": """image_id,labels,scores
1,"[""dog""]",[0.5]
2,"[""dog"", ""cat""]",[0.5]
3,[],[1]
4,"[""dog"", "" ""]",
5,"[""dog""]",[2]
6,"[""dog""]",
6,"[""dog""]",
1.5,"[""dog""]",
7,"[""dog"", null]",
8,"[""dog""]","[""high""]"
""",
}


def test_all_bad_lists_are_told_at_once(write: Write) -> None:
    path = write("d.jsonl", BAD_LISTS["d.jsonl"])
    in_both = [
        "labels and scores: got 2 labels and 1 scores, expected lists of the same length",
        "labels and scores: got 0 labels and 1 scores, expected lists of the same length",
        "labels: got ' ', expected text that is not blank",
        "scores: got 2.0, expected a number from 0 to 1",
        "image_id: got '6' 2 times, expected an id that occurs once",
    ]
    lines = ["line 2", "line 3", "line 4", "line 5", "line 6 and line 7"]
    assert message_of(path).splitlines()[1:] == [
        *(f"  - {line}, {told}" for line, told in zip(lines, in_both, strict=True)),
        "  - line 8, image_id: got 1.5, expected a whole number or text",
        "  - line 9, labels[1]: got a whole number, expected text",
        '  - line 10, labels: got "dog", expected a list',
        "  - line 11, scores[0]: got text, expected a number",
    ]
    assert read_labels(path, on_bad_row="skip").table.rows() == [("1", "dog", 0.5)]
    path = write("d.csv", BAD_LISTS["d.csv"])
    lines = ["line 3", "line 4", "line 5", "line 6", "line 7 and line 8"]
    assert message_of(path).splitlines()[1:] == [
        *(f"  - {line}, {told}" for line, told in zip(lines, in_both, strict=True)),
        "  - line 9, image_id: got 1.5, expected a whole number or text",
        "  - line 10, labels: got null, expected text that is not blank",
        "  - line 11, scores: got ['high'], expected a number from 0 to 1",
    ]
    assert read_labels(path, on_bad_row="skip").table.rows() == [("1", "dog", 0.5)]


def test_two_names_of_one_image_are_told_in_lists(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    names = ["COCO_val2014_000000000042.jpg", "42", "7"]
    pl.DataFrame({"image_id": names, "labels": [["dog"]] * 3}).write_parquet(path)
    assert message_of(path).endswith(
        "row 0 and row 1, image_id: got '42' 2 times, expected an id that occurs once"
    )


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {"image_id": [1], "label": ["dog"], "labels": [["dog"]]},
            "got the columns label and labels, expected one of them. Remove the other.",
        ),
        (
            {"image_id": [1], "labels": [[3]]},
            "got List(Int64) in the column labels, expected text or lists of text. Convert the column.",
        ),
        (
            {"image_id": [1], "labels": [["dog"]], "scores": [[True]]},
            "got List(Boolean) in the column scores, expected numbers or lists of numbers. "
            "Convert the column.",
        ),
        ({"image_id": [], "labels": []}, "got a table without rows, expected at least one. Check the file."),
    ],
)
def test_columns_that_say_no_labels_are_told(tmp_path: Path, columns: dict[str, Any], told: str) -> None:
    path = tmp_path / "d.parquet"
    pl.DataFrame(columns).write_parquet(path)
    assert message_of(path) == f"{path}: {told}"
