"""``mine``."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.console import note, print_json, progress, warn
from shortcut_miner.cli.kernels import note_compiling
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    METHOD,
    OUTPUT,
    DryRun,
    FirstRows,
    Out,
    Shown,
    Threads,
    check_out,
)
from shortcut_miner.cli.rules import how_many, print_rules
from shortcut_miner.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.sources.opening.reading import Reading
    from shortcut_miner.storage import InputRecord

Column = Annotated[str | None, Parameter(group=INPUTS)]
Choose = Parameter(group=METHOD)


def mine(
    table: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    words: Column = None,
    objects: Column = None,
    answer: Annotated[str, Parameter(group=INPUTS)] = "answer",
    separator: Annotated[str, Parameter(group=INPUTS)] = ",",
    on_bad_row: Annotated[Literal["error", "skip"], Parameter(group=INPUTS)] = "error",
    rows: FirstRows = None,
    min_count: Annotated[int, Choose] = 8,
    max_antecedent: Annotated[int, Choose] = 4,
    min_confidence: Annotated[float, Choose] = 0.3,
    superset_filter: Annotated[Literal["none", "immediate", "all"], Choose] = "none",
    empty_rule: Annotated[bool, Parameter(group=METHOD, negative=(), show_default=False)] = False,
    max_rules: Annotated[int, Choose] = 50_000_000,
    threads: Threads = None,
    out: Out = None,
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
        Column of labels: lists of text, or labels with --separator between them.
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
    max_rules : int
        Most antecedents to search before giving up.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    out : Path, optional
        Folder to write rules.parquet and manifest.json.
    dry_run : bool
        Write nothing, even with --out.
    show : int
        Most rules to print.
    """
    if words is None and objects is None:
        raise ConfigError("--words, --objects: got neither, expected a column of items. Name one or both.")
    if out is not None:
        check_out(out)
    from shortcut_miner.mining.frames.tables import mine_rules
    from shortcut_miner.sources.item_tables import Columns, read_table

    started = time.perf_counter()
    note_compiling(shown, "mine")
    options: dict[str, Any] = {
        "min_count": min_count,
        "max_antecedent": max_antecedent,
        "min_confidence": min_confidence,
        "superset_filter": superset_filter,
        "empty_rule": empty_rule,
        "max_rules": max_rules,
    }
    columns = Columns(words=words, objects=objects, answer=answer, separator=separator)
    with progress(shown) as on_stage:
        if on_stage is not None:
            on_stage(f"mine {table}")
        read = read_table(table, columns, skip_bad_rows=on_bad_row == "skip", limit=rows)
        found = mine_rules(read.table, "answer", threads=threads, **options)
        if out is not None and not dry_run:
            _write(out, found, read, dataclasses.asdict(columns) | options | {"limit": rows})
    for reason, count in read.dropped.items():
        warn(f"{count:,} {reason} were skipped")
    if shown.format == "json":
        print_json({"rows": len(read.table), "total": len(found), "rules": found.head(show).to_dicts()})
    else:
        print_rules(found.head(show))
        note(shown, f"{how_many(len(found), show, '--show')}, from {len(read.table):,} rows")
        note(
            shown,
            f"took {time.perf_counter() - started:.1f} s"
            + ("" if out is None or dry_run else f"; written: {out}"),
        )
    return INCOMPLETE if read.dropped else DONE


def _write(out: Path, found: "pl.DataFrame", read: "Reading", config: dict[str, Any]) -> None:
    from shortcut_miner.storage import MANIFEST, Provenance, staged_folder, write_json, write_parquet

    provenance = Provenance(
        command="mine",
        config=config,
        inputs=(_record(read),),
        counts={"rows": len(read.table), "rules": len(found)},
        dropped=read.dropped,
    )
    with staged_folder(out) as folder:
        write_parquet(found, folder / "rules.parquet", provenance)
        write_json(provenance.for_manifest(), folder / MANIFEST)


def _record(read: "Reading") -> "InputRecord":
    import polars as pl

    from shortcut_miner.storage import InputRecord, table_sha256

    file = read.file
    flat = read.table.select("answer", *(pl.col(name).list.join("\x1f") for name in ("words", "objects")))
    return InputRecord(
        role="table",
        name=file.name if file.member is None else f"{file.name}/{file.member}",
        size=file.size,
        sha256=file.sha256,
        content_sha256=table_sha256(flat, flat.columns),
    )
