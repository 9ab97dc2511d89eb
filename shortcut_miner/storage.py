"""Writing results so that a reader can trust them: sorted by the caller, with provenance.

Every Parquet file says in its metadata where it came from; ``manifest.json`` says the same for the folder,
``run.json`` what this particular run cost. How files get their final names is in
:mod:`shortcut_miner.publishing`.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.columnar import COLUMNAR_ERRORS, read_metadata
from shortcut_miner.drafts import literal
from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.version import __version__

METADATA_KEY = "shortcut_miner"
MANIFEST = "manifest.json"
RUN_RECORD = "run.json"
LEAK_RECORD = "leak.json"
# What the manifest does not list: their bytes may differ from run to run.
UNLISTED = (RUN_RECORD, LEAK_RECORD)
# Polars' Parquet bytes depend on the thread count unless the row groups are fixed.
ROW_GROUP_SIZE = 131_072
_MOST_DIGITS = 17  # of a number that with its length fits in 63 bits
_FEW_DIGITS = rf"^[0-9]{{1,{_MOST_DIGITS}}}$"
_HALVES = re.compile("[\ud800-\udfff]")
PROVENANCE_ERRORS = (*COLUMNAR_ERRORS, RecursionError)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InputRecord:
    """What was read: the file as bytes, and its content whatever the order of its rows.

    Attributes
    ----------
    role : str
        The option that named the file, such as ``train_questions``.
    name : str
        File name without its folder.
    size : int
        Bytes on disk.
    sha256 : str
        SHA-256 of the file's bytes, as ``sha256sum`` prints it.
    content_sha256 : str
        SHA-256 of the table read from it, sorted by key (see :func:`table_sha256`).
    """

    role: str
    name: str
    size: int
    sha256: str
    content_sha256: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a result depends on: version, command, configuration, inputs, and what was dropped."""

    command: str
    config: Mapping[str, Any]
    inputs: Sequence[InputRecord]
    counts: Mapping[str, int]
    dropped: Mapping[str, int]

    def for_table(self) -> dict[str, Any]:
        """Return what goes into a Parquet file: everything that row order does not change."""
        return {
            "package": "shortcut_miner",
            "version": __version__,
            "command": self.command,
            "config": dict(self.config),
            "inputs": [
                {"role": one.role, "name": one.name, "content_sha256": one.content_sha256}
                for one in self.inputs
            ],
            "counts": dict(self.counts),
            "dropped": dict(self.dropped),
        }

    def for_manifest(self) -> dict[str, Any]:
        """Return what goes into ``manifest.json``: the same, with each input file's bytes hashed."""
        return self.for_table() | {"inputs": [dataclasses.asdict(one) for one in self.inputs]}


def table_sha256(frame: pl.DataFrame, key: str | Sequence[str]) -> str:
    """Return a SHA-256 of a table that depends on its rows but not on their order.

    Rows are sorted by `key` (unique, or the promise does not hold); of each column its name, type,
    null mask, lengths and values are hashed, so two tables share a digest only if they are equal.
    """
    digest = hashlib.sha256()
    order = row_order(frame, key)
    for column in frame.get_columns():  # sorted one after another: a sorted copy of all takes memory twice
        digest.update(f"{column.name}:{column.dtype}:{len(column)};".encode())
        for part in _column_bytes(column.rechunk().gather(order)):  # from pieces it takes many times as long
            digest.update(part)
    return digest.hexdigest()


def row_order(frame: pl.DataFrame, key: str | Sequence[str]) -> pl.Series:
    """Return the numbers of a table's rows, sorted by one column or several.

    Where rows of the same first value are next to each other, sorted by the second, only these runs are
    sorted.
    """
    first, *further = [key] if isinstance(key, str) else key
    if not further:
        return _order(pl.DataFrame({"key 0": _sorting_alike(frame[first])}))
    runs = frame[first].rle().struct.unnest()
    if 2 * len(runs) >= len(frame) or runs["value"].n_unique() < len(runs):
        return _order(frame.select(_ranks(frame, [first, *further])))
    lengths = runs["len"].to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    order = _order(pl.DataFrame({"key 0": _sorting_alike(runs["value"])})).to_numpy()
    ascends = frame.select((pl.col(further[0]) > pl.col(further[0]).shift()).fill_null(False)).to_series()
    if int(ascends.scatter(starts, True).sum()) == len(frame):
        sizes = lengths[order]
        ends = np.cumsum(sizes)
        return pl.Series(np.repeat(starts[order] + sizes - ends, sizes) + np.arange(len(frame)))
    places = np.empty(len(runs), np.uint32)
    places[order] = np.arange(len(runs), dtype=np.uint32)
    return _order(frame.select(pl.Series("runs", np.repeat(places, lengths)), *_ranks(frame, further)))


def _order(keys: pl.DataFrame) -> pl.Series:
    """Return the numbers of rows sorted by all columns, equal ones as they stand."""
    return keys.with_row_index("row").sort(keys.columns, maintain_order=True)["row"]


def _sorting_alike(column: pl.Series) -> pl.Series:
    """Return a column that sorts as another one: of texts of few digits numbers, in a fourth of the time.

    >>> texts = pl.Series(["10", "9", "1", "010"])
    >>> _sorting_alike(texts).arg_sort().to_list() == texts.arg_sort().to_list() == [3, 2, 0, 1]
    True
    """
    if column.dtype != pl.String or column.null_count() or not column.str.contains(_FEW_DIGITS).all():
        return column
    lengths = column.str.len_bytes().to_numpy()
    padded = 10 ** np.arange(_MOST_DIGITS, -1, -1)  # zeros behind them: of equal ones the shorter is first
    return pl.Series(column.str.to_integer().to_numpy() * padded[lengths] * (_MOST_DIGITS + 1) + lengths)


