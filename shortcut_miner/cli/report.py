"""``report``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.console import note, print_fields, print_json, progress, warn
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.options import DEFAULT_SHOWN, DONE, INPUTS, OUTPUT, DryRun, Shown

if TYPE_CHECKING:
    from shortcut_miner.report.report import HtmlReport

DEFAULT_OUT = Path("report.html")


def report(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    scores: Annotated[list[Path] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())] = None,
    images: Annotated[str | None, Parameter(group=INPUTS)] = None,
    detections: Annotated[list[Path] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())] = None,
    detections_info: Annotated[
        list[Path] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())
    ] = None,
    charts: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    most: Annotated[int, Parameter(name="--limit", group=OUTPUT, validator=Number(gte=1))] = 20_000,
    out: Annotated[Path, Parameter(group=OUTPUT)] = DEFAULT_OUT,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Write the report.

    Parameters
    ----------
    folder : Path
        What a build or score command wrote, or mine, or a folder of such folders; it is never changed.
    scores : list of Path, optional
        Further folders that score commands wrote on the build.
    images : str, optional
        Folder with the images, which is looked through, or a pattern of paths such as
        images/{image_id:012d}.jpg: questions are shown with small pictures.
    detections : list of Path, optional
        Boxes with labels, to draw a rule's objects on the pictures.
    detections_info : list of Path, optional
        The second file of --detections: HDF5's info JSON, the categories of COCO results, class descriptions.
    most : int
        Most rules in a table: of more, it holds the first by each measure.
    charts : Path, optional
        Folder for every chart as PNG, SVG and Vega-Lite JSON, 90 mm wide; what it holds of an earlier report
        is replaced.
    out : Path
        The HTML file to write; an earlier report is replaced, no other file.
    """
    from shortcut_miner.report.report import write_html_report

    with progress(shown) as told, watched(shown, told, None) as compiling:
        written = write_html_report(
            folder,
            out,
            scores=scores or (),
            images=images,
            detections=detections or None,
            detections_info=detections_info or None,
            most_rules=most,
            charts=charts,
            dry_run=dry_run,
            on_stage=told and compiling.on_stage,
        )
    for text in written.notes:
        note(shown, f"note: {text}")
    for text in written.warnings:
        warn(text)
    if shown.format == "json":
        print_json(written.as_dict())
    else:
        print_fields(in_words(written))
        if written.out is not None:
            note(shown, f"\nnext: open {written.out} in a browser; it needs no network")
    return DONE


def in_words(report: "HtmlReport") -> dict[str, str]:
    """Return what the page shows and where it lies, as the console prints it."""
    from shortcut_miner.timing import cost_text

    rooms = {
        f"  {room.place or 'shown'}": ", ".join(f"{one.value} {one.label}" for one in room.numbers)
        or room.title
        for room in report.rooms
    }
    return {
        "report": "; ".join(dict.fromkeys(room.title for room in report.rooms)),
        **rooms,
        "written": "nothing (dry run)" if report.out is None else f"{report.out} ({report.size:,} bytes)",
        **({} if report.charts is None else {"charts": f"{report.charts} ({report.chart_count:,} charts)"}),
        "took": cost_text(report.costs),
    }
