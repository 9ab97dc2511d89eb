"""The formats by name, and how their content gives them away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.files import Source
from shortcut_miner.sources.json_text import Top, excerpt, fields_of

QUESTIONS = "VQA questions JSON"
ANNOTATIONS = "VQA annotations JSON"
IMAGE_LABELS = "image-to-detection JSON"
COCO_INSTANCES = "COCO instances JSON"
COCO_RESULTS = "COCO results JSON"
GQA_QUESTIONS = "GQA questions JSON"
RESULTS = "VQA results JSON"
PREDICTIONS_JSONL = "predictions JSONL"
PREDICTIONS_CSV = "predictions CSV"
PREDICTIONS_PARQUET = "predictions Parquet"
LABELS_PARQUET = "labels Parquet"

PREDICTION_COLUMNS = ("question_id", "answer")
PARQUET_MAGIC = b"PAR1"
LOOKED_AT = 20  # records looked at: the first ones may be broken
COCO_LISTS: tuple[str, ...] = ("categories", "images", "annotations")
COCO_KEYS = frozenset({"images", "categories"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file's content looks like.

    Attributes
    ----------
    kind : str
        One of this module's names, or a description when no reader knows it.
    counts : mapping of str to int
        What it holds, such as {"questions": 214354}.
    is_known : bool
        Whether a reader of this package reads it.
    """

    kind: str
    counts: Mapping[str, int] = field(default_factory=dict)
    is_known: bool = True


def json_shape(top: Top) -> Shape:
    """Tell the format of a JSON file from its top level and its first record."""
    return _list_shape(top) if isinstance(top, list) else _object_shape(top)


def _list_shape(records: list[msgspec.Raw]) -> Shape:
    looked_at = [fields_of(record).keys() for record in records[:LOOKED_AT]]
    if any(keys >= {"question_id", "answer"} for keys in looked_at):
        return Shape(RESULTS, {"answers": len(records)})
    if any(keys >= {"image_id", "category_id", "score"} for keys in looked_at):
        return Shape(COCO_RESULTS, {"detections": len(records)}, is_known=False)
    if not records:
        return Shape("an empty JSON list", is_known=False)
    if not looked_at[0]:
        return Shape(f"a JSON list that starts with {excerpt(records[0])}", {"values": len(records)}, False)
    return Shape(
        f"a JSON list of records with {examples(looked_at[0])}", {"records": len(records)}, is_known=False
    )


def _object_shape(top: dict[str, msgspec.Raw]) -> Shape:
    if "questions" in top:
        return Shape(QUESTIONS, {"questions": _length(top["questions"])})
    if "annotations" in top and COCO_KEYS & top.keys():
        counts = {key: _length(top[key]) for key in COCO_LISTS if key in top}
        return Shape(COCO_INSTANCES, counts)
    if "annotations" in top:
        return Shape(ANNOTATIONS, {"annotations": _length(top["annotations"])})
    values = list(islice(top.values(), LOOKED_AT))
    if any("classes" in fields_of(value) for value in values):
        return Shape(IMAGE_LABELS, {"images": len(top)})
    if values and fields_of(values[0]).keys() >= {"question", "imageId"}:
        return Shape(GQA_QUESTIONS, {"questions": len(top)}, is_known=False)
    if not top:
        return Shape("an empty JSON object", is_known=False)
    return Shape(f"a JSON object with the keys {examples(top)}", {"keys": len(top)}, is_known=False)


def lines_shape(lines: Sequence[bytes]) -> Shape | None:
    """Tell the format of a JSON Lines file; None if the lines aren't JSON objects of their own."""
    looked_at = [fields_of(line).keys() for line in lines[:LOOKED_AT]]
    if any("question_id" in keys and ("answer" in keys or len(lines) > 1) for keys in looked_at):
        return Shape(PREDICTIONS_JSONL, {"answers": len(lines)})
    if len(lines) > 1 and looked_at[0]:
        return Shape(
            f"JSON Lines with the keys {examples(looked_at[0])}", {"lines": len(lines)}, is_known=False
        )
    return None


def _length(raw: msgspec.Raw) -> int:
    try:
        return len(msgspec.json.decode(raw, type=list[msgspec.Raw]))
    except msgspec.ValidationError:
        return 0


def wrong_kind(source: Source, shape: Shape, expected: str) -> SourceError:
    """Return the error for a file of another format than the one asked for."""
    counts = ", ".join(f"{count:,} {what}" for what, count in shape.counts.items())
    got = f"{shape.kind} ({counts})" if counts else shape.kind
    return SourceError(f"{source.path}: got {got}, expected {expected}. Check that this is the right file.")


def check_not_empty(source: Source, raws: Sequence[object], what: str) -> None:
    """Raise SourceError for a file of the right format without any record."""
    if not raws:
        raise SourceError(
            f"{source.path}: got 0 {what}, expected at least one. Check that this is the right file."
        )
