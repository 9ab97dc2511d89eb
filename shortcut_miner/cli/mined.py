"""What ``mine`` does with a table, and what ``merge`` does at its end: the folder of rules."""

import contextlib
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from shortcut_miner.cli.mine_options import SearchOptions, TableOptions
from shortcut_miner.cli.mined_rows import (
    MineFiles,
    ReadTable,
    are_there,
    go_to_files,
    open_batches,
    open_rows,
    read_in_files,
    read_in_memory,
)
from shortcut_miner.datasets.folders import Run, publish, write_blocks, write_manifest
from shortcut_miner.datasets.reports import BuildReport
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.backends import resolve_backend
from shortcut_miner.mining.frames.rules import rule_blocks, rules_table
from shortcut_miner.mining.search import FoundRules, cut_text, search_rules
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.options import BackendName
from shortcut_miner.storage import Provenance
from shortcut_miner.timing import OnStage
from shortcut_miner.transactions import RowBlocks
from shortcut_miner.work_folders import work_folder

COMMAND, FILE_NAMES = "mine", ("rules.parquet",)


def mine_table(
    path: Path,
    reading: TableOptions,
    search: SearchOptions,
    out: Path | None,
    *,
    show: int,
    threads: int | None,
    backend: BackendName,
    distribution: Distribution,
    force: bool,
    on_stage: OnStage | None,
) -> BuildReport:
    """Mine a table, write the folder of rules, and return the report with the first `show` of them."""
    limits = SearchConfig(**asdict(search))
    config = asdict(reading) | asdict(search)
    chosen = resolve_backend(backend)
    run = Run(
        MineFiles(path), chosen.name, threads or thread_count(), on_stage=on_stage, force=force,
        executor=distribution.executor_name, limits=distribution.limits,
    )  # fmt: skip
    run.check_out(out, COMMAND, config, FILE_NAMES)
    batches = open_batches(path, reading)
    rows: RowBlocks
    with contextlib.ExitStack() as stack:
        if go_to_files(batches, distribution):
            table = asdict(batches.file.facts())
            purpose = {"command": COMMAND, "options": config, "table": table}
            folder = stack.enter_context(work_folder(out, purpose, distribution.work))
            distribution = replace(distribution, work=folder / "shards")
            if not are_there(folder):
                read_in_files(run, path, batches, config, folder)[0].write(folder)
            read, rows = open_rows(folder)
        else:
            read, rows = read_in_memory(run, path, batches, config)
        warnings: list[str] = []
        found = search_rules(
            rows, limits, allow_incomplete=True, distribution=distribution,
            threads=run.threads, backend=chosen, costs=run.costs, on_stage=on_stage,
            counts=run.limits, warnings=warnings,
        )  # fmt: skip
        facts = replace(read.facts, warnings=(*read.facts.warnings, *warnings))
        return written_rules(run, replace(read, facts=facts), rows, found, out, show)


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
    facts = replace(read.facts, warnings=tuple(warnings))
    provenance = Provenance(
        command=COMMAND,
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
