"""Annotated objects of images as their files hold them: GQA scene graphs, Visual Genome's objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.sources.opening import json_text
from shortcut_miner.sources.opening.ids import AnyId, id_column
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    record_columns,
    repeated_keys,
)
from shortcut_miner.sources.opening.json_text import LOOKED_AT, OddError, Top, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.list_columns import text_lists
from shortcut_miner.sources.opening.reading import RECORD, Problem
from shortcut_miner.sources.opening.repeated_fields import objects_twice

SCENE_GRAPHS, VISUAL_GENOME = "GQA scene graphs JSON", "Visual Genome objects JSON"
BOX = ("x", "y", "w", "h")
_NOT_COUNTED = pl.lit(None, pl.UInt32).alias("region_count")


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
    object_id: AnyId
    names: list[str]
    x: float
    y: float
    w: float
    h: float
    attributes: list[str] | None = None


class _GenomeObjects(msgspec.Struct, gc=False):
    image_id: AnyId
    objects: list[_GenomeObject]


class _GenomeAttributes(msgspec.Struct, gc=False):
    image_id: AnyId
    attributes: list[_GenomeObject]


@dataclass(frozen=True, slots=True)
class SceneRows:
    """Images and objects before checks; `image` numbers an object's image among all records."""

    kind: str
    images: pl.DataFrame
    objects: pl.DataFrame
    problems: list[Problem]
    labels: list[str]
    notes: tuple[str, ...] = ()


def is_scene_graphs(top: Top) -> bool:
    """Return whether this is GQA's ``{image: {width, height, objects}}``."""
    first = islice(top.values(), LOOKED_AT) if isinstance(top, dict) else ()
    return any("objects" in fields_of(value) for value in first)


def is_visual_genome(top: Top) -> bool:
    """Return whether this is Visual Genome's ``[{image_id, objects}]`` or ``[{image_id, attributes}]``."""
    keys = _keys(top) if isinstance(top, list) else set()
    return "image_id" in keys and bool(keys & {"objects", "attributes"})


def plain_graphs(content: bytes) -> SceneRows | None:
    """Return the rows of large GQA scene graphs that nothing is odd about; None of any other file."""
    if not json_text.is_worth_walking(content):
        return None
    from shortcut_miner.sources.opening.json_walks import walked

    images, objects, first = [], [], 0
    try:
        for walk in walked(content, _Graph):
            records = pl.int_range(first, first + len(walk), dtype=pl.UInt32, eager=True)
            sizes = {name: walk.numbers(name) for name in ("width", "height")}
            images.append(pl.DataFrame({RECORD: records, "image_id": walk.texts("")} | sizes))
            boxes = {side: walk.numbers(f"objects.*.{side}") for side in BOX}
            columns = {
                RECORD: np.repeat(records.to_numpy(), walk.lengths("objects")),
                "object_id": walk.texts("objects"),
                "name": walk.texts("objects.*.name"),
                **boxes,
                "attributes": walk.lists("objects.*.attributes").fill_null([]),
            }
            objects.append(pl.DataFrame(columns))
            first += len(walk)
    except OddError:
        return None
    found = pl.concat(images).with_columns(_NOT_COUNTED)
    names = found["image_id"]
    if names.n_unique() < len(names):
        return None
    return SceneRows(
        SCENE_GRAPHS, found, pl.concat(objects), [], [f"image {name!r}" for name in names.to_list()]
    )


def scene_graph_rows(content: Content) -> SceneRows:
    """Return the rows of GQA scene graphs."""
    top = content.json.top
    assert isinstance(top, dict)
    names, text = list(top), content.source.content
    images, objects = [], []
    problems = repeated_keys(text, names, text.count(b'"objects"'), "image id", "one entry an image")
    raws = list(top.values())
    for chunk in decode_chunks(raws, _Graph):
        problems += chunk.problems
        problems += objects_twice(raws, chunk.positions, [len(one.objects) for one in chunk.records], BOX)
        images.append(_image_rows(chunk, names))
        graphs = [*map(attrgetter("objects"), chunk.records)]
        own = [*chain.from_iterable(map(dict.values, graphs))]
        called = [*map(attrgetter("name"), own)]
        objects.append(
            _object_rows(chunk.positions, [*map(len, graphs)], [*chain.from_iterable(graphs)], called, own)
        )
    return SceneRows(
        SCENE_GRAPHS, pl.concat(images), pl.concat(objects), problems,
        [f"image {name!r}" for name in names], content.json.notes,
    )  # fmt: skip


def _image_rows(chunk: Chunk[_Graph], names: Sequence[str]) -> pl.DataFrame:
    ids = pl.Series([names[position] for position in chunk.positions], dtype=pl.String)
    sizes = pl.DataFrame(record_columns(chunk, _Graph, "width", "height"))
    return sizes.select(RECORD, pl.lit(ids).alias("image_id"), "width", "height", _NOT_COUNTED)


def _object_rows(
    positions: Sequence[int],
    sizes: Sequence[int],
    ids: Sequence[AnyId],
    names: Sequence[str],
    objects: Sequence[_Object] | Sequence[_GenomeObject],
) -> pl.DataFrame:
    """Return a row for each object; `sizes` says how many each record has."""
    attributes = [one or () for one in map(attrgetter("attributes"), objects)]
    return pl.DataFrame(
        {
            RECORD: np.repeat(np.asarray(positions, dtype=np.uint32), sizes),
            "object_id": id_column(ids),
            "name": pl.Series(names, dtype=pl.String),
            **{side: pl.Series([*map(attrgetter(side), objects)], dtype=pl.Float64) for side in BOX},
            "attributes": text_lists(attributes),
        }
    )


def visual_genome_rows(content: Content) -> SceneRows:
    """Return the rows of Visual Genome's objects or attributes."""
    raws = content.json.top
    assert isinstance(raws, list)
    images, objects, problems = [], [], []
    for positions, ids, listed, found in _genome_chunks(raws, has_objects="objects" in _keys(raws)):
        problems += found + objects_twice(raws, positions, list(map(len, listed)), BOX)
        own = pl.DataFrame({RECORD: pl.Series(positions, dtype=pl.UInt32), "image_id": id_column(ids)})
        sizes = [pl.lit(None, pl.Float64).alias(name) for name in ("width", "height")]
        images.append(own.with_columns(*sizes, _NOT_COUNTED))
        few = [*chain.from_iterable(listed)]
        called = [next(iter(one.names), "") for one in few]
        own_ids = [one.object_id for one in few]
        objects.append(_object_rows(positions, [*map(len, listed)], own_ids, called, few))
    labels = [f"record {record}" for record in range(len(raws))]
    tables = pl.concat(images), pl.concat(objects)
    return SceneRows(VISUAL_GENOME, *tables, problems, labels, content.json.notes)


def _keys(raws: Sequence[msgspec.Raw]) -> set[str]:
    return {key for raw in raws[:LOOKED_AT] for key in fields_of(raw)}


def _genome_chunks(
    raws: list[msgspec.Raw], *, has_objects: bool
) -> Iterator[tuple[Sequence[int], list[AnyId], list[list[_GenomeObject]], list[Problem]]]:
    if has_objects:
        for chunk in decode_chunks(raws, _GenomeObjects):
            ids = [one.image_id for one in chunk.records]
            yield chunk.positions, ids, [one.objects for one in chunk.records], chunk.problems
        return
    for other in decode_chunks(raws, _GenomeAttributes):
        ids = [one.image_id for one in other.records]
        yield other.positions, ids, [one.attributes for one in other.records], other.problems
