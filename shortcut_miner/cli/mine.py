"""``mine``."""

import contextlib
import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.console import note, print_json, print_text, progress
from shortcut_miner.cli.kernels import ROW_DIGESTS, watched
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INPUTS,
    METHOD,
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
from shortcut_miner.options import BackendName, OnBadRow, SupersetFilter, memory_bytes
from shortcut_miner.timing import cost_text

if TYPE_CHECKING:
    from shortcut_miner.datasets.reports import BuildReport
    from shortcut_miner.mining.sharding.run import Distribution
    from shortcut_miner.sources.item_tables import Columns
    from shortcut_miner.timing import OnStage

Column = Annotated[str | None, Parameter(group=INPUTS)]
Choose = Parameter(group=METHOD)
# What --superset-filter needs beside the search's own.
KERNELS = ("filter", "mine", "pairs", ROW_DIGESTS, "rows", "space", "suffixes")


def mine(
    table: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    words: Column = None,
    objects: Column = None,
    item_columns: Column = None,
    answer: Annotated[str, Parameter(group=INPUTS)] = "answer",
    separator: Annotated[str, Parameter(group=INPUTS)] = ",",
    on_bad_row: Annotated[OnBadRow, Parameter(group=INPUTS)] = "error",
    rows: Annotated[int | None, Parameter(name="--limit", group=INPUTS, validator=Number(gte=1))] = None,
    min_count: Annotated[int, Choose] = 8,
    max_antecedent: Annotated[int, Choose] = 4,
    min_confidence: Annotated[float, Choose] = 0.3,
    superset_filter: Annotated[SupersetFilter, Choose] = "none",
    empty_rule: Annotated[bool, Parameter(group=METHOD, negative=(), show_default=False)] = False,
    max_rules: Annotated[int | None, Choose] = None,
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
    show: Annotated[int, Parameter(group=OUTPUT, validator=Number(gte=0))] = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Mine rules from a table.

    Parameters
    ----------
    table : Path, optional
        Parquet, CSV or JSONL with a row a transaction. Needed, except with --shard.
    words : str, optional
        Column of words: lists of text, or text that is split as VQA-CE splits questions.
    objects : str, optional
        Column of labels: lists of text, nested or written as text (JSON, Python), or labels with --separator
        between them.
    item_columns : str, optional
        Further columns, with commas between, whose values are items too, such as genre,source.
    answer : str
        Column of answers (classes): text or whole numbers.
    separator : str
        Between labels in a text.
    on_bad_row : str
        Stop at rows without an answer, or count and skip them (exit code 3).
    rows : int, optional
        Use the first rows only, to try things out.
    min_count : int
        Least rows with antecedent and answer together.
    max_antecedent : int
        Most items of an antecedent, 1 to 8.
    min_confidence : float
        Least confidence of a rule, 0 to 1.
    superset_filter : str
        Drop a rule when a subset of its antecedent (one item smaller, any) is as confident.
    empty_rule : bool
        Count "nothing -> the most common answer" as a rule.
    max_rules : int, optional
        Stop mining at this many antecedents, those of the most frequent items first, with exit code 3;
        default: as many as fit in memory.
    shard : int, optional
        Mine one of the shards that shortcut-miner shard has made in --work, and nothing else: a step of a
        job array, as in --shard $SLURM_ARRAY_TASK_ID. The folder knows what to search.
    out : Path, optional
        Folder to write rules.parquet, manifest.json and run.json.
    show : int
        Most rules to print.
    """
    if shard is not None:
        return _mine_shard(table, work, shard, threads, backend, memory, shown)
    if table is None:
        raise ConfigError(
            "TABLE: missing, expected a value. Give it, or --shard instead. See: shortcut-miner mine --help"
        )
    options: dict[str, Any] = {
        "min_count": min_count,
        "max_antecedent": max_antecedent,
        "min_confidence": min_confidence,
        "superset_filter": superset_filter,
        "empty_rule": empty_rule,
        "max_rules": max_rules,
    }

    def run(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.mining.sharding.run import Distribution
        from shortcut_miner.sources.item_tables import Columns

        return _mine(
            table,
            Columns(
                words=words, objects=objects, answer=answer, separator=separator, item_columns=item_columns
            ),
            options,
            target,
            show,
            on_bad_row=on_bad_row,
            limit=rows,
            threads=threads,
            backend=backend,
            distribution=Distribution(
                executor=executor, shards=shards, work=work, memory=memory_bytes(memory)
            ),
            force=force,
            on_stage=on_stage,
        )

    return run_build(
        run, out=out, dry_run=dry_run, shown=shown, kernels=KERNELS, backend=backend,
        show=partial(show_mined, out=None if dry_run else out, limit=show, option="--show"),
    )  # fmt: skip


def show_mined(
    report: "BuildReport", shown: Shown, wall_seconds: float, *, out: Path | None, limit: int, option: str
) -> None:
    """Print the rules that were mined, of which `option` says how many to print at most."""
    found, read = report.counts["rules"], report.counts["rows"]
    if shown.format == "json":
        document = {"rows": read, "total": found, "is_complete": report.is_complete}
        print_json(document | {"rules": report.tables["first_rules"].to_dicts()})
        return
    print_rules(report.tables["first_rules"])
    note(shown, f"{how_many(found, limit, option)}, from {read:,} rows")
    if out is not None:
        note(shown, f"written: {out}")
    note(shown, f"took {cost_text(report.costs, wall_seconds)}")


def _mine(
    table: Path,
    columns: "Columns",
    options: dict[str, Any],
    out: Path | None,
    show: int,
    *,
    on_bad_row: OnBadRow,
    limit: int | None,
    threads: int | None,
    backend: BackendName,
    distribution: "Distribution",
    force: bool,
    on_stage: "OnStage | None",
) -> "BuildReport":
    from shortcut_miner.cli.mined import MineFiles, read_rows, table_config, written_rules
    from shortcut_miner.datasets.folders import Run
    from shortcut_miner.mining.antecedents import SearchConfig
    from shortcut_miner.mining.backends import resolve_backend
    from shortcut_miner.mining.executors import resolve_engine
    from shortcut_miner.mining.search import search_rules
    from shortcut_miner.mining.sharding.run import work_folder
    from shortcut_miner.mining.threads import thread_count

    search = SearchConfig(**options)
    chosen = resolve_backend(backend)
    run = Run(
        MineFiles(table), chosen.name, threads or thread_count(), on_stage=on_stage, force=force,
        executor=None if distribution.executor is None else resolve_engine(distribution.executor).name,
    )  # fmt: skip
    config = table_config(columns, options, on_bad_row, limit)
    run.check_out(out, "mine", config, ("rules.parquet",))
    with contextlib.ExitStack() as stack:
        folder = None
        if distribution.is_asked or distribution.memory is not None:
            folder = stack.enter_context(work_folder(distribution.work))
            distribution = dataclasses.replace(distribution, work=folder)
        read, rows = read_rows(
            run, table, columns, options, on_bad_row=on_bad_row, limit=limit, folder=folder
        )
        found = search_rules(
            rows, search, allow_incomplete=True, distribution=distribution,
            threads=run.threads, backend=chosen, costs=run.costs, on_stage=on_stage,
        )  # fmt: skip
        return written_rules(run, read, rows, found, out, show)


def _mine_shard(
    table: Path | None,
    work: Path | None,
    shard: int,
    threads: int | None,
    backend: BackendName,
    memory: str | None,
    shown: Shown,
) -> int:
    """Mine one shard of a work folder, if it is not mined yet, and say so."""
    if work is None or table is not None:
        raise ConfigError(
            f"--shard: got {'no --work' if work is None else 'a table too'}, expected the shards' folder "
            "alone. Give --work DIR and --shard N only."
        )
    with progress(shown) as told, watched(shown, told, KERNELS):
        from shortcut_miner.cli.mined import read_encoded
        from shortcut_miner.mining.sharding.jobs import ShardJob, mine_shard
        from shortcut_miner.mining.sharding.plans import read_plan

        groups = read_plan(work).groups
        if shard >= len(groups):
            raise ConfigError(
                f"--shard: got {shard}, expected one of the {len(groups):,} shards in {work}, 0 to "
                f"{len(groups) - 1:,}. Change --shard."
            )
        mine_shard(
            ShardJob(
                folder=work,
                rows=read_encoded(work, names=False),
                group=groups[shard],
                backend=backend,
                threads=threads,
                memory=memory_bytes(memory),
            )
        )
    if shown.format == "json":
        print_json({"shard": shard, "shards": len(groups)})
    else:
        print_text(f"shard {shard} of {len(groups):,} in {work} is mined")
    return DONE
