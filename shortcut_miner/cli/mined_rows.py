"""A table's rows to mine: in memory, or read in batches to files of a folder, for a table of any size."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import polars as pl

from shortcut_miner.cli.mine_options import TableOptions
from shortcut_miner.datasets.folders import Run
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.encoding import encode_item_table
from shortcut_miner.encoding_batches import encode_item_batches
from shortcut_miner.errors import SourceError
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.row_files import RowFiles, open_row_files
from shortcut_miner.sources.item_batches import ItemBatches
from shortcut_miner.sources.item_tables import Columns, open_items
from shortcut_miner.sources.opening.column_pieces import comes_in_pieces
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.timing import timed
from shortcut_miner.transactions import Transactions
from shortcut_miner.work_folders import finish_part, finished_part

_RECORD, _ROWS = "table.json", "rows"


@dataclasses.dataclass(frozen=True, slots=True)
class MineFiles:
    """The inputs of ``mine``."""

    table: Path


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadTable:
    """What was read of a table, beside the rows themselves.

    Attributes
    ----------
    table : Path
        The file.
    row_count : int
        Rows to mine.
    config : dict
        Options as a manifest has them, and so a search's: ``min_count`` and so on.
    facts : InputFacts
        The rest of what a manifest says.
    """

    table: Path
    row_count: int
    config: dict[str, Any]
    facts: InputFacts

    @classmethod
    def of(cls, reading: Reading, row_count: int, path: Path, config: Mapping[str, Any]) -> Self:
        """Return what a manifest says of a reading."""
        skipped = [f"{count:,} {reason} were skipped" for reason, count in reading.dropped.items()]
        facts = InputFacts.of({"table": reading}, skipped)
        return cls(table=path, row_count=row_count, config=dict(config), facts=facts)

    @property
    def search(self) -> SearchConfig:
        """What to mine, and which rules to keep."""
        names = (field.name for field in dataclasses.fields(SearchConfig))
        return SearchConfig(**{name: self.config[name] for name in names})

    def write(self, folder: Path) -> None:
        """Write it to a folder of rows; :func:`open_rows` reads it."""
        told = dataclasses.asdict(self) | {"table": str(self.table.resolve())}
        finish_part(folder, _RECORD, told, [_ROWS])

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what was written to a folder of rows; see :func:`open_rows` for errors."""
        told = finished_part(folder, _RECORD, check_files=False)
        if told is None:
            raise SourceError(
                f"{folder / _RECORD}: got none that is whole, expected what shortcut-miner shard writes. "
                "Run it again."
            )
        return cls(
            table=Path(told["table"]),
            row_count=told["row_count"],
            config=told["config"],
            facts=InputFacts.of_json(told["facts"]),
        )


def open_batches(path: Path, reading: TableOptions) -> ItemBatches:
    """Return a table, opened; see :func:`shortcut_miner.sources.item_tables.read_table` for errors."""
    columns = Columns(**{field.name: getattr(reading, field.name) for field in dataclasses.fields(Columns)})
    file, flat = open_items(path, columns)
    return ItemBatches(
        file=file, flat=flat, columns=columns, skip_bad_rows=reading.on_bad_row == "skip", limit=reading.limit
    )


def go_to_files(batches: ItemBatches, distribution: Distribution) -> bool:
    """Return whether a table's rows go to files: when that is asked for, or they don't fit in memory.

    Files of other forms than Parquet and Arrow are in memory when they are opened.
    """
    flat = batches.flat
    total = flat.total if batches.limit is None else min(flat.total, batches.limit)
    return distribution.needs_files(total if comes_in_pieces(flat) else 0)


def read_in_memory(
    run: Run, path: Path, batches: ItemBatches, config: Mapping[str, Any]
) -> tuple[ReadTable, Transactions]:
    """Return what was read of a table, and its rows."""
    with timed(run.costs, f"read {path}", run.on_stage):
        whole = batches.whole()
        read = ReadTable.of(whole, len(whole.table), path, config)
    with timed(run.costs, "encode", run.on_stage):
        rows = encode_item_table(whole.table.with_columns(weight=pl.lit(1, pl.Int64)))
    return read, rows


def read_in_files(
    run: Run, path: Path, batches: ItemBatches, config: Mapping[str, Any], folder: Path
) -> tuple[ReadTable, RowFiles]:
    """Return what was read of a table, and its rows in files of a folder, which is complete then.

    Memory grows with the distinct items and answers, not with the rows.
    """
    (folder / _RECORD).unlink(missing_ok=True)
    with timed(run.costs, f"read {path}", run.on_stage):
        rows = encode_item_batches(batches.batches(), folder / _ROWS)
        read = ReadTable.of(batches.reading, rows.transaction_count, path, config)
    return read, rows


def are_there(folder: Path) -> bool:
    """Return whether a folder of rows is complete, and as it was written."""
    return finished_part(folder, _RECORD) is not None


def open_rows(folder: Path, *, names: bool = True) -> tuple[ReadTable, RowFiles]:
    """Return what was read of a table whose rows are in a folder, and the rows.

    Raises
    ------
    SourceError
        There are none, or damaged ones.
    """
    return ReadTable.read(folder), open_row_files(folder / _ROWS, names=names)
