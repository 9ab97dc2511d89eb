import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import is_id

from shortcut_miner import schemas
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.opening import json_records

Write = Callable[[str, Any], Path]


def message_of(path: Path, on_bad_row: str = "error") -> str:
    with pytest.raises(SourceError) as caught:
        read_labels(path, on_bad_row=on_bad_row)  # type: ignore[arg-type]
    return str(caught.value)


# ---- image-to-detection JSON ----


def test_one_row_a_detection_and_one_for_an_image_without(write: Write) -> None:
    images = {
        "42": {"classes": ["dog", "cat", "dog"], "scores": [0.5, 1, 0]},
        "7": {"classes": [], "scores": []},
        "0012": {"classes": ["ski"], "scores": [0.25], "boxes": [[1, 2, 3, 4]]},
    }
    reading = read_labels(write("d.json", images))
    assert reading.table.rows() == [
        ("42", "dog", 0.5),
        ("42", "cat", 1.0),
        ("42", "dog", 0.0),
        ("7", None, None),
        ("0012", "ski", 0.25),
    ]
    schemas.validated(reading.table, schemas.Labels, "labels")
    assert reading.table.columns == list(schemas.Labels.columns())
    assert (reading.kind, reading.dropped, reading.notes) == ("image-to-detection JSON", {}, ())


def test_only_images_without_detections(write: Write) -> None:
    reading = read_labels(write("d.json", {"1": {"classes": [], "scores": []}}))
    assert reading.table.rows() == [("1", None, None)]


def test_coco_names_become_numbers(write: Write) -> None:
    one = {"classes": ["dog"], "scores": [1]}
    reading = read_labels(write("d.json", {"COCO_train2014_000000000042.jpg": one, "000000000007.jpg": one}))
    assert reading.table["image_id"].to_list() == ["42", "7"]
    assert reading.notes == ("COCO image names shortened to their numbers: 2 of 2 images",)


BAD_IMAGES = """{
    "1": {"classes": ["dog"], "scores": [0.9]},
    "2": {"classes": ["dog", "cat"], "scores": [0.9]},
    "3": {"classes": ["dog"], "scores": [1.5]},
    "4": {"classes": ["dog"], "scores": [NaN]},
    "5": {"classes": ["dog"], "scores": [-0.1]},
    "6": {"classes": ["dog", " "], "scores": [1, 1]},
    "7": {"classes": ["dog", 3], "scores": [1, 1]},
    "8": {"classes": null, "scores": "1"},
    "9": {"classes": []},
    "10": [],
    "11": {"classes": ["dog"], "scores": [Infinity]},
    "12": {"classes": ["dog"], "scores": [1e999]},
    "13": {"classes": ["dog", "dog"], "scores": [2, 3]},
    " ": {"classes": [], "scores": []},
    "15": {"classes": ["\\ud800"], "scores": [1]}
}"""


def test_all_bad_images_are_told_at_once(write: Write) -> None:
    path = write("d.json", BAD_IMAGES)
    assert message_of(path) == "\n".join(
        [
            f"{path}: got 14 bad of 15 images, expected none. Fix them, or skip them with --on-bad-row skip.",
            "  - image '2', classes and scores: got 2 classes and 1 scores, "
            "expected lists of the same length",
            "  - image '3', scores: got 1.5, expected numbers from 0 to 1",
            "  - image '4', scores[0]: got null, expected a number",
            "  - image '5', scores: got -0.1, expected numbers from 0 to 1",
            "  - image '6', classes: got ' ', expected labels that are not blank",
            "  - image '7', classes[1]: got a whole number, expected text",
            "  - image '8', classes: got null, expected a list",
            "  - image '8', scores: got \"1\", expected a list",
            "  - image '9', scores: got no such field, expected a list",
            "  - image '10', record: got [], expected an object",
            "  - image '11', scores[0]: got null, expected a number",
            "  - image '12', scores[0]: got [1e999] (number out of range), expected a valid value",
            "  - image '13', scores: got 2.0, expected numbers from 0 to 1",
            "  - image '13', scores: got 3.0, expected numbers from 0 to 1",
            "  - image ' ', image id: got ' ', expected an id",
            "  - image '15', classes[0]: got null, expected text",
        ]
    )


