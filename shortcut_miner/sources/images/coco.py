"""COCO instances JSON: ground-truth objects as labels without scores."""

from collections.abc import Callable

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.ids import AnyId, id_problems, with_whole_ids
from shortcut_miner.sources.opening.json_records import decode_all, record_columns
from shortcut_miner.sources.opening.json_text import Raws, Top, records_under
from shortcut_miner.sources.opening.kinds import Content, Counts, Shape, length_of, wrong_kind
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    bad_records,
    check_not_empty,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)

COCO_INSTANCES = "COCO instances JSON"
COCO_LISTS: tuple[str, ...] = ("categories", "images", "annotations")
COCO_KEYS = frozenset({"images", "categories"})
_FIRST_RECORDS = 4096  # bytes of a list


class _Category(msgspec.Struct, gc=False):
    id: AnyId
    name: str


class _Image(msgspec.Struct, gc=False):
    id: AnyId


class _Instance(msgspec.Struct, gc=False):
    image_id: AnyId
    category_id: AnyId
    bbox: tuple[float, float, float, float] | None = None
    iscrowd: bool | int | None = None


def is_coco_instances(top: Top) -> bool:
    """Return whether this is a COCO instances JSON; it may lack one of its lists.

    COCO's captions have images and annotations too, but no categories.
    """
    if not isinstance(top, dict) or "annotations" not in top or not COCO_KEYS & top.keys():
        return False
    start = bytes(memoryview(top["annotations"])[:_FIRST_RECORDS])
    return "categories" in top or b'"caption"' not in start


def count_coco(top: dict[str, msgspec.Raw]) -> Counts:
    """Return how many records its lists have."""
    return {key: length_of(top[key]) for key in COCO_LISTS if key in top}


def read_coco_labels(content: Content, on_bad_row: OnBadRow) -> Reading:
    """Return labels (image_id, label, score, iscrowd) in annotation order.

    The score is null: these are ground truth. Images without annotations follow, one row each, without
    label.
    """
    source, top = content.source, content.json.top
    assert isinstance(top, dict)
    lists, starts = _lists(source, top)
    label_of = _record_names(starts)
    categories, problems = _categories(lists["categories"], starts["categories"])
    images, image_problems, notes = _images(lists["images"], starts["images"])
    instances, instance_problems = _instances(lists["annotations"], starts["annotations"])
    problems += image_problems + instance_problems
    is_bad = pl.col(RECORD).is_in(bad_records(problems))
    categories, images = categories.filter(~is_bad), images.filter(~is_bad)
    problems += _unknown_references(instances, images, categories)
    total = sum(len(raws) for raws in lists.values())
    dropped = settle(source, "records", problems, total, on_bad_row, label_of)
    labels = _named(without_bad(instances, problems), images, categories)
    if labels.is_empty():  # nothing good is left, whatever was asked for
        settle(source, "records", problems, total, None, label_of)
    notes = content.json.notes + notes
    return Reading(table=labels, kind=COCO_INSTANCES, file=source.facts(), dropped=dropped, notes=notes)


def _lists(
    source: Source, top: dict[str, msgspec.Raw]
) -> tuple[dict[str, list[msgspec.Raw]], dict[str, int]]:
    """Return the undecoded lists, and where each starts in one numbering of all their records.

    One numbering, so that the problems of all three lists are told at once.
    """
    if missing := [key for key in COCO_LISTS if key not in top]:
        lacking = Shape(f"{COCO_INSTANCES} without {' and '.join(missing)}", count_coco(top))
        raise wrong_kind(source.path, lacking, f"the lists {', '.join(COCO_LISTS)}")
    lists = {}
    for key in COCO_LISTS:
        lists[key] = records_under(source, top, key)
    check_not_empty(source.path, lists["images"], "images")
    ends = np.cumsum([len(raws) for raws in lists.values()]).tolist()
    return lists, dict(zip(COCO_LISTS, [0, *ends[:-1]], strict=True))


def _record_names(starts: dict[str, int]) -> Callable[[int], str]:
    def label_of(record: int) -> str:
        key = max((key for key in COCO_LISTS if starts[key] <= record), key=COCO_LISTS.index)
        return f"{key} record {record - starts[key]}"

    return label_of


def _categories(raws: Raws, start: int) -> tuple[pl.DataFrame, list[Problem]]:
    rows = decode_all(raws, _Category, start)
    table = pl.DataFrame(record_columns(rows, _Category)).rename({"id": "category_id"})
    table, _ = with_whole_ids(table, "category_id")
    problems = id_problems(table, "category_id", "id")
    problems += find_problems(table, is_blank("name"), "name", "text that is not blank")
    return table, rows.problems + problems + find_duplicates(table, "category_id", "id")


def _images(raws: Raws, start: int) -> tuple[pl.DataFrame, list[Problem], tuple[str, ...]]:
    rows = decode_all(raws, _Image, start)
    columns = record_columns(rows, _Image)
    ids, notes = canonical_image_ids(columns.pop("id"))
    table = pl.DataFrame(columns | {"image_id": ids})
    problems = id_problems(table, "image_id", "id")
    return table, rows.problems + problems + find_duplicates(table, "image_id", "id"), notes


def _instances(raws: Raws, start: int) -> tuple[pl.DataFrame, list[Problem]]:
    rows = decode_all(raws, _Instance, start)
    columns = record_columns(rows, _Instance, "image_id", "category_id")
    columns["image_id"], _ = canonical_image_ids(columns["image_id"])
    crowd = [None if row.iscrowd is None else bool(row.iscrowd) for row in rows.records]
    table = pl.DataFrame(columns | {"iscrowd": pl.Series(crowd, dtype=pl.Boolean)})
    return with_whole_ids(table, "category_id")[0], rows.problems


def _unknown_references(
    instances: pl.DataFrame, images: pl.DataFrame, categories: pl.DataFrame
) -> list[Problem]:
    is_strange = ~pl.col("image_id").is_in(images["image_id"].implode())
    is_unnamed = ~pl.col("category_id").is_in(categories["category_id"].implode())
    return find_problems(instances, is_strange, "image_id", "an id in the list images") + find_problems(
        instances, is_unnamed, "category_id", "an id in the list categories"
    )


def _named(instances: pl.DataFrame, images: pl.DataFrame, categories: pl.DataFrame) -> pl.DataFrame:
    """Give instances their category's name, and images without instances one row without label."""
    named = instances.join(
        categories.select("category_id", label="name"),
        on="category_id",
        how="inner",
        validate="m:1",
        maintain_order="left",
    )
    empty = images.join(instances, on="image_id", how="anti", maintain_order="left").select("image_id")
    table = pl.concat([named, empty], how="diagonal")
    return table.select("image_id", "label", pl.lit(None, dtype=pl.Float64).alias("score"), "iscrowd")
