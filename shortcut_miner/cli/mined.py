"""What ``mine``, ``shard`` and ``merge`` share: a table's rows to mine, and the folder of rules."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shortcut_miner.datasets.folders import Run, publish, write_blocks, write_manifest
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.reports import BuildReport
from shortcut_miner.encoding import encode_item_table
from shortcut_miner.encoding_batches import encode_item_batches
from shortcut_miner.errors import SourceError
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.frames.rules import rule_blocks, rules_table
from shortcut_miner.mining.search import FoundRules, cut_text
from shortcut_miner.options import OnBadRow
from shortcut_miner.row_files import open_row_files
from shortcut_miner.sources.item_tables import Columns, read_table
from shortcut_miner.storage import InputRecord, Provenance, read_json_file, write_json
from shortcut_miner.timing import timed
from shortcut_miner.transactions import RowBlocks

if TYPE_CHECKING:
    import polars as pl

RECORD = "table.json"
_ROWS = "rows"
_ROWS_A_BATCH = 1 << 16


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

    @property
    def search(self) -> SearchConfig:
        """What to mine, and which rules to keep."""
        names = (field.name for field in dataclasses.fields(SearchConfig))
        return SearchConfig(**{name: self.config[name] for name in names})

    def write(self, folder: Path) -> None:
        """Write it to a work folder; :meth:`read` reads it."""
        told = dataclasses.asdict(self) | {"table": str(self.table.resolve())}
        draft = folder / f".{RECORD}.part"
        write_json(told, draft)
        draft.replace(folder / RECORD)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what was written to a work folder.

        Raises
        ------
        SourceError
            It has none, or a damaged one.
        """
        path = folder / RECORD
        try:
            told = read_json_file(path)
            facts = told["facts"]
            records = tuple(InputRecord(**record) for record in facts["records"])
            lists = {name: tuple(facts[name]) for name in ("notes", "warnings")}
            return cls(
                table=Path(told["table"]),
                row_count=told["row_count"],
                config=told["config"],
                facts=InputFacts(records=records, dropped=facts["dropped"], **lists),
            )
        except (LookupError, TypeError, AttributeError) as error:
            raise SourceError(
                f"{path}: got another shape, expected what shortcut-miner shard writes. Run it again."
            ) from error


def read_rows(
    run: Run,
    table: Path,
    columns: Columns,
    options: Mapping[str, Any],
    *,
    on_bad_row: OnBadRow,
    limit: int | None,
    folder: Path | None,
) -> tuple[ReadTable, RowBlocks]:
    """Return what was read of a table, and its rows: in memory, or in files of a work folder."""
    with timed(run.costs, f"read {table}", run.on_stage):
        read = read_table(table, columns, skip_bad_rows=on_bad_row == "skip", limit=limit)
        skipped = [f"{count:,} {reason} were skipped" for reason, count in read.dropped.items()]
        facts = InputFacts.of({"table": read}, skipped)
    with timed(run.costs, "encode", run.on_stage):
        rows = _encoded(read.table, folder)
    return ReadTable(
        table=table,
        row_count=len(read.table),
        config=table_config(columns, options, on_bad_row, limit),
        facts=facts,
    ), rows


def table_config(
    columns: Columns, options: Mapping[str, Any], on_bad_row: OnBadRow, limit: int | None
) -> dict[str, Any]:
    """Return the options as a manifest has them."""
    return dataclasses.asdict(columns) | {**options, "on_bad_row": on_bad_row, "limit": limit}


def _encoded(table: "pl.DataFrame", folder: Path | None) -> RowBlocks:
    import polars as pl

    if folder is None:
        return encode_item_table(table.with_columns(weight=pl.lit(1, pl.Int64)))
    return encode_item_batches(table.iter_slices(_ROWS_A_BATCH), folder / _ROWS)


def read_encoded(folder: Path, *, names: bool) -> RowBlocks:
    """Return the rows in a work folder."""
    return open_row_files(folder / _ROWS, names=names)


def written_rules(
    run: Run, read: ReadTable, rows: RowBlocks, found: FoundRules, out: Path | None, show: int
) -> BuildReport:
    """Write the folder of rules, and return the report with the first `show` of them."""
    config, warnings = dict(read.config), list(read.facts.warnings)
    is_derived = config["max_rules"] is None
    if is_derived:
        run.limits["max_rules"] = found.max_rules
    if not found.is_complete:
        warnings.append(cut_text(found.max_rules, derived=is_derived))
        config["max_rules"] = found.max_rules
    facts = dataclasses.replace(read.facts, warnings=tuple(warnings))
    provenance = Provenance(
        command="mine",
        config=config,
        inputs=facts.records,
        counts={"rows": read.row_count, "rules": len(found.rules)},
        dropped=facts.dropped,
    )
    encoded = (rows.vocabulary, rows.transaction_count)

    def write(folder: Path) -> None:
        write_blocks(folder, provenance, "rules", rule_blocks(found.rules, *encoded))
        write_manifest(folder, provenance, {"is_complete": found.is_complete})

    if out is not None:
        publish(out, run, write, notes=facts.notes, warnings=facts.warnings)
    return BuildReport.of(
        run,
        facts,
        provenance,
        out=None,
        figures={},
        words={"rules": f"{len(found.rules):,} from {read.row_count:,} rows"},
        tables={"first_rules": lambda: rules_table(found.rules.take(np.s_[:show]), *encoded)},
        is_complete=found.is_complete,
    )