def test_a_bad_image_is_skipped_as_a_whole(write: Write) -> None:
    reading = read_labels(write("d.json", BAD_IMAGES), on_bad_row="skip")
    assert reading.table.rows() == [("1", "dog", 0.9)]
    assert sum(reading.dropped.values()) == 14
    assert reading.dropped["scores: expected numbers from 0 to 1"] == 3
    assert reading.dropped["scores[]: expected a number"] == 2
    assert reading.notes == (
        "NaN or infinite numbers read as null: 2",
        "texts with a lone surrogate read as null: 1",
    )


def test_images_named_twice_are_told(write: Write) -> None:
    one = '{"classes": ["dog"], "scores": [1]}'
    path = write("d.json", f'{{"42": {one}, "7": {one}, "42": {one}, "\\u0037": {one}, "8": {one}}}')
    assert message_of(path).splitlines() == [
        f"{path}: got 2 bad of 3 images, expected none. Fix them, or skip them with --on-bad-row skip.",
        "  - image '42', image id: got 2 entries, expected one entry an image",
        "  - image '7', image id: got 2 entries, expected one entry an image",
    ]
    reading = read_labels(path, on_bad_row="skip")
    assert reading.table["image_id"].to_list() == ["8"]


def test_two_names_of_one_image_are_a_repetition(write: Write) -> None:
    one = {"classes": ["dog"], "scores": [1]}
    path = write("d.json", {"42": one, "COCO_val2014_000000000042": one})
    assert message_of(path).endswith(
        "  - image '42' and image 'COCO_val2014_000000000042', image id: got '42' 2 times, "
        "expected an id that occurs once"
    )


def test_the_label_classes_is_no_repetition(write: Write) -> None:
    path = write("d.json", {"1": {"classes": ["classes", "classes"], "scores": [1, 1]}})
    assert read_labels(path).table["label"].to_list() == ["classes", "classes"]


def test_images_over_several_chunks(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "CHUNK_RECORDS", 2)
    images = {str(n): {"classes": ["x"] * n, "scores": [1] * n} for n in range(7)}
    table = read_labels(write("d.json", images)).table
    expected = {str(n): max(n, 1) for n in range(7)}
    assert dict(table.group_by("image_id").len().rows()) == expected
    assert table["image_id"].unique(maintain_order=True).to_list() == list(expected)


LABELS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6).filter(str.strip)
IMAGES = st.dictionaries(
    LABELS.filter(lambda text: len(text.encode()) < 12 and is_id(text)),
    st.lists(st.tuples(LABELS, st.floats(0, 1)), max_size=5),
    min_size=1,
    max_size=6,
)


@given(images=IMAGES, is_ascii=st.booleans())
def test_what_is_written_is_read_back(
    write: Write, images: dict[str, list[tuple[str, float]]], is_ascii: bool
) -> None:
    content = {
        image: {"classes": [label for label, _ in found], "scores": [score for _, score in found]}
        for image, found in images.items()
    }
    table = read_labels(write("d", json.dumps(content, ensure_ascii=is_ascii))).table
    expected = [(image, *one) for image, found in images.items() for one in found or [(None, None)]]
    assert table.rows() == expected


# ---- COCO instances ----


def coco(**changes: Any) -> dict[str, Any]:
    return {
        "info": {},
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2}, {"id": 3}],
        "categories": [{"id": 18, "name": "dog", "supercategory": "animal"}, {"id": 35, "name": "skis"}],
        "annotations": [
            {"id": 5, "image_id": 3, "category_id": 35, "bbox": [0, 0, 1.5, 1], "iscrowd": 0, "area": 1},
            {"id": 6, "image_id": 1, "category_id": 18, "bbox": [0, 0, 1, 1], "iscrowd": 1},
            {"id": 7, "image_id": 3, "category_id": 18},
        ],
    } | changes


def test_coco_instances(write: Write) -> None:
    reading = read_labels(write("i.json", coco()))
    assert reading.table.rows() == [
        ("3", "skis", None, False),
        ("1", "dog", None, True),
        ("3", "dog", None, None),
        ("2", None, None, None),
    ]
    assert reading.table.columns == ["image_id", "label", "score", "iscrowd"]
    schemas.validated(reading.table, schemas.Labels, "labels")
    assert reading.kind == "COCO instances JSON"


