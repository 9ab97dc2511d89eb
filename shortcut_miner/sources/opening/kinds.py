"""The formats by name, and how their content gives them away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Top, excerpt, fields_of

QUESTIONS = "VQA questions JSON"
ANNOTATIONS = "VQA annotations JSON"
IMAGE_LABELS = "image-to-detection JSON"
COCO_INSTANCES = "COCO instances JSON"
COCO_RESULTS = "COCO results JSON"
GQA_QUESTIONS = "GQA questions JSON"
SCENE_GRAPHS = "GQA scene graphs JSON"
VISUAL_GENOME = "Visual Genome objects JSON"
RESULTS = "VQA results JSON"
PREDICTIONS_JSONL = "predictions JSONL"
PREDICTIONS_CSV = "predictions CSV"
PREDICTIONS_PARQUET = "predictions Parquet"
GQA_PREDICTIONS = "GQA predictions JSON"
LMMS_EVAL_SAMPLES = "lmms-eval samples JSONL"
VLMEVALKIT_JSON = "VLMEvalKit results JSON"
VLMEVALKIT_TSV = "VLMEvalKit results TSV"
VLMEVALKIT_XLSX = "VLMEvalKit results xlsx"
SOFT_LABELS = "soft labels JSON"
SOFT_LABELS_PARQUET = "soft labels Parquet"
LABELS_PARQUET = "labels Parquet"
REGIONS_H5 = "GQA objects HDF5"
REGIONS_INFO = "GQA objects info JSON"
BOTTOM_UP_TSV = "bottom-up-attention TSV"
LXMERT_TSV = "LXMERT TSV"
VINVL_TSV = "VinVL TSV"
PIPELINE_JSONL = "object detection JSONL"
OPEN_IMAGES_CSV = "Open Images boxes CSV"
REGIONS_PARQUET = "regions Parquet"

PREDICTION_COLUMNS = ("question_id", "answer")
GQA_PREDICTION_FIELDS = ("questionId", "prediction")
VLMEVALKIT_COLUMNS = ("index", "prediction")
SOFT_LABEL_FIELDS = ("question_id", "label")
SOFT_LABEL_COLUMNS = ("question_id", "answer", "weight")
# What read_predictions and read_soft_labels read, for whoever picks a reader by kind.
PREDICTION_KINDS = (
    *(RESULTS, GQA_PREDICTIONS, PREDICTIONS_JSONL, PREDICTIONS_CSV, PREDICTIONS_PARQUET),
    *(LMMS_EVAL_SAMPLES, VLMEVALKIT_JSON, VLMEVALKIT_TSV, VLMEVALKIT_XLSX),
)
SOFT_LABEL_KINDS = (SOFT_LABELS, SOFT_LABELS_PARQUET)
_SAMPLE_FIELDS = frozenset({"doc_id", "filtered_resps"})
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


# Lists of records: kind, what they hold, the fields that tell it. A file with the fields of two is the first.
_RECORD_LISTS = (
    (GQA_PREDICTIONS, "answers", GQA_PREDICTION_FIELDS),
    (VLMEVALKIT_JSON, "answers", VLMEVALKIT_COLUMNS),
    (RESULTS, "answers", PREDICTION_COLUMNS),
    (SOFT_LABELS, "questions", SOFT_LABEL_FIELDS),
)


def json_shape(top: Top) -> Shape:
    """Tell the format of a JSON file from its top level and its first record."""
    return _list_shape(top) if isinstance(top, list) else _object_shape(top)


def _list_shape(records: list[msgspec.Raw]) -> Shape:
    looked_at = [fields_of(record).keys() for record in records[:LOOKED_AT]]
    for kind, what, fields in _RECORD_LISTS:
        if any(keys >= {*fields} for keys in looked_at):
            return Shape(kind, {what: len(records)})
    if any(keys >= {"image_id", "category_id", "score"} for keys in looked_at):
        return Shape(COCO_RESULTS, {"detections": len(records)})
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
        return Shape(GQA_QUESTIONS, {"questions": len(top)})
    if any("objectsNum" in fields_of(value) for value in values):
        return Shape(REGIONS_INFO, {"images": len(top)})
    if any("objects" in fields_of(value) for value in values):
        return Shape(SCENE_GRAPHS, {"images": len(top)})
    if any(is_weights(value) for value in values):
        return Shape(SOFT_LABELS, {"questions": len(top)})
    if not top:
        return Shape("an empty JSON object", is_known=False)
    return Shape(f"a JSON object with the keys {examples(top)}", {"keys": len(top)}, is_known=False)


def lines_shape(lines: Sequence[bytes]) -> Shape | None:
    """Tell the format of a JSON Lines file; None if the lines aren't JSON objects of their own."""
    if any(_is_sample(line) for line in lines[:LOOKED_AT]):
        return Shape(LMMS_EVAL_SAMPLES, {"answers": len(lines)})
    looked_at = [fields_of(line).keys() for line in lines[:LOOKED_AT]]
    if any("question_id" in keys and ("answer" in keys or len(lines) > 1) for keys in looked_at):
        return Shape(PREDICTIONS_JSONL, {"answers": len(lines)})
    if len(lines) > 1 and looked_at[0]:
        return Shape(
            f"JSON Lines with the keys {examples(looked_at[0])}", {"lines": len(lines)}, is_known=False
        )
    return None


def table_shape(header: Sequence[str], rows: int) -> Shape | None:
    """Tell an evaluator's table from its columns; None if it is no such table."""
    return Shape(VLMEVALKIT_TSV, {"answers": rows}) if {*VLMEVALKIT_COLUMNS} <= {*header} else None


def is_weights(raw: msgspec.Raw) -> bool:
    """Return whether an undecoded value is {answer: weight} with at least one answer."""
    try:
        return bool(msgspec.json.decode(raw, type=dict[str, float]))
    except DECODE_ERRORS:
        return False


def _is_sample(line: bytes) -> bool:
    """Return whether a line is a sample of lmms-eval; its metrics may be NaN, which is no JSON."""
    fields = fields_of(line)
    return fields.keys() >= _SAMPLE_FIELDS or (
        not fields and all(f'"{name}"'.encode() in line for name in _SAMPLE_FIELDS)
    )


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
