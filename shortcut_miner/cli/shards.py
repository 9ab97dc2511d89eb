"""``shard`` and ``merge``: the steps before and after ``mine --shard``, which a job array runs."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.console import note, print_json, print_text, progress
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.mine import KERNELS, Choose, Column, show_mined
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INPUTS,
    METHOD,
    SCALE,
    Compute,
    DryRun,
    Force,
    Memory,
    MostShown,
    Out,
    Shards,
    Shown,
    Threads,
    check_out,
)
from shortcut_miner.cli.room import run_build
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import OnBadRow, SupersetFilter, memory_bytes

if TYPE_CHECKING:
    from shortcut_miner.datasets.reports import BuildReport
    from shortcut_miner.timing import OnStage


def shard(
    table: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    work: Annotated[Path, Parameter(group=SCALE)],
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
    memory: Memory = None,
    shards: Shards = None,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Cut the search of a table into shards.

    Parameters
    ----------
    table : Path
        Parquet, CSV or JSONL with a row a transaction.
    work : Path
        Folder for the shards, on a disk that all machines share.
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
    """
    options: dict[str, Any] = {
        "min_count": min_count,
        "max_antecedent": max_antecedent,
        "min_confidence": min_confidence,
        "superset_filter": superset_filter,
        "empty_rule": empty_rule,
        "max_rules": max_rules,
    }
    with progress(shown) as told, watched(shown, told, KERNELS) as compiling:
        from shortcut_miner.cli.mined import RECORD, MineFiles, read_rows
        from shortcut_miner.datasets.folders import Run
        from shortcut_miner.mining.executors import resolve_engine
        from shortcut_miner.mining.sharding.run import Distribution, make_plan, work_folder
        from shortcut_miner.sources.item_tables import Columns

        _check_work(work, RECORD)
        run = Run(MineFiles(table), on_stage=told and compiling.on_stage)
        columns = Columns(
            words=words, objects=objects, answer=answer, separator=separator, item_columns=item_columns
        )
        distribution = Distribution(shards=shards, work=work, memory=memory_bytes(memory))
        with work_folder(work) as folder:
            read, encoded = read_rows(
                run, table, columns, options, on_bad_row=on_bad_row, limit=rows, folder=folder
            )
            plan = make_plan(folder, encoded, read.search, distribution, resolve_engine(None))
            read.write(folder)
    count = len(plan.groups)
    if shown.format == "json":
        print_json({"rows": read.row_count, "shards": count})
    else:
        print_text(f"{count:,} shards of {read.row_count:,} rows in {work}")
        note(
            shown,
            f"mine each, anywhere: shortcut-miner mine --work {work} --shard N, N from 0 to {count - 1:,}",
        )
        note(shown, f"then: shortcut-miner merge {work} --out DIR")
    return DONE


def _check_work(work: Path, record: str) -> None:
    check_out(work, "--work")
    if work.exists() and any(work.iterdir()) and not (work / record).exists():
        raise ConfigError(
            f"--work {work}: got a folder with other files, expected an empty one or one of shards. "
            "Choose another folder."
        )


def merge(
    work: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    threads: Threads = None,
    backend: Compute = "auto",
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    limit: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Put together what the shards of a table found.

    Parameters
    ----------
    work : Path
        The folder that shortcut-miner shard made, all of whose shards are mined.
    out : Path, optional
        Folder to write, with the same files as by shortcut-miner mine.
    limit : int
        Most rules to print.
    """

    def run(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.cli.mined import MineFiles, ReadTable, read_encoded, written_rules
        from shortcut_miner.datasets.folders import Run
        from shortcut_miner.mining.backends import resolve_backend
        from shortcut_miner.mining.search import rules_of
        from shortcut_miner.mining.sharding.plans import read_plan
        from shortcut_miner.mining.sharding.run import found_shards, merge_shards
        from shortcut_miner.mining.threads import thread_count
        from shortcut_miner.timing import timed

        chosen = resolve_backend(backend)
        read = ReadTable.read(work)
        told = Run(
            MineFiles(read.table), chosen.name, threads or thread_count(), on_stage=on_stage, force=force
        )
        told.check_out(target, "mine", read.config, ("rules.parquet",))
        with timed(told.costs, "merge", on_stage):
            plan = read_plan(work)
            antecedents = merge_shards(work, plan, found_shards(work, plan))
            rows = read_encoded(work, names=True)
        search = dataclasses.replace(read.search, max_rules=plan.config.max_rules)
        found = rules_of(
            antecedents, rows.vocabulary, search,
            threads=told.threads, backend=chosen, costs=told.costs, on_stage=on_stage,
        )  # fmt: skip
        return written_rules(told, read, rows, found, target, limit)

    return run_build(
        run, out=out, dry_run=dry_run, shown=shown, kernels=KERNELS, backend=backend,
        show=partial(show_mined, out=None if dry_run else out, limit=limit, option="--limit"),
    )  # fmt: skip
