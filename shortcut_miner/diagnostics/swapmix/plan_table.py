"""A plan as a table: rows of numbers looked up, and streamed to Parquet or put into one frame."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import PlanKind
from shortcut_miner.diagnostics.swapmix.context import Asked
from shortcut_miner.diagnostics.swapmix.kernels_numba.dictionaries import distinct_codes
from shortcut_miner.diagnostics.swapmix.plan import KINDS, PlanRows
from shortcut_miner.diagnostics.swapmix.world import World
from shortcut_miner.drafts import literal
from shortcut_miner.storage import METADATA_KEY, ROW_GROUP_SIZE, Provenance

Numbers = NDArray[np.int32]

_TEXT, _NUMBER = pa.string(), pa.uint32()
COLUMNS: dict[str, pa.DataType] = {
    "question_id": _TEXT,
    "perturbation": _NUMBER,
    "image_id": _TEXT,
    "object_id": _TEXT,
    "region_index": _NUMBER,
    "kind": _TEXT,
    "swap_index": _NUMBER,
    "from_class": _TEXT,
    "to_class": _TEXT,
    "from_attribute": _TEXT,
    "to_attribute": _TEXT,
    "is_padding": pa.bool_(),
    "donor_image_id": _TEXT,
    "donor_object_id": _TEXT,
    "donor_region_index": _NUMBER,
}
# Nearly every row has another donor: a dictionary of these would be larger than the column.
_PLAIN = ("donor_object_id",)
# A question's rows are found by these without reading the others.
_LOOKED_FOR = ("question_id", "image_id")
_DETECTOR_ONLY = ("region_index", "donor_region_index")


@dataclasses.dataclass(frozen=True, slots=True)
class PlanNames:
    """What the numbers in :class:`PlanRows` stand for, ready to be looked up.

    Text arrays per question, object and donor; ``attributes`` has the attribute sets, then single attributes.
    Numbers of objects and donors have a -1 after the last, which is what the place -1 (for null) takes.
    """

    question_ids: pa.Array
    question_images: Numbers
    object_ids: pa.Array
    object_classes: Numbers
    object_regions: Numbers
    classes: pa.Array
    attributes: pa.Array
    images: pa.Array
    donor_images: Numbers
    donor_objects: pa.Array
    donor_regions: Numbers


def plan_names(asked: Asked, world: World, attributes: pl.Series | None = None) -> PlanNames:
    """Return the names of a plan; `attributes` are single ones, of a perfect-sight plan."""
    sets = world.attribute_sets
    question_images, donor_images = asked.table["image_id"], world.donors["image_id"]
    images = pl.concat([question_images, donor_images]).unique().sort()
    return PlanNames(
        question_ids=_text(asked.table["question_id"]),
        question_images=images.search_sorted(question_images).to_numpy().astype(np.int32),
        object_ids=_text(world.objects["object_id"]),
        object_classes=_with_null(world.objects["class_id"].to_numpy()),
        object_regions=_with_null(world.regions),
        classes=_text(world.classes),
        attributes=_text(sets if attributes is None else pl.concat([sets, attributes])),
        images=_text(images),
        donor_images=_with_null(images.search_sorted(donor_images).to_numpy()),
        donor_objects=_text(world.donors["object_id"]),
        donor_regions=_with_null(world.donors["region_index"].cast(pl.Int64).fill_null(-1).to_numpy()),
    )


def _with_null(values: NDArray[Any]) -> Numbers:
    return np.append(values, -1).astype(np.int32)


def plan_schema(plan: PlanKind) -> pa.Schema:
    """Return the columns of a plan's file as they are handed over; in the file, dictionaries are text."""
    names = [name for name in COLUMNS if plan != "perfect-sight" or name not in _DETECTOR_ONLY]
    if plan == "training":
        names = ["epoch" if name == "perturbation" else name for name in names]
    types = {
        name: pa.dictionary(pa.int32(), _TEXT) if kind == _TEXT else kind for name, kind in COLUMNS.items()
    }
    types |= {"epoch": _NUMBER} | dict.fromkeys(_PLAIN, _TEXT)
    return pa.schema([(name, types[name]) for name in names])


@contextmanager
def plan_file(path: Path, plan: PlanKind, provenance: Callable[[], Provenance]) -> Iterator[pq.ParquetWriter]:
    """Open the Parquet file of a plan for :func:`write_rows`.

    `provenance` is asked at the end, when everything is counted.
    """
    schema = plan_schema(plan)
    with pq.ParquetWriter(
        literal(path), schema, compression="zstd", store_schema=False,
        use_dictionary=[name for name in schema.names if name not in _PLAIN],
        # Smaller pages, and the least and largest values of all columns, take as long as all else.
        write_batch_size=ROW_GROUP_SIZE, max_rows_per_page=ROW_GROUP_SIZE, write_statistics=[*_LOOKED_FOR],
    ) as writer:  # fmt: skip
        yield writer
        writer.add_key_value_metadata({METADATA_KEY: json.dumps(provenance().for_table(), sort_keys=True)})


