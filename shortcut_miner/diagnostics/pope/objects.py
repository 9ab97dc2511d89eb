"""Images and their objects in order, out of every file of labels, and of POPE's own {image, objects}."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.opening.columns import Column, Kind, optional
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import (
    Reading,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns
from shortcut_miner.sources.questions.tables import QuestionTable, is_table, open_question_table

UNKNOWN = "image whose objects are null"


@dataclass(frozen=True, slots=True)
class ObjectReading:
    """What a file says about objects.

    Attributes
    ----------
    reading : Reading
        image_id, image (its name in the file), object, score, is_crowd, a row an object, in file order; an
        image without objects has one row whose object is null.
    unknown : int
        Images left out because the file does not know their objects.
    """

    reading: Reading
    unknown: int = 0


def read_objects(path: Path, on_bad_row: OnBadRow = "error", *, info: Path | None = None) -> ObjectReading:
    """Return the objects of images, in file order.

    Parameters
    ----------
    path : Path
        Any file that :func:`shortcut_miner.sources.images.labels.read_labels` reads; or a table of any form
        with image and objects (a list), or image and object (a row each).
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.
    info : Path, optional
        The second file that some formats of boxes need.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has bad rows: no image, a blank object, an image
        twice.
    """
    table = None if path.is_dir() or info is not None else _as_table(path)
    if table is not None:
        return _from_table(table, on_bad_row)
    found = read_labels(path, info=info, on_bad_row=on_bad_row)
    crowd = pl.col("iscrowd") if "iscrowd" in found.table.columns else pl.lit(None, pl.Boolean)
    rows = found.table.select(
        "image_id", image="image_id", object="label", score="score", is_crowd=crowd.fill_null(False)
    )
    return ObjectReading(replace(found, table=rows))


def _as_table(path: Path) -> QuestionTable | None:
    """Return a file that has the columns image and objects, or image and object; None of any other."""
    try:
        content = Content(open_source(path, keep_workbooks=True))
        if not (is_table(content) or _is_one_record(content.json.top)):
            return None
        table = open_question_table(path)
        return table if table.has("image") and _column(table) else None
    except SourceError:  # told in the words of the reader of labels
        return None


def _is_one_record(top: object) -> bool:
    """Return whether one JSON object is the only line of a file of them."""
    return isinstance(top, dict) and "image" in top and ("objects" in top or "object" in top)


def _column(table: QuestionTable) -> str | None:
    return next((name for name in ("objects", "object") if table.has(name)), None)


def _from_table(table: QuestionTable, on_bad_row: OnBadRow) -> ObjectReading:
    flat, name = table.flat, _column(table)
    kind: Kind = "texts" if name == "objects" else "text"
    needs = {"image": Column("id"), "object": Column(kind, names=(str(name),))}
    check_has_rows(flat, "images")
    rows, problems = read_columns(flat, optional(needs))
    ids, notes = canonical_image_ids(rows["image"])
    rows = rows.with_columns(image_id=ids)
    problems += find_problems(rows, is_blank("image").fill_null(True), "image", "an image's name or id")
    is_unknown = pl.col("object").is_null()
    if name == "objects":
        has_blank = pl.col("object").list.eval(pl.element().str.strip_chars() == "").list.any()
        has_null = pl.col("object").list.eval(pl.element().is_null()).list.any()
        problems += find_problems(rows, has_blank | has_null, "object", "texts that are not blank", "objects")
        problems += find_duplicates(rows, "image_id", "image")
    else:
        problems += find_problems(rows, is_blank("object"), "object", "text that is not blank")
    dropped = settle(flat.path, "images", problems, flat.total, on_bad_row, flat.label)
    good = without_bad(rows.with_columns(is_unknown=is_unknown), problems)
    known = good.filter(~pl.col("is_unknown"))
    if name == "objects":
        known = known.explode("object", empty_as_null=True)
    return ObjectReading(
        Reading(
            table=known.select(
                "image_id", "image", "object", score=pl.lit(None, pl.Float64), is_crowd=pl.lit(value=False)
            ),
            kind=f"objects {flat.form}",
            file=table.file.facts(),
            dropped=dropped,
            notes=(*flat.notes, *notes),
        ),
        unknown=good["is_unknown"].to_list().count(True),
    )
