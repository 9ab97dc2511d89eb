"""Annotated objects of images: GQA scene graphs JSON, and Visual Genome's objects or attributes JSON."""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow, PathTexts, as_path_tuple
from shortcut_miner.sources.images.formats import SCENE_GRAPHS as SCENE_GRAPH_FORMATS
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.images.scene_graph_rows import (
    BOX,
    SCENE_GRAPHS,
    VISUAL_GENOME,
    SceneRows,
    plain_graphs,
)
from shortcut_miner.sources.images.several import all_files, joined
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.ids import find_floats, id_problems, with_whole_ids
from shortcut_miner.sources.opening.json_records import paused_gc
from shortcut_miner.sources.opening.kinds import Content, Format
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    bad_records,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
)
from shortcut_miner.sources.opening.streams import start_of

_EXPECTED = f"{SCENE_GRAPHS} ({{image: {{width, height, objects}}}}) or {VISUAL_GENOME}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneReading(Reading):
    """Annotated objects, and the images that they are in.

    Attributes
    ----------
    images : DataFrame
        A :class:`shortcut_miner.schemas.Images` with every annotated image, those without objects too;
        its region_count is null, as no detector has spoken.
    """

    images: pl.DataFrame


def read_scene_graphs(path: PathTexts, *, on_bad_row: OnBadRow = "error") -> SceneReading:
    """Return the annotated objects of images, one row an object, in file order.

    Parameters
    ----------
    path : path-like, or a list of them
        GQA's ``*_sceneGraphs.json``, or Visual Genome's ``objects.json`` or ``attributes.json``; plain, .gz
        or .zst, a zip with one member, ``archive.zip/member``, or a folder. Several of these are read as one;
        in a folder, files of another format are left out.
    on_bad_row : {"error", "skip"}
        Raise for all images that don't fit at once, or skip and count them.

    Returns
    -------
    SceneReading
        ``table`` is a :class:`shortcut_miner.schemas.SceneObjects`: image_id, object_id, name (String), x1,
        y1, x2, y2 (Float64, pixels; x2 is x + w), attributes List[String]; ``images`` has the sizes.

    Raises
    ------
    SourceError
        A file can't be read, is of another format, or has bad images: an object without name or box, a
        coordinate that is not a number, an id twice; files differ about an image. With
        ``on_bad_row="skip"`` the image is left out.
    """
    check_on_bad_row(on_bad_row)
    files, notes = all_files(as_path_tuple("path", path), _has_scene_graphs, "scene graphs")
    return joined([_read_one(file, on_bad_row) for file in files], files, on_bad_row, notes)


def _has_scene_graphs(file: Path) -> bool:
    """Return whether the start of a file of a folder looks like scene graphs."""
    try:
        start = start_of(file).lstrip()
    except SourceError:
        return False
    if start.startswith(b"["):
        return b'"object_id"' in start and bool(re.search(rb'"(?:objects|attributes)"\s*:\s*\[\s*\{', start))
    return start.startswith(b"{") and bool(re.search(rb'"objects"\s*:\s*\{', start))


def _read_one(path: Path, on_bad_row: OnBadRow) -> SceneReading:
    content = Content(open_source(path, keep_workbooks=True))
    rows = plain_graphs(content.source.content)
    if rows is None:
        return scene_reading(content, known_format(content, SCENE_GRAPH_FORMATS, _EXPECTED), on_bad_row)
    return _checked(content.source, rows, on_bad_row)


def scene_reading(content: Content, found: Format, on_bad_row: OnBadRow) -> SceneReading:
    """Return the scene graphs of an opened file of one of their formats; see :func:`read_scene_graphs`."""
    with paused_gc():
        return _checked(content.source, found.read(content), on_bad_row)


def _checked(source: Source, rows: SceneRows, on_bad_row: OnBadRow) -> SceneReading:
    ids, notes = canonical_image_ids(rows.images["image_id"])
    images = rows.images.with_columns(image_id=ids)
    objects, object_notes = with_whole_ids(rows.objects, "object_id")
    problems = rows.problems + _box_problems(objects) + find_duplicates(images, "image_id")
    problems += _repeated_objects(objects) + find_floats(objects, "object_id")
    problems += id_problems(images, "image_id")
    problems += find_problems(objects, is_blank("name"), "name", "text that is not blank")
    dropped = settle(
        source, "images", problems, len(rows.labels), on_bad_row, lambda record: rows.labels[record]
    )
    bad = pl.Series(bad_records(problems), dtype=pl.UInt32)
    is_good = ~pl.col(RECORD).is_in(bad.implode())
    objects = objects.filter(is_good).join(
        images.select(RECORD, "image_id"), on=RECORD, how="left", validate="m:1", maintain_order="left"
    )
    inverted = objects.select(((pl.col("w") < 0) | (pl.col("h") < 0)).sum()).item()
    if inverted:
        notes += (f"objects with a negative width or height: {inverted:,} of {len(objects):,}",)
    return SceneReading(
        table=_scene_objects(objects),
        images=images.filter(is_good).drop(RECORD),
        kind=rows.kind,
        file=source.facts(),
        dropped=dropped,
        notes=rows.notes + notes + object_notes,
    )


def _scene_objects(objects: pl.DataFrame) -> pl.DataFrame:
    return objects.select(
        "image_id",
        "object_id",
        "name",
        x1="x",
        y1="y",
        x2=pl.col("x") + pl.col("w"),
        y2=pl.col("y") + pl.col("h"),
        attributes="attributes",
    )


def _box_problems(objects: pl.DataFrame) -> list[Problem]:
    """Find coordinates too large for a float (JSON has no other that is not finite)."""
    return [
        problem
        for side in BOX
        for problem in find_problems(objects, ~pl.col(side).is_finite(), side, "a finite number")
    ]


def _repeated_objects(objects: pl.DataFrame) -> list[Problem]:
    if not objects.select(pl.struct(RECORD, "object_id").is_duplicated().any()).item():
        return []
    repeated = objects.group_by(RECORD, "object_id", maintain_order=True).len().filter(pl.col("len") > 1)
    return [
        Problem((record,), "object_id", f"{object_id!r} {count} times", "an id that occurs once")
        for record, object_id, count in repeated.iter_rows()
    ]
