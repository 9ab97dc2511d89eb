"""Annotated objects of images: GQA scene graphs JSON, and Visual Genome's objects or attributes JSON."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    id_column,
    paused_gc,
    text_column,
)
from shortcut_miner.sources.opening.json_text import Top, fields_of, parse_json
from shortcut_miner.sources.opening.kinds import (
    LOOKED_AT,
    SCENE_GRAPHS,
    VISUAL_GENOME,
    check_not_empty,
    json_shape,
    wrong_kind,
)
from shortcut_miner.sources.opening.list_columns import text_lists
from shortcut_miner.sources.opening.reading import (
    RECORD,
    OnBadRow,
    Problem,
    Reading,
    bad_records,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
)

_BOX = ("x", "y", "w", "h")
_EXPECTED = f"{SCENE_GRAPHS} ({{image: {{width, height, objects}}}}) or {VISUAL_GENOME}"


class _Object(msgspec.Struct, gc=False):
    name: str
    x: float
    y: float
    w: float
    h: float
    attributes: list[str] | None = None


class _Graph(msgspec.Struct, gc=False):
    objects: dict[str, _Object]
    width: float | None = None
    height: float | None = None


class _GenomeObject(msgspec.Struct, gc=False):
    object_id: int | str
    names: list[str]
    x: float
    y: float
    w: float
    h: float
    attributes: list[str] | None = None


class _GenomeObjects(msgspec.Struct, gc=False):
    image_id: int | str
    objects: list[_GenomeObject]


class _GenomeAttributes(msgspec.Struct, gc=False):
    image_id: int | str
    attributes: list[_GenomeObject]


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


@dataclass(frozen=True, slots=True)
class _Rows:
    """Images and objects before checks; `image` numbers an object's image among all records."""

    kind: str
    images: pl.DataFrame
    objects: pl.DataFrame
    problems: list[Problem]
    labels: list[str]


def read_scene_graphs(path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error") -> SceneReading:
    """Return the annotated objects of images, one row an object, in file order.

    Parameters
    ----------
    path : path-like
        GQA's ``*_sceneGraphs.json``, or Visual Genome's ``objects.json`` or ``attributes.json``; plain, .gz
        or .zst, a zip with one member, or ``archive.zip/member``.
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
        The file can't be read, is of another format, or has bad images: an object without name or box, a
        coordinate that is not a number, an id twice. With ``on_bad_row="skip"`` the image is left out.
    """
    check_on_bad_row(on_bad_row)
    source = open_source(path)
    parsed = parse_json(source)
    with paused_gc():
        rows = _rows(source, parsed.top)
    problems = rows.problems + _box_problems(rows.objects) + find_duplicates(rows.images, "image_id")
    problems += _repeated_objects(rows.objects)
    problems += find_problems(rows.images, is_blank("image_id"), "image_id", "an id")
    problems += find_problems(rows.objects, is_blank("name"), "name", "text that is not blank")
    dropped = settle(
        source, "images", problems, len(rows.labels), on_bad_row, lambda record: rows.labels[record]
    )
    bad = pl.Series(bad_records(problems), dtype=pl.UInt32)
    is_good = ~pl.col(RECORD).is_in(bad.implode())
    ids, notes = canonical_image_ids(rows.images["image_id"])
    images = rows.images.with_columns(image_id=ids)
    objects = rows.objects.filter(is_good).join(
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
        notes=parsed.notes + notes,
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


def _rows(source: Source, top: Top) -> _Rows:
    if isinstance(top, list):
        return _genome_rows(source, top)
    shape = json_shape(top)
    if shape.kind != SCENE_GRAPHS:
        raise wrong_kind(source, shape, _EXPECTED)
    names = list(top)
    images, objects, problems = [], [], []
    for chunk in decode_chunks(list(top.values()), _Graph):
        problems += chunk.problems
        images.append(_image_rows(chunk, names))
        objects.append(_object_rows(chunk.positions, [list(one.objects.items()) for one in chunk.records]))
    return _Rows(
        SCENE_GRAPHS, pl.concat(images), pl.concat(objects), problems, [f"image {name!r}" for name in names]
    )


def _image_rows(chunk: Chunk[_Graph], names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            RECORD: pl.Series(chunk.positions, dtype=pl.UInt32),
            "image_id": text_column([names[position] for position in chunk.positions]),
            "width": pl.Series([one.width for one in chunk.records], dtype=pl.Float64),
            "height": pl.Series([one.height for one in chunk.records], dtype=pl.Float64),
            "region_count": pl.Series([None], dtype=pl.UInt32).new_from_index(0, len(chunk.records)),
        }
    )


def _object_rows(
    positions: Sequence[int], listed: Sequence[Sequence[tuple[int | str, _Object | _GenomeObject]]]
) -> pl.DataFrame:
    objects = [pair for pairs in listed for pair in pairs]
    boxes = np.array([[getattr(one, side) for side in _BOX] for _, one in objects], dtype=np.float64)
    return pl.DataFrame(
        {
            RECORD: np.repeat(np.asarray(positions, dtype=np.uint32), [len(pairs) for pairs in listed]),
            "object_id": id_column([object_id for object_id, _ in objects]),
            "name": text_column([_name(one) for _, one in objects]),
            **{side: boxes.reshape(-1, 4)[:, at] for at, side in enumerate(_BOX)},
            "attributes": text_lists([one.attributes or [] for _, one in objects]),
        }
    )


def _name(one: _Object | _GenomeObject) -> str:
    return one.name if isinstance(one, _Object) else next(iter(one.names), "")


def _genome_rows(source: Source, raws: list[msgspec.Raw]) -> _Rows:
    check_not_empty(source, raws, "images")
    keys = {key for raw in raws[:LOOKED_AT] for key in fields_of(raw)}
    if "image_id" not in keys or not keys & {"objects", "attributes"}:
        raise wrong_kind(source, json_shape(raws), _EXPECTED)
    images, objects, problems = [], [], []
    for positions, ids, listed, found in _genome_chunks(raws, has_objects="objects" in keys):
        problems += found
        nothing = [None] * len(ids)
        columns = {RECORD: pl.Series(positions, dtype=pl.UInt32), "image_id": id_column(ids)}
        sizes = {name: pl.Series(nothing, dtype=pl.Float64) for name in ("width", "height")}
        counts = {"region_count": pl.Series(nothing, dtype=pl.UInt32)}
        images.append(pl.DataFrame(columns | sizes | counts))
        objects.append(_object_rows(positions, [[(one.object_id, one) for one in few] for few in listed]))
    labels = [f"record {record}" for record in range(len(raws))]
    return _Rows(VISUAL_GENOME, pl.concat(images), pl.concat(objects), problems, labels)


def _genome_chunks(
    raws: list[msgspec.Raw], *, has_objects: bool
) -> Iterator[tuple[Sequence[int], list[int | str], list[list[_GenomeObject]], list[Problem]]]:
    if has_objects:
        for chunk in decode_chunks(raws, _GenomeObjects):
            ids = [one.image_id for one in chunk.records]
            yield chunk.positions, ids, [one.objects for one in chunk.records], chunk.problems
        return
    for other in decode_chunks(raws, _GenomeAttributes):
        ids = [one.image_id for one in other.records]
        yield other.positions, ids, [one.attributes for one in other.records], other.problems


def _box_problems(objects: pl.DataFrame) -> list[Problem]:
    """Find coordinates too large for a float (JSON has no other that is not finite)."""
    return [
        problem
        for side in _BOX
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
