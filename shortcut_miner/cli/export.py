"""``export``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shortcut_miner.cli.console import print_commands, print_fields, print_json
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    OUTPUT,
    BuildOut,
    DryRun,
    FirstRows,
    Force,
    Shown,
)
from shortcut_miner.cli.room import run_build
from shortcut_miner.exports.formats import FORMATS

if TYPE_CHECKING:
    from shortcut_miner.exports.export import ExportReport
    from shortcut_miner.timing import OnStage


def export(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    to: Annotated[str, Parameter(group=OUTPUT, help=f"The format: {', '.join(FORMATS)}.")],
    images: Annotated[str | None, Parameter(group=INPUTS)] = None,
    subset: Annotated[list[str] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())] = None,
    rows: FirstRows = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Export a built folder.

    Parameters
    ----------
    folder : Path
        What a build command wrote; it is never changed.
    images : str, optional
        Folder with the images, which is looked through, or a pattern of paths or addresses such as
        images/{image_id:012d}.jpg; without it, questions name their images by id alone.
    subset : list of str, optional
        Splits to export, such as easy,hard; all by default.
    """

    def work(target: Path | None, on_stage: "OnStage | None") -> "ExportReport":
        from shortcut_miner.exports.export import export as export_folder

        return export_folder(
            folder,
            to,
            out=target,
            images=images,
            subsets=[name.strip() for text in subset or () for name in text.split(",")],
            limit=rows,
            force=force,
            on_stage=on_stage,
        )

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=_show)


def _show(report: "ExportReport", shown: Shown, wall_seconds: float) -> None:
    if shown.format == "json":
        print_json(report.as_dict())
    else:
        print_fields(in_words(report))
        print_commands({f"Run {report.consumer}:": report.run, "Score what it answers:": report.read_back})


def in_words(report: "ExportReport") -> dict[str, str]:
    """Return what was exported and where it lies, as the console prints it."""
    from shortcut_miner.timing import cost_text

    sets: dict[str, list[str]] = {}
    for name, split, count in report.questions:
        sets.setdefault(name, []).append(f"{count:,} {split}")
    images = f"{report.images_asked:,}"
    if report.images_found is not None:
        images = f"{report.images_found:,} of {images} found"
    return {
        "exported": f"{report.title}, for {report.consumer}",
        **{f"  {name}": ", ".join(splits) for name, splits in sets.items()},
        "images": images,
        "written": "nothing (dry run)" if report.out is None else str(report.out),
        "took": cost_text(report.costs),
    }