def _ranks(frame: pl.DataFrame, names: Sequence[str]) -> list[pl.Expr]:
    """Return what sorts as some columns do, texts as numbers: of several columns in half of the time."""
    return [
        (
            pl.col(name).cast(pl.Enum(frame[name].drop_nulls().unique().sort())).to_physical()
            if frame[name].dtype == pl.String
            else pl.col(name)
        ).alias(f"key {at}")
        for at, name in enumerate(names)
    ]


def _column_bytes(column: pl.Series) -> Iterator[bytes | memoryview]:
    yield column.is_null().cast(pl.UInt8).to_numpy().data
    if isinstance(column.dtype, pl.List):
        yield column.list.len().fill_null(0).cast(pl.UInt32).to_numpy().data
        yield from _column_bytes(column.filter(column.list.len() > 0).explode())
    elif column.dtype == pl.String:
        yield column.str.len_bytes().fill_null(0).cast(pl.UInt32).to_numpy().data
        yield _text_bytes(column.drop_nulls().rechunk())
    else:
        yield column.fill_null(0).to_numpy().tobytes()


def _text_bytes(column: pl.Series) -> memoryview:
    """Return the bytes of all texts of a column in one piece, one after another."""
    texts = column.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, content = texts.buffers()
    if content is None:
        return memoryview(b"")
    first, end = np.frombuffer(offsets, np.int64)[[texts.offset, texts.offset + len(texts)]]
    return memoryview(content)[first:end]


def write_parquet(frame: pl.DataFrame, path: Path, provenance: Provenance) -> None:
    """Write one table with fixed row groups and its provenance under ``shortcut_miner``."""
    metadata = {METADATA_KEY: json.dumps(provenance.for_table(), sort_keys=True)}
    # Through memory: writing to a path, Polars tells a full disk as a ComputeError about the format.
    packed = io.BytesIO()
    frame.write_parquet(packed, row_group_size=ROW_GROUP_SIZE, compression="zstd", metadata=metadata)
    path.write_bytes(packed.getbuffer())


@contextlib.contextmanager
def parquet_stream(path: Path, provenance: Provenance) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Give a function that appends rows to one Parquet file, in row groups of the fixed size.

    For tables that never fit in memory as a whole. The first frame, maybe without rows, has the columns; the
    bytes don't depend on how rows are cut into calls, of which there is one at least.
    """
    metadata = {METADATA_KEY: json.dumps(provenance.for_table(), sort_keys=True)}
    waiting: list[pl.DataFrame] = []
    writers: list[pq.ParquetWriter] = []
    with contextlib.ExitStack() as stack:

        def open_like(rows: pl.DataFrame) -> None:
            schema = rows.clear().to_arrow(compat_level=pl.CompatLevel.oldest()).schema
            # The file is closed here: after an error the writer would keep it open.
            file = stack.enter_context(pa.OSFile(literal(path), "wb"))
            new = pq.ParquetWriter(file, schema.with_metadata(metadata), compression="zstd")
            writers.append(stack.enter_context(new))

        def write_groups(rows: pl.DataFrame, least: int) -> None:
            while len(rows) >= least and len(rows):
                # In one piece: where pieces meet, a page of the file ends.
                whole = rows.head(ROW_GROUP_SIZE).rechunk()
                group = whole.to_arrow(compat_level=pl.CompatLevel.oldest())
                writers[0].write_table(group, row_group_size=ROW_GROUP_SIZE)
                rows = rows.slice(ROW_GROUP_SIZE)
            waiting[:] = [rows]

        def append(rows: pl.DataFrame) -> None:
            if not writers:
                open_like(rows)
            write_groups(pl.concat([*waiting, rows]), ROW_GROUP_SIZE)

        yield append
        if waiting:
            write_groups(waiting[0], 1)


def read_provenance(path: Path) -> dict[str, Any]:
    """Return the provenance that :func:`write_parquet` stored in a Parquet file; {} if it has none.

    Raises
    ------
    One of PROVENANCE_ERRORS
        The file is no Parquet, or what it stores is no such provenance.
    """
    stored = read_metadata(path).get(METADATA_KEY.encode())
    return checked_provenance(json.loads(stored)) if stored else {}


def checked_provenance(found: object) -> dict[str, Any]:
    """Return what a manifest or a table's metadata says; raise ValueError for another shape than ours."""
    kinds = {"config": dict, "counts": dict, "dropped": dict, "inputs": list}
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    if odd := [name for name, kind in kinds.items() if not isinstance(found.get(name, kind()), kind)]:
        raise ValueError(f"{odd[0]} of another shape than it was written in")
    numbers = [one for name in ("counts", "dropped") for one in found.get(name, {}).values()]
    if not all(isinstance(one, int) for one in numbers):
        raise ValueError("counts that are no whole numbers")
    if not all(isinstance(one, dict) and {"role", "name"} <= one.keys() for one in found.get("inputs", ())):
        raise ValueError("inputs that have no role or name")
    return found


def write_json(value: object, path: Path) -> None:
    """Write `value` as readable JSON with sorted keys and a final newline.

    Names of files that are no UTF-8 are halves of surrogate pairs to Python: as escapes they are read back.
    """
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(_HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n", encoding="utf-8")


def read_json_file(path: Path) -> Any:
    """Return the JSON value of one of our own files, or raise SourceError naming it."""
    try:
        if not path.is_file():  # a pipe would never end; what is missing is told as such
            path.stat()
            raise OSError("no regular file")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(
            f"{path}: got {error.strerror or error}, expected a file written by shortcut-miner. "
            "Give the folder that a build command wrote."
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{path}: got broken JSON ({reason_of(error)}), expected a file written by shortcut-miner. "
            "Run the build again."
        ) from error
