"""``demo``."""

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.claims import check_place, claimed
from shortcut_miner.cli.console import (
    note,
    print_fields,
    print_frame,
    print_json,
    print_title,
    progress,
    warn,
)
from shortcut_miner.cli.kernels import FPVG, SLICES, SWAPMIX, kernel_names, watched
from shortcut_miner.cli.options import (
    CHECK_FAILED,
    DEFAULT_SHOWN,
    DONE,
    METHOD,
    OUTPUT,
    DryRun,
    Force,
    MostShown,
    Shown,
    Threads,
)
from shortcut_miner.cli.vqa_ce import print_accuracy

if TYPE_CHECKING:
    from shortcut_miner.demo.run import DemoReport

DEFAULT_OUT = Path("shortcut-miner-demo")


def demo(
    *,
    seed: Annotated[int, Parameter(group=METHOD)] = 0,
    threads: Threads = None,
    out: Annotated[Path, Parameter(group=OUTPUT)] = DEFAULT_OUT,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Run the demo.

    Parameters
    ----------
    seed : int
        Of the world: another seed draws other images, questions and answers.
    out : Path
        Folder for world/ (the input files) and, per room, what it builds and scores: vqa-ce/ and so on.
    most : int
        Most planted shortcuts to print.
    """
    check_place(out)
    from shortcut_miner.demo.run import check_folders, run_demo

    if dry_run:
        check_folders(out, seed, force=force)
    started = time.perf_counter()
    with (
        claimed(None if dry_run else out),
        tempfile.TemporaryDirectory(prefix="shortcut-miner-demo-") as temporary,
        progress(shown) as told,
        watched(shown, told, (*kernel_names(), FPVG, SWAPMIX, SLICES)) as compiling,
    ):
        folder = Path(temporary) if dry_run else out
        report = run_demo(
            folder, seed=seed, threads=threads, force=force, on_stage=told and compiling.on_stage
        )
    _show(report, shown, most, None if dry_run else out, time.perf_counter() - started)
    if not report.all_found:
        warn("a planted shortcut did not come out as a rule")
    return DONE if report.all_found else CHECK_FAILED


def _show(report: "DemoReport", shown: Shown, most: int, out: Path | None, wall_seconds: float) -> None:
    if shown.format == "json":
        print_json(_document(report, out, wall_seconds))
        return
    from shortcut_miner.demo.run import REPORT

    fields = report.vqa_ce.in_words(wall_seconds)
    fields["written"] = (
        "nothing (dry run)"
        if out is None
        else f"{out}: world (the files), and a folder or more for each room"
    )
    if report.report is not None and out is not None:
        fields["report"] = f"{report.report}, to open in a browser"
    print_fields(fields)
    found = len(report.planted) - report.planted["rule_id"].null_count()
    print_title(f"Planted shortcuts: {found} of {len(report.planted)} came out as rules")
    print_frame(report.planted.head(most), spare=("antecedent_count", "rule_count", "rule_id"))
    print_title("Accuracy in percent [95% interval]")
    print_accuracy(report.scores.scores)
    print_title("The other rooms' first numbers, in percent")
    print_frame(report.headlines)
    for name, why in report.left_out.items():
        warn(f"the {'' if name == REPORT else 'room '}{name} was left out: {why}")
    if out is not None:
        note(shown, f"\nnext: shortcut-miner rules {out}/vqa-ce --contains sport")


def _document(report: "DemoReport", out: Path | None, wall_seconds: float) -> dict[str, Any]:
    from shortcut_miner.scoring.tables import as_dict

    return {
        "out": out,
        "planted": report.planted.to_dicts(),
        "all_found": report.all_found,
        "vqa_ce": report.vqa_ce.as_dict(wall_seconds),
        "scores": as_dict(report.scores.scores),
        "headlines": report.headlines.to_dicts(),
        "left_out": report.left_out,
        "report": None if out is None else report.report,
    }
