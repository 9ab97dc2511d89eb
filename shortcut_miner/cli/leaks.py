"""``leak-check``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shortcut_miner.cli.console import print_fields, print_json, print_table
from shortcut_miner.cli.options import DEFAULT_SHOWN, INPUTS, METHOD, DryRun, FirstRows, Force, Out, Shown
from shortcut_miner.cli.room import run_build
from shortcut_miner.options import OnBadRow

if TYPE_CHECKING:
    from shortcut_miner.leaking import LeakReport
    from shortcut_miner.timing import OnStage


def leak_check(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    detections: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    detections_info: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    rules: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    rows: FirstRows = None,
    on_bad_row: Annotated[OnBadRow, Parameter(group=METHOD)] = "error",
    folds: Annotated[int, Parameter(group=METHOD)] = 5,
    seed: Annotated[int, Parameter(group=METHOD)] = 0,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Answer a set's questions without their images.

    Parameters
    ----------
    folder : Path
        What a build command wrote.
    detections : Path, optional
        Names of objects by image, as vqa-ce build takes them.
    detections_info : Path, optional
        The second file that some formats of these need.
    on_bad_row : {"error", "skip"}
        Whether images that can't be read are left out.
    rules : Path, optional
        VQA-CE folder whose rule classifier answers too.
    folds : int
        Of images: each is guessed by what the others tell.
    seed : int
        Of the folds.
    out : Path, optional
        Folder to write leaks.parquet.
    """

    def work(target: Path | None, on_stage: "OnStage | None") -> "LeakReport":
        from shortcut_miner.leaking import check_leaks

        return check_leaks(
            folder, detections=detections, detections_info=detections_info, on_bad_row=on_bad_row,
            rules=rules, folds=folds, seed=seed, limit=rows, out=target, force=force, on_stage=on_stage,
        )  # fmt: skip

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=_show, needs_out=False)


def _show(report: "LeakReport", shown: Shown, wall_seconds: float) -> None:
    if shown.format == "json":
        print_json({"out": report.out, "leaks": report.leaks.to_dicts(), "dropped": report.dropped})
        return
    from shortcut_miner.timing import cost_text

    lines = [
        {name: f"{value:.1f}" if isinstance(value, float) else value for name, value in row.items()}
        for row in report.leaks.iter_rows(named=True)
    ]
    known = [name for name in report.leaks.columns if any(line[name] is not None for line in lines)]
    numbers = [name for name in known if name not in ("set", "subset")]
    print_table(known, [[line[name] for name in known] for line in lines], right=numbers, are_fields=True)
    written = {} if report.out is None else {"written": str(report.out)}
    print_fields(written | {"took": cost_text(report.costs, wall_seconds)})
