"""``shard`` and ``merge``: the steps before and after ``mine --shard``, which a job array runs."""

import dataclasses
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shortcut_miner.cli.console import note, print_json, print_text, progress, warn
from shortcut_miner.cli.kernels import DELIVERY, ROW_DIGESTS, watched
from shortcut_miner.cli.mine import RulesShown, show_mined
from shortcut_miner.cli.mine_options import DEFAULT_SEARCH, DEFAULT_TABLE, SearchOptions, TableOptions
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    SCALE,
    Compute,
    DryRun,
    Force,
    Memory,
    Out,
    Shards,
    Shown,
    Threads,
)
from shortcut_miner.cli.room import run_build
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import memory_bytes

if TYPE_CHECKING:
    from shortcut_miner.datasets.reports import BuildReport
    from shortcut_miner.timing import OnStage

KERNELS_TO_SHARD, KERNELS_TO_MERGE = (DELIVERY, ROW_DIGESTS, "rows"), ("filter",)


def shard(
    table: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    work: Annotated[Path, Parameter(group=SCALE)],
    reading: TableOptions = DEFAULT_TABLE,
    search: SearchOptions = DEFAULT_SEARCH,
    memory: Memory = None,
    shards: Shards = None,
    dry_run: Annotated[bool, Parameter(group=SCALE, negative=(), show_default=False)] = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Cut the search of a table into shards.

    Parameters
    ----------
    table : Path
        Parquet, CSV or JSONL with a row a transaction.
    work : Path
        Folder for the shards, on a disk that all machines share. Shards of an earlier call with the same rows
        and limits stay mined.
    dry_run : bool
        Do all the work, but leave nothing in --work.
    """
    with progress(shown) as told, watched(shown, told, KERNELS_TO_SHARD) as compiling:
        from shortcut_miner.cli.mined_rows import MineFiles, open_batches, read_in_files
        from shortcut_miner.datasets.folders import Run
        from shortcut_miner.mining.antecedents import SearchConfig
        from shortcut_miner.mining.executors import resolve_engine
        from shortcut_miner.mining.sharding.distribution import Distribution
        from shortcut_miner.mining.sharding.run import make_plan
        from shortcut_miner.work_folders import kept_folder, rehearsed_folder

        limits = SearchConfig(**dataclasses.asdict(search))
        where = Distribution(shards=shards, memory=memory_bytes(memory))
        batches = open_batches(table, reading)
        run = Run(MineFiles(table), on_stage=told and compiling.on_stage)
        config = dataclasses.asdict(reading) | dataclasses.asdict(search)
        with rehearsed_folder(work) if dry_run else kept_folder(work, {"command": "shard"}) as folder:
            read, rows = read_in_files(run, table, batches, config, folder)
            plan = make_plan(folder, rows, limits, where, resolve_engine(None))
            # Last: a step needs it, and so meets no rows of one call and the plan of another.
            read.write(folder)
    for text in read.facts.warnings:
        warn(text)
    count = len(plan.groups)
    if shown.format == "json":
        print_json({"rows": read.row_count, "shards": count})
    else:
        where_told = "(dry run)" if dry_run else f"in {work}"
        print_text(f"{count:,} shards of {read.row_count:,} rows {where_told}")
        if count:
            numbers = f"N from 0 to {count - 1:,}"
            note(shown, f"mine each, anywhere: shortcut-miner mine --work {work} --shard N, {numbers}")
        note(shown, f"then: shortcut-miner merge {work} --out DIR")
    return INCOMPLETE if read.facts.dropped else DONE


def merge(
    work: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    threads: Threads = None,
    backend: Compute = "auto",
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    show: Annotated[RulesShown, Parameter(name=("--show", "--limit"))] = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Put together what the shards of a table found.

    Parameters
    ----------
    work : Path
        The folder that shortcut-miner shard made, all of whose shards are mined.
    out : Path, optional
        Folder to write, with the same files as by shortcut-miner mine.
    """
    if out is not None and Path(os.path.realpath(out)).is_relative_to(os.path.realpath(work)):
        raise ConfigError(
            f"--out {out}: got a place in the shards' own folder, whose files come and go, expected another. "
            "Choose another name."
        )

    def run(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.cli.mined import COMMAND, FILE_NAMES, written_rules
        from shortcut_miner.cli.mined_rows import MineFiles, open_rows
        from shortcut_miner.datasets.folders import Run
        from shortcut_miner.mining.backends import resolve_backend
        from shortcut_miner.mining.search import rules_of
        from shortcut_miner.mining.sharding.plans import read_plan
        from shortcut_miner.mining.sharding.run import found_shards, merge_shards
        from shortcut_miner.mining.threads import thread_count
        from shortcut_miner.timing import timed
        from shortcut_miner.work_folders import many_runs_in

        chosen = resolve_backend(backend)
        with many_runs_in(work):
            read, rows = open_rows(work)
            told = Run(
                MineFiles(read.table), chosen.name, threads or thread_count(), on_stage=on_stage, force=force
            )
            told.check_out(target, COMMAND, read.config, FILE_NAMES)
            with timed(told.costs, "merge", on_stage):
                plan = read_plan(work)
                antecedents = merge_shards(work, plan, found_shards(work, plan))
        limits = dataclasses.replace(read.search, max_rules=plan.config.max_rules)
        found = rules_of(
            antecedents, rows.vocabulary, limits,
            threads=told.threads, backend=chosen, costs=told.costs, on_stage=on_stage,
        )  # fmt: skip
        return written_rules(told, read, rows, found, target, show)

    return run_build(
        run, out=out, dry_run=dry_run, shown=shown, needs_out=False, kernels=KERNELS_TO_MERGE,
        backend=backend, show=partial(show_mined, out=None if dry_run else out, limit=show),
    )  # fmt: skip