def test_coco_without_any_annotation(write: Write) -> None:
    table = read_labels(write("i.json", coco(annotations=[], categories=[]))).table
    assert table.rows() == [(image, None, None, None) for image in ("1", "2", "3")]


def test_all_bad_coco_records_are_told_at_once(write: Write) -> None:
    content = coco(
        categories=[{"id": 18, "name": "dog"}, {"id": 1, "name": ""}, {"id": 2}, {"id": 3, "name": 4}],
        images=[{"id": 1}, {"id": 2}, {"id": 2}, {"id": None}, {}],
        annotations=[
            {"image_id": 1, "category_id": 18},
            {"image_id": 9, "category_id": 18},
            {"image_id": 1, "category_id": 99},
            {"image_id": 1, "category_id": 18, "bbox": [0, 0, 1]},
            {"image_id": 1, "category_id": 18, "bbox": [0, 0, 1, float("nan")]},
            {"image_id": 1, "category_id": 18, "bbox": [0, 0, 1, "2"]},
            {"image_id": 1, "category_id": 18, "iscrowd": "no"},
            {"image_id": 1, "category_id": 1},
        ],
    )
    path = write("i.json", content)
    assert message_of(path) == "\n".join(
        [
            f"{path}: got 14 bad of 17 records, expected none. "
            "Fix them, or skip them with --on-bad-row skip.",
            "  - categories record 1, name: got '', expected text that is not blank",
            "  - categories record 2, name: got no such field, expected text",
            "  - categories record 3, name: got 4, expected text",
            "  - images record 1 and images record 2, id: got '2' 2 times, expected an id that occurs once",
            "  - images record 3, id: got null, expected a whole number or text",
            "  - images record 4, id: got no such field, expected a whole number or text",
            "  - annotations record 1, image_id: got '9', expected an id in the list images",
            "  - annotations record 2, category_id: got '99', expected an id in the list categories",
            "  - annotations record 3, bbox: got [0, 0, 1], expected a list of length 4",
            "  - annotations record 4, bbox[3]: got null, expected a number",
            "  - annotations record 5, bbox[3]: got text, expected a number",
            '  - annotations record 6, iscrowd: got "no", expected true or false or a whole number',
            "  - annotations record 7, category_id: got '1', expected an id in the list categories",
        ]
    )
    reading = read_labels(path, on_bad_row="skip")
    assert reading.table.rows() == [("1", "dog", None, None)]
    assert sum(reading.dropped.values()) == 14


def test_coco_without_images(write: Write) -> None:
    path = write("i.json", {"annotations": [], "categories": []})
    assert "got COCO instances JSON without images (" in message_of(path)
    path = write("i.json", coco(images=[]))
    assert message_of(path) == (
        f"{path}: got 0 images, expected at least one. Check that this is the right file."
    )


# ---- our Parquet table ----


def test_a_parquet_table_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.bin"
    pl.DataFrame(
        {
            "label": pl.Series(["dog", None], dtype=pl.Categorical),
            "image_id": [42, 7],
            "score": pl.Series([0.5, None], dtype=pl.Float32),
            "x1": [0, 0],
        }
    ).write_parquet(path)
    reading = read_labels(path)
    assert reading.table.rows() == [("42", "dog", 0.5), ("7", None, None)]
    assert reading.kind == "labels Parquet"
    schemas.validated(reading.table, schemas.Labels, "labels")


def test_scores_are_optional_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"image_id": ["a"], "label": ["dog"]}).write_parquet(path)
    assert read_labels(path).table.rows() == [("a", "dog", None)]


