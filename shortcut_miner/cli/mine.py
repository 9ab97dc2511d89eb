"""``mine``."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.console import note, print_json
from shortcut_miner.cli.kernels import ROW_DIGESTS
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    METHOD,
    OUTPUT,
    Compute,
    DryRun,
    Force,
    Out,
    Shown,
    Threads,
)
from shortcut_miner.cli.room import run_build
from shortcut_miner.cli.rules import how_many, print_rules
from shortcut_miner.options import BackendName, OnBadRow, SupersetFilter
from shortcut_miner.timing import cost_text

if TYPE_CHECKING:
    from shortcut_miner.datasets.reports import BuildReport
    from shortcut_miner.sources.item_tables import Columns
    from shortcut_miner.timing import OnStage

Column = Annotated[str | None, Parameter(group=INPUTS)]
Choose = Parameter(group=METHOD)
# What --superset-filter needs beside the search's own.
_KERNELS = ("filter", "mine", "pairs", ROW_DIGESTS, "rows", "space")


@dataclasses.dataclass(frozen=True, slots=True)
class MineFiles:
    """The inputs of ``mine``."""

    table: Path


def mine(
    table: Annotated[Path, Parameter(group=INPUTS)],
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
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    show: Annotated[int, Parameter(group=OUTPUT, validator=Number(gte=0))] = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Mine rules from a table.

    Parameters
    ----------
    table : Path
        Parquet, CSV or JSONL with a row a transaction.
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
    out : Path, optional
        Folder to write rules.parquet, manifest.json and run.json.
    show : int
        Most rules to print.
    """
    options: dict[str, Any] = {
        "min_count": min_count,
        "max_antecedent": max_antecedent,
        "min_confidence": min_confidence,
        "superset_filter": superset_filter,
        "empty_rule": empty_rule,
        "max_rules": max_rules,
    }

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.sources.item_tables import Columns

        columns = Columns(
            words=words, objects=objects, answer=answer, separator=separator, item_columns=item_columns
        )
        return _mine(
            table, columns, options, target, show,
            on_bad_row=on_bad_row, limit=rows, threads=threads, backend=backend,
            force=force, on_stage=on_stage,
        )  # fmt: skip

    def show_rules(report: "BuildReport", shown: Shown, wall_seconds: float) -> None:
        found, read = report.counts["rules"], report.counts["rows"]
        if shown.format == "json":
            document = {"rows": read, "total": found, "is_complete": report.is_complete}
            print_json(document | {"rules": report.tables["first_rules"].to_dicts()})
            return
        print_rules(report.tables["first_rules"])
        note(shown, f"{how_many(found, show, '--show')}, from {read:,} rows")
        if out is not None and not dry_run:
            note(shown, f"written: {out}")
        note(shown, f"took {cost_text(report.costs, wall_seconds)}")

    return run_build(
        work, out=out, dry_run=dry_run, shown=shown, kernels=_KERNELS, backend=backend, show=show_rules
    )


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
    force: bool,
    on_stage: "OnStage | None",
) -> "BuildReport":
    import numpy as np

    from shortcut_miner.datasets.folders import Run, publish, write_blocks, write_manifest
    from shortcut_miner.datasets.inputs import InputFacts
    from shortcut_miner.datasets.reports import BuildReport
    from shortcut_miner.mining.antecedents import SearchConfig
    from shortcut_miner.mining.backends import resolve_backend
    from shortcut_miner.mining.frames.rules import rule_blocks, rules_table
    from shortcut_miner.mining.frames.tables import encode_answered
    from shortcut_miner.mining.search import cut_text, search_rules
    from shortcut_miner.mining.threads import thread_count
    from shortcut_miner.sources.item_tables import read_table
    from shortcut_miner.storage import Provenance
    from shortcut_miner.timing import timed

    search = SearchConfig(**options)
    chosen = resolve_backend(backend)
    run = Run(MineFiles(table), chosen.name, threads or thread_count(), on_stage=on_stage, force=force)
    config = dataclasses.asdict(columns) | options | {"on_bad_row": on_bad_row, "limit": limit}
    run.check_out(out, "mine", config, ("rules.parquet",))
    with timed(run.costs, f"read {table}", on_stage):
        read = read_table(table, columns, skip_bad_rows=on_bad_row == "skip", limit=limit)
    with timed(run.costs, "encode", on_stage):
        rows = encode_answered(read.table, "answer")
    found = search_rules(
        rows, search, allow_incomplete=True,
        threads=run.threads, backend=chosen, costs=run.costs, on_stage=on_stage,
    )  # fmt: skip
    skipped = [f"{count:,} {reason} were skipped" for reason, count in read.dropped.items()]
    if search.max_rules is None:
        run.limits["max_rules"] = found.max_rules
    if not found.is_complete:
        skipped.append(cut_text(found.max_rules, derived=search.max_rules is None))
        config["max_rules"] = found.max_rules
    facts = InputFacts.of({"table": read}, skipped)
    provenance = Provenance(
        command="mine",
        config=config,
        inputs=facts.records,
        counts={"rows": len(read.table), "rules": len(found.rules)},
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
        words={"rules": f"{len(found.rules):,} from {len(read.table):,} rows"},
        tables={"first_rules": lambda: rules_table(found.rules.take(np.s_[:show]), *encoded)},
        is_complete=found.is_complete,
    )