def write_rows(
    writer: pq.ParquetWriter | None,
    rows: Iterable[PlanRows],
    names: PlanNames,
    on_block: Callable[[PlanRows], None],
) -> None:
    """Stream a plan into a file, in row groups of the fixed size; without a file only draw it.

    `on_block` is told of every block of rows, to count what happened.
    """
    if writer is None:
        for block in rows:
            on_block(block)
        return
    for group in _groups(rows, on_block):
        writer.write_table(_as_table(group, names, writer.schema), row_group_size=ROW_GROUP_SIZE)


def plan_frame(plan: PlanKind, rows: Iterable[PlanRows], names: PlanNames) -> pl.DataFrame:
    """Return a whole plan as a frame, as it reads from its file."""
    schema = plan_schema(plan)
    parts = [_as_table(group, names, schema) for group in _groups(rows, lambda block: None)]
    frame = pl.DataFrame(pl.from_arrow(pa.concat_tables([schema.empty_table(), *parts])))
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _groups(rows: Iterable[PlanRows], on_block: Callable[[PlanRows], None]) -> Iterator[dict[str, Any]]:
    """Cut blocks of any length into row groups of the fixed size."""
    waiting: list[dict[str, Any]] = []
    room = ROW_GROUP_SIZE
    for block in rows:
        on_block(block)
        columns = {
            field.name: getattr(block, field.name)
            for field in dataclasses.fields(block)
            if field.name != "counts"
        }
        first = 0
        while len(block) - first >= room:
            yield _joined([*waiting, _slice(columns, first, first + room)])
            waiting, first, room = [], first + room, ROW_GROUP_SIZE
        if first < len(block):
            waiting.append(_slice(columns, first, len(block)))
            room -= len(block) - first
    if waiting:
        yield _joined(waiting)


def _slice(columns: Mapping[str, Any], first: int, stop: int) -> dict[str, Any]:
    return {name: column[first:stop] for name, column in columns.items()}


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if len(parts) == 1:
        return dict(parts[0])
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _as_table(rows: Mapping[str, Any], names: PlanNames, schema: pa.Schema) -> pa.Table:
    """Return one row group as Arrow columns, texts as dictionaries of those that occur."""
    kind, objects, donors = rows["kind"], rows["object"], rows["donor"]
    # A perfect-sight attribute swap has no donor, only a number of another meaning in its place.
    columns = {
        "question_id": _dictionary(rows["question"], names.question_ids),
        "perturbation": pa.array(rows["number"]),
        "epoch": pa.array(rows["number"]),
        "image_id": _dictionary(names.question_images[rows["question"]], names.images),
        "object_id": _dictionary(objects, names.object_ids),
        "region_index": _numbers(names.object_regions[objects]),
        "kind": _dictionary(kind.astype(np.int32), pa.array(KINDS)),
        "swap_index": _nullable(rows["index"], kind == 0),
        "from_class": _dictionary(names.object_classes[objects], names.classes),
        "to_class": _dictionary(rows["to_class"], names.classes),
        "from_attribute": _dictionary(rows["from_attribute"], names.attributes),
        "to_attribute": _dictionary(rows["to_attribute"], names.attributes),
        "is_padding": pa.array(rows["is_padding"]),
        "donor_image_id": _dictionary(names.donor_images[donors], names.images),
        "donor_object_id": names.donor_objects.take(_nullable(donors, donors < 0)),
        "donor_region_index": _numbers(names.donor_regions[donors]),
    }
    return pa.table({name: columns[name] for name in schema.names})


def _numbers(found: Numbers) -> pa.Array:
    return _nullable(found.astype(np.uint32), found < 0)


def _nullable(values: NDArray[Any], is_null: NDArray[np.bool_]) -> pa.Array:
    is_there = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [is_there, pa.py_buffer(values)]
    )


def _dictionary(codes: Numbers, values: pa.Array) -> pa.Array:
    """Return ``values[codes]`` (null for -1) as an Arrow dictionary of the values that occur, in order."""
    used, places, is_there = distinct_codes(codes, len(values))
    return pa.DictionaryArray.from_arrays(_nullable(places, ~is_there), values.take(pa.array(used)))


def _text(series: pl.Series) -> pa.Array:
    return series.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(_TEXT)
