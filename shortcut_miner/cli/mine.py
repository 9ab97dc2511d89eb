"""``mine``."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.console import note, print_json, print_text, progress, warn
from shortcut_miner.cli.kernels import DELIVERY, IN_SHARDS, ROW_DIGESTS, watched
from shortcut_miner.cli.mine_options import DEFAULT_SEARCH, DEFAULT_TABLE, SearchOptions, TableOptions
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INPUTS,
    OUTPUT,
    SCALE,
    Compute,
    DryRun,
    Force,
    Memory,
    Out,
    Shards,
    Shown,
    Threads,
    WhereToMine,
    Work,
)
from shortcut_miner.cli.room import run_build
from shortcut_miner.cli.rules import how_many, print_rules
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import BackendName, memory_bytes
from shortcut_miner.timing import cost_text

if TYPE_CHECKING:
    from shortcut_miner.datasets.reports import BuildReport
    from shortcut_miner.timing import OnStage

# What a search needs, with that of any --superset-filter, and what one of its shards needs.
KERNELS = ("bits", DELIVERY, "filter", "mine", ROW_DIGESTS, "rows", "space")
KERNELS_OF_A_SHARD = ("bits", DELIVERY, "mine", "rows", "space", IN_SHARDS)
RulesShown = Annotated[int, Parameter(group=OUTPUT, validator=Number(gte=0), help="Most rules to print.")]


def mine(
    table: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    reading: TableOptions = DEFAULT_TABLE,
    search: SearchOptions = DEFAULT_SEARCH,
    threads: Threads = None,
    backend: Compute = "auto",
    memory: Memory = None,
    executor: WhereToMine = None,
    shards: Shards = None,
    work: Work = None,
    shard: Annotated[int | None, Parameter(group=SCALE, validator=Number(gte=0))] = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    show: RulesShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Mine rules from a table.

    Parameters
    ----------
    table : Path, optional
        Parquet, CSV or JSONL with a row a transaction. Needed, except with --shard.
    shard : int, optional
        Mine one of the shards that shortcut-miner shard has made in --work, and nothing else: a step of a
        job array, as in --shard $SLURM_ARRAY_TASK_ID. The folder knows what to search.
    out : Path, optional
        Folder to write rules.parquet, manifest.json and run.json.
    """
    if shard is not None:
        others = (table, executor, shards, out, force or None, dry_run or None)
        if (*others, reading, search) != (*[None] * len(others), DEFAULT_TABLE, DEFAULT_SEARCH):
            raise ConfigError(
                "--shard: got options of a whole search too, expected --work, --threads, --backend and "
                "--memory only: the folder knows what to search. Leave the others out."
            )
        return _mine_shard(work, shard, threads, backend, memory, shown)
    if table is None:
        raise ConfigError(
            "TABLE: missing, expected a value. Give it, or --shard instead. See: shortcut-miner mine --help"
        )

    def run(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.cli.mined import mine_table
        from shortcut_miner.mining.sharding.distribution import Distribution

        where = Distribution(executor=executor, shards=shards, work=work, memory=memory_bytes(memory))
        return mine_table(
            table, reading, search, target,
            show=show, threads=threads, backend=backend, distribution=where, force=force, on_stage=on_stage,
        )  # fmt: skip

    in_shards = (memory, executor, shards, work) != (None, None, None, None)
    return run_build(
        run, out=out, dry_run=dry_run, shown=shown, needs_out=False, backend=backend,
        kernels=(*KERNELS, *[IN_SHARDS] * in_shards),
        show=partial(show_mined, out=None if dry_run else out, limit=show),
    )  # fmt: skip


def show_mined(
    report: "BuildReport", shown: Shown, wall_seconds: float, *, out: Path | None, limit: int
) -> None:
    """Print the rules that were mined, at most as many as ``--show`` says."""
    found, read = report.counts["rules"], report.counts["rows"]
    if shown.format == "json":
        document = {"rows": read, "total": found, "is_complete": report.is_complete}
        print_json(document | {"rules": report.tables["first_rules"].to_dicts()})
        return
    print_rules(report.tables["first_rules"])
    note(shown, f"{how_many(found, limit, '--show')}, from {read:,} rows")
    if out is not None:
        note(shown, f"written: {out}")
    note(shown, f"took {cost_text(report.costs, wall_seconds)}")


def _mine_shard(
    work: Path | None,
    shard: int,
    threads: int | None,
    backend: BackendName,
    memory: str | None,
    shown: Shown,
) -> int:
    """Mine one shard of a work folder, if it is not mined yet, and say so."""
    if work is None:
        raise ConfigError(
            "--shard: got no --work, expected the folder that shortcut-miner shard made. Give --work DIR too."
        )
    with progress(shown) as told, watched(shown, told, KERNELS_OF_A_SHARD):
        from shortcut_miner.cli.mined_rows import open_rows
        from shortcut_miner.mining.sharding.jobs import ShardJob, excess_text, mine_shard
        from shortcut_miner.mining.sharding.plans import read_plan
        from shortcut_miner.work_folders import many_runs_in

        with many_runs_in(work):  # rows and plan stay those of one call
            _, rows = open_rows(work, names=False)
            groups = read_plan(work).groups
            if shard >= len(groups):
                numbers = f", 0 to {len(groups) - 1:,}" if groups else ""
                raise ConfigError(
                    f"--shard: got {shard}, expected one of the {len(groups):,} shards in {work}{numbers}. "
                    "Change --shard."
                )
            needed = mine_shard(
                ShardJob(
                    folder=work,
                    rows=rows,
                    group=groups[shard],
                    backend=backend,
                    threads=threads,
                    memory=memory_bytes(memory),
                )
            )
    if needed:
        warn(excess_text(needed))
    if shown.format == "json":
        print_json({"shard": shard, "shards": len(groups)})
    else:
        print_text(f"shard {shard} of {len(groups):,} in {work} is mined")
    return DONE