def test_all_bad_parquet_rows_are_told_at_once(tmp_path: Path) -> None:
    rows = [
        ("1", "dog", 0.5),
        (None, "dog", 0.5),
        ("", "dog", 0.5),
        ("2", " ", 0.5),
        ("3", "dog", float("nan")),
        ("4", "dog", 1.1),
        ("5", None, 0.5),
        ("6", None, None),
        ("6", "dog", 0.5),
        ("7", "dog", float("inf")),
    ]
    path = tmp_path / "labels.parquet"
    pl.DataFrame(rows, schema=["image_id", "label", "score"], orient="row").write_parquet(path)
    assert message_of(path).splitlines()[1:] == [
        "  - row 1, image_id: got null, expected an id",
        "  - row 2, image_id: got '', expected an id",
        "  - row 3, label: got ' ', expected text that is not blank",
        "  - row 4, score: got nan, expected a number from 0 to 1",
        "  - row 5, score: got 1.1, expected a number from 0 to 1",
        "  - row 6, label: got null, expected null only in an image's single row, without a score",
        "  - row 7, label: got null, expected null only in an image's single row, without a score",
        "  - row 9, score: got inf, expected a number from 0 to 1",
    ]
    reading = read_labels(path, on_bad_row="skip")
    assert reading.table.rows() == [("1", "dog", 0.5), ("6", "dog", 0.5)]


def test_columns_of_another_type_or_name_are_told(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"image_id": [True], "class": ["dog"], "score": ["high"]}).write_parquet(path)
    assert message_of(path) == "\n".join(
        [
            f"{path}: got a Parquet table with the columns 'image_id', 'class', 'score', "
            "expected image_id, label. Rename or convert its columns.",
            "  - column image_id: got Boolean, expected text or whole numbers",
            "  - column label: got no such column, expected text",
            "  - column score: got String, expected numbers",
        ]
    )


def test_a_cut_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"image_id": ["a"] * 100, "label": ["dog"] * 100}).write_parquet(path)
    stored = path.read_bytes()
    for cut in (5, len(stored) // 2, len(stored) - 1):
        path.write_bytes(stored[:cut])
        assert ": got a damaged Parquet file (" in message_of(path)


def test_a_parquet_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"image_id": [], "label": []}).write_parquet(path)
    assert message_of(path).endswith("got a table without rows, expected at least one. Check the file.")


# ---- other formats ----


@pytest.mark.parametrize(
    ("content", "got", "advice"),
    [
        ({}, "an empty JSON object", "Check that this is the right file"),
        (
            {"1": {"labels": []}}, "a JSON object with the keys '1' (1 keys)",
            "Check that this is the right file",
        ),
        (
            [{"image_id": 1, "question": "What?", "label": "cat"}],
            "a JSON list of records with 'image_id', 'question', 'label' (1 records)",
            "Check that this is the right file",
        ),
        (
            "question_id,image_id,label\n1,7,yes\n",
            "a text table with the columns 'question_id', 'image_id', 'label' (1 rows)",
            "Check that this is the right file",
        ),
        (
            {"info": {}, "images": [{"id": 1}], "annotations": [{"image_id": 1, "id": 2, "caption": "A"}]},
            "a JSON object with the keys 'info', 'images', 'annotations' (3 keys)",
            "Check that this is the right file",
        ),
        ([1], "a JSON list that starts with 1 (1 values)", "Check that this is the right file"),
    ],
)  # fmt: skip
def test_another_format_is_named(write: Write, content: object, got: str, advice: str) -> None:
    path = write("d.json", content)
    assert message_of(path) == (
        f"{path}: got {got}, expected image-to-detection JSON ({{image: {{classes, scores}}}}), "
        "COCO instances JSON, a table with image_id and label or labels, scene graphs, or boxes with labels "
        "(LXMERT TSV, VinVL TSV, object detection JSONL, COCO results JSON, Open Images boxes CSV, regions "
        f"Parquet). {advice}."
    )


@pytest.mark.real
def test_real_labels(real_data: Path) -> None:
    path = real_data / "vqa60k" / "image_to_detection.json.gz"
    reading = read_labels(path)
    schemas.validated(reading.table, schemas.Labels, "real")
    images = json.loads(gzip.decompress(path.read_bytes()))
    assert reading.table["image_id"].n_unique() == len(images) == 39_106
    assert reading.table["label"].null_count() == sum(not one["classes"] for one in images.values())
    assert reading.table["label"].drop_nulls().to_list() == [
        label for one in images.values() for label in one["classes"]
    ]
