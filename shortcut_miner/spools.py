"""Tables on disk while a run works: sorted, or told which keys they repeat, in bounded memory.

Each function takes a folder of its own, which need not exist. Sorted runs appear under their final names when
they are complete; what is told apart by keys is for one process.
"""

import contextlib
import itertools
import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from shortcut_miner.drafts import drafted, literal

Append = Callable[[pl.DataFrame], None]

BLOCK_ROWS = 131_072
BUCKETS = 64
_FIRST_KEYS, _SIZE = b"first keys", b"bytes"
# Of the memory given: what waits to be sorted, which sorting and writing hold some times.
_WAITING_SHARE = 8
_PARTS_OF_A_RUN = 256
_LEAST_PART_ROWS = 64
_BUCKET = "bucket of the key"
_SEED = 1  # of hashes within a bucket: those of which buckets are made share bits there
IPC_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@contextlib.contextmanager
def gathered(write: Append, *, memory: int, rows: int | None = None) -> Iterator[Append]:
    """Give a function that appends rows; `write` gets those of many calls as one frame, the last at the end.

    Parameters
    ----------
    write : callable
        Takes the frames.
    memory : int
        Bytes after which they are written.
    rows : int, optional
        Rows after which they are, too.
    """
    waiting: list[pl.DataFrame] = []
    held = count = 0

    def flush() -> None:
        nonlocal held, count
        whole = [pl.concat(waiting)]
        waiting.clear()
        held = count = 0
        write(whole.pop())  # which holds them alone, and frees them when it has made others of them

    def append(frame: pl.DataFrame) -> None:
        nonlocal held, count
        waiting.append(frame)
        held += int(frame.estimated_size())
        count += len(frame)
        if held >= memory or (rows is not None and count >= rows):
            flush()

    yield append
    if waiting:
        flush()


# ---- sorted ----


