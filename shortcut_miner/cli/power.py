"""``power``."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import print_fields, print_frame, print_json
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    METHOD,
    DryRun,
    Force,
    MostShown,
    OptionalNamedFiles,
    Out,
    Shown,
    file_lists,
)
from shortcut_miner.cli.room import run_build
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import AnswerOptions, Scorer, check_counts
from shortcut_miner.scoring.power_config import PowerConfig

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.comparing import PowerReport
    from shortcut_miner.timing import OnStage

Asked = Annotated[PowerConfig, Parameter(name="*", group=METHOD)]
Reading = Annotated[AnswerOptions, Parameter(name="*", group=METHOD)]

_DEFAULT_ASKED, _DEFAULT_READING = PowerConfig(), AnswerOptions()
_POINTS = ("difference", "minimal_detectable", "effect")  # shares, shown in points of 100
_SHOWN = (
    *("subset", "model_a", "model_b", "row_count", "only_a", "only_b", "difference", "p_adjusted"),
    *("minimal_detectable", "required_rows", "power", "verdict"),
)


def power(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    predictions: OptionalNamedFiles = None,
    subsets: Annotated[Path | None, Parameter(name="--rows", group=INPUTS)] = None,
    n: Annotated[int | None, Parameter(group=INPUTS)] = None,
    discordant: Annotated[float | None, Parameter(group=INPUTS)] = None,
    asked: Asked = _DEFAULT_ASKED,
    scorer: Annotated[Scorer, Parameter(group=METHOD)] = "auto",
    reading: Reading = _DEFAULT_READING,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 40,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Compare models subset by subset, or only numbers.

    Parameters
    ----------
    folder : Path, optional
        What a build command wrote; none with --n.
    predictions : list of str, optional
        NAME=FILE for each model, two or more. NAME=F1,F2 or NAME=FOLDER joins the files of one.
    subsets : Path, optional
        Table of question_id and subset, in place of the folder's own subsets.
    n : int, optional
        In place of a folder: questions of a set.
    discordant : float, optional
        With --n: share of the questions that only one of two models answers right.
    scorer : str
        How answers are scored; auto: as by vqa-ce score.
    out : Path, optional
        Folder to write power.parquet.
    most : int
        Most rows to print: a pair of models and a subset each.
    """
    if folder is None:
        if predictions or subsets or out is not None:
            raise ConfigError("folder: got none, expected what a build command wrote. Give it, or --n alone.")
        return _numbers(n, discordant, asked, shown)
    if n is not None or discordant is not None:
        raise ConfigError("--n, --discordant: got a folder beside, expected one or the other. Leave one out.")
    files = file_lists(predictions or (), "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "PowerReport":
        from shortcut_miner.comparing import power as compare

        return compare(
            folder, files, asked, subsets=subsets, answers=reading, scorer=scorer, out=target, force=force,
            on_stage=on_stage,
        )  # fmt: skip

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=partial(_show, most), needs_out=False)


def _numbers(n: int | None, discordant: float | None, asked: PowerConfig, shown: Shown) -> int:
    """Print what so many rows can show."""
    if n is None or discordant is None:
        raise ConfigError(
            "folder: got none, expected what a build command wrote, or --n and --discordant. Give these."
        )
    check_counts(n=n or None)
    from shortcut_miner.comparing import planned

    table = planned(n, discordant, asked)
    if shown.format == "json":
        print_json({"power": table.to_dicts()})
    else:
        print_frame(in_points(table))
    return DONE if n else INCOMPLETE


def _show(most: int, report: "PowerReport", shown: Shown, wall_seconds: float) -> None:
    if shown.format == "json":
        print_json(_document(report))
        return
    from shortcut_miner.timing import cost_text

    print_frame(in_points(report.power.select(_SHOWN).head(most)))
    if len(report.power) > most:
        print_fields({"shown": f"{most:,} of {len(report.power):,} rows"})
    written = {} if report.out is None else {"written": str(report.out)}
    print_fields(written | {"took": cost_text(report.costs, wall_seconds)})


def _document(report: "PowerReport") -> dict[str, Any]:
    return {"out": report.out, "power": report.power.to_dicts(), "dropped": report.dropped}


def in_points(table: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table as it is printed: differences in points, shares and p-values with few digits."""
    import polars as pl

    points = [pl.col(name).mul(100).round(2) for name in _POINTS if name in table.columns]
    digits = [pl.col(name).round_sig_figs(3) for name in ("power", "p_adjusted") if name in table.columns]
    return table.with_columns(*points, *digits)