@contextlib.contextmanager
def sorted_runs(folder: Path, key: str, *, memory: int) -> Iterator[Append]:
    """Give a function that appends rows to a table for :func:`sorted_blocks`.

    Parameters
    ----------
    folder : Path
        Where the runs (rows in the order of their key, a part of the memory each) are written.
    key : str
        Column of texts without nulls.
    memory : int
        Bytes to take at most; one appended frame is small against it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers = itertools.count()

    def write(rows: pl.DataFrame) -> None:
        rows = rows.sort(key, maintain_order=True)
        _write_run(rows, key, folder / f"run-{next(numbers):06}.arrow")

    with gathered(write, memory=memory // _WAITING_SHARE) as append:
        yield append


def sorted_blocks(folder: Path, key: str, *, memory: int, rows: int = BLOCK_ROWS) -> Iterator[pl.DataFrame]:
    """Give the rows of :func:`sorted_runs` by rising key, at most `rows` at a time.

    Rows of one key come in the order in which they were appended, however many there are.
    """
    with contextlib.ExitStack() as stack:
        runs = [_open_run(path, stack) for path in sorted(folder.glob("run-*.arrow"))]
        parts = sorted(key for run in runs for key in run.first_keys)
        size = sum(run.size for run in runs) / max(1, len(parts))
        bounds = Counter(parts[:: max(1, int(memory / _WAITING_SHARE / max(1, size)))])
        ends: list[Any] = [*bounds, None]
        for low, high in itertools.pairwise(ends):
            if bounds[low] > 1:  # a key with more rows than fit: in order as they are
                for run in runs:
                    for part in run.parts(low, low):
                        yield from part.filter(pl.col(key) == low).iter_slices(rows)
            is_within = pl.col(key) > low if bounds[low] > 1 else pl.col(key) >= low
            is_within &= pl.lit(value=True) if high is None else pl.col(key) < high
            found = [part.filter(is_within) for run in runs for part in run.parts(low, high)]
            whole = pl.concat(found).sort(key, maintain_order=True)
            del found
            yield from whole.iter_slices(rows)


def _write_run(rows: pl.DataFrame, key: str, path: Path) -> None:
    part = max(_LEAST_PART_ROWS, -(-len(rows) // _PARTS_OF_A_RUN))
    first_keys = rows[key].gather_every(part).to_list()
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    told = {_FIRST_KEYS: json.dumps(first_keys), _SIZE: str(rows.estimated_size())}
    schema = table.schema.with_metadata(told)
    with (
        drafted(path) as draft,
        pa.OSFile(literal(draft), "wb") as file,
        pa.ipc.new_file(file, schema, options=IPC_OPTIONS) as writer,
    ):
        writer.write_table(table.replace_schema_metadata(schema.metadata).combine_chunks(), part)


@dataclass(frozen=True, slots=True)
class _Run:
    """A sorted file, open: its parts, each with its first key."""

    reader: Any
    first_keys: Sequence[str]
    size: int  # bytes in memory

    def parts(self, low: str, high: str | None) -> Iterator[pl.DataFrame]:
        """Give the parts that may hold keys from `low` up to `high`, and those after them."""
        first = max(0, bisect_left(self.first_keys, low) - 1)
        last = len(self.first_keys) if high is None else bisect_right(self.first_keys, high)
        for at in range(first, last):
            yield pl.DataFrame(pl.from_arrow(self.reader.get_batch(at)))


def _open_run(path: Path, stack: contextlib.ExitStack) -> _Run:
    # Not mapped into memory: pages of a mapped file count as the process's own.
    file = stack.enter_context(pa.OSFile(literal(path)))
    reader = stack.enter_context(pa.ipc.open_file(file))
    told = reader.schema.metadata
    return _Run(reader, json.loads(told[_FIRST_KEYS]), int(told[_SIZE]))


# ---- told apart by their keys ----


@contextlib.contextmanager
def key_buckets(folder: Path, key: str, *, memory: int, is_distinct: bool = False) -> Iterator[Append]:
    """Give a function that appends rows to a table for :func:`repeated_rows` and :func:`distinct_rows`.

    Rows of one key lie in one of 64 files, in the order in which they were appended.

    Parameters
    ----------
    folder : Path
        Where the files are written.
    key : str
        Column of texts; null is a key as well.
    memory : int
        Bytes to take at most; one appended frame is small against it.
    is_distinct : bool
        Equal rows may be written once: enough for :func:`distinct_rows`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        writers: dict[int, Any] = {}

        def write(rows: pl.DataFrame) -> None:
            rows = rows.unique() if is_distinct else rows
            bucket = (pl.col(key).hash() % BUCKETS).cast(pl.UInt8).alias(_BUCKET)
            rows = rows.with_columns(bucket).sort(_BUCKET, maintain_order=True)
            start = 0
            for number, count in rows.group_by(_BUCKET, maintain_order=True).len().iter_rows():
                table = rows.slice(start, count).drop(_BUCKET).to_arrow(compat_level=pl.CompatLevel.oldest())
                start += count
                if number not in writers:
                    file = stack.enter_context(
                        pa.OSFile(literal(folder / f"bucket-{number:02}.arrows"), "wb")
                    )
                    new = pa.ipc.new_stream(file, table.schema, options=IPC_OPTIONS)
                    writers[number] = stack.enter_context(new)
                writers[number].write_table(table, BLOCK_ROWS)

        with gathered(write, memory=memory // _WAITING_SHARE) as append:
            yield append


def distinct_rows(folder: Path) -> Iterator[pl.DataFrame]:
    """Give the rows of :func:`key_buckets`, equal ones once, a bucket at a time."""
    for bucket in _buckets(folder):
        found: pl.DataFrame | None = None
        for rows in _stream(bucket):
            found = (rows if found is None else pl.concat([found, rows])).unique()
        if found is not None:
            yield found


def repeated_rows(folder: Path, by: Sequence[str], number: str) -> Iterator[pl.DataFrame]:
    """Give the rows of :func:`key_buckets` whose `by` another row has too, in pieces.

    Parameters
    ----------
    folder : Path
        Of the buckets.
    by : sequence of str
        The key, and maybe further columns that must be equal too.
    number : str
        A column that numbers the rows, rising as they were appended.

    Yields
    ------
    DataFrame
        The columns that were appended, with ``times`` (UInt32): how many rows there are of this kind, and
        ``first`` and ``last``: their numbers. Rows of one kind are in order, others may stand between.
    """
    found = {"times": pl.col("times").sum(), "first": pl.col("first").min(), "last": pl.col("last").max()}
    for bucket in _buckets(folder):
        candidates = _hashes_twice(bucket, by[0])
        if candidates.is_empty():
            continue
        is_candidate = pl.col(by[0]).hash(_SEED).is_in(candidates.implode())
        counts: pl.DataFrame | None = None
        for rows in _stream(bucket):
            new = (
                rows.filter(is_candidate)
                .group_by(by)
                .agg(times=pl.len(), first=pl.col(number).min(), last=pl.col(number).max())
            )
            counts = new if counts is None else pl.concat([counts, new]).group_by(by).agg(**found)
        if counts is None or (repeated := counts.filter(pl.col("times") > 1)).is_empty():
            continue
        for rows in _stream(bucket):
            yield rows.join(
                repeated, on=by, how="inner", validate="m:1", nulls_equal=True, maintain_order="left"
            )


def _hashes_twice(bucket: Path, key: str) -> pl.Series:
    """Return the hashes that several keys of a bucket have: almost always equal keys, and seldom any."""
    seen = pl.Series(dtype=pl.UInt64)
    twice = [seen]
    for rows in _stream(bucket):
        hashes = rows[key].hash(_SEED)
        twice += [hashes.filter(hashes.is_duplicated()), hashes.filter(hashes.is_in(seen.implode()))]
        seen = pl.concat([seen, hashes]).unique()
    return pl.concat(twice).unique()


def _buckets(folder: Path) -> list[Path]:
    return sorted(folder.glob("bucket-*.arrows"))


def _stream(path: Path) -> Iterator[pl.DataFrame]:
    """Give the rows of a file, about a block at a time."""
    waiting: list[pl.DataFrame] = []
    rows = 0
    with pa.OSFile(literal(path)) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            waiting.append(pl.DataFrame(pl.from_arrow(batch)))
            rows += batch.num_rows
            if rows >= BLOCK_ROWS:
                yield pl.concat(waiting, rechunk=True)
                waiting, rows = [], 0
    if waiting:
        yield pl.concat(waiting, rechunk=True)
