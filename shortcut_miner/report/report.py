"""Report: one HTML file about what rooms built and scored, and its charts as files."""

import dataclasses
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import PathText, PathTexts, as_path, as_path_if_given, check_counts
from shortcut_miner.report.chart_files import check_charts_target, write_charts
from shortcut_miner.report.extra import check_libraries
from shortcut_miner.report.found import MOST_RULES, FoundRoom, find_rooms
from shortcut_miner.report.html import PAGE, page_html
from shortcut_miner.report.pages import RoomPage
from shortcut_miner.report.thumbnails import with_thumbnails
from shortcut_miner.single_files import check_file_target, write_file
from shortcut_miner.timing import OnStage, StageCost, in_parts, timed

_SEVERAL = "What the data and the models lean on"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    """What a report wrote.

    Attributes
    ----------
    out : Path or None
        The HTML file; None where nothing was written.
    charts : Path or None
        The folder of charts, if asked for.
    chart_count : int
        How many charts are in it.
    rooms : tuple of RoomPage
        What the page shows.
    size : int
        Of the page, in bytes.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    costs : list of StageCost
        By stage.
    """

    out: Path | None
    charts: Path | None
    chart_count: int
    rooms: tuple[RoomPage, ...]
    size: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    costs: list[StageCost]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pages' contents, ready for JSON."""
        return {
            "out": self.out,
            "charts": self.charts,
            "chart_count": self.chart_count,
            "size": self.size,
            "notes": self.notes,
            "warnings": self.warnings,
            "rooms": [
                {
                    "title": room.title,
                    "place": room.place,
                    "numbers": {one.label: one.value for one in room.numbers},
                    "figures": [figure.name for section in room.sections for figure in section.figures],
                }
                for room in self.rooms
            ],
            "stages": [dataclasses.asdict(cost) for cost in self.costs],
        }


def write_html_report(
    folder: PathText,
    out: PathText | None = None,
    *,
    scores: Sequence[PathText] = (),
    images: str | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    charts: PathText | None = None,
    most_rules: int = MOST_RULES,
    dry_run: bool = False,
    on_stage: OnStage | None = None,
) -> HtmlReport:
    """Write one HTML file about a built folder, or about all in a folder, and return what it shows.

    Parameters
    ----------
    folder : path
        What a ``build``, ``score`` or ``mine`` wrote, or a folder of such folders; never changed.
    out : path, optional
        The file to write; without it everything is made and thrown away.
    scores : sequence of path
        Further folders that ``score`` wrote on the build.
    images : str, optional
        A folder with the images, or a pattern of paths such as images/{image_id:012d}.jpg: questions are
        shown with small pictures.
    detections : path or list of them, optional
        A detector's boxes with labels, to draw a rule's objects on the pictures.
    detections_info : path or list of them, optional
        The second file of `detections`, where its format has one.
    charts : path, optional
        Folder for every chart as PNG, SVG and Vega-Lite JSON.
    most_rules : int
        How many rules a table may hold; of more it holds the first by each measure, and says so.
    dry_run : bool
        Check whether `out` and `charts` could be written, and write neither.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    BackendError
        The extra ``report`` is not installed.
    SourceError, SchemaError, ConfigError
        Folders that can't be read, or a file that can't be written; nothing on disk is changed then.
    """
    check_libraries()
    check_counts(most_rules=most_rules)
    path, target = as_path("folder", folder), as_path_if_given("out", out)
    if target is not None:
        check_file_target(target, PAGE)
    charts_target = as_path_if_given("charts", charts)
    if charts_target is not None:
        check_charts_target(charts_target)
    if dry_run:
        target = charts_target = None
    if detections is not None and images is None:
        raise ConfigError("detections: got boxes without images, expected both. Give --images too.")
    costs: list[StageCost] = []
    with timed(costs, "read", on_stage):
        rooms = find_rooms(path, [as_path("scores", one) for one in scores], most_rules)
    with timed(costs, "look", on_stage):
        pages = tuple(room_page(room) for room in in_parts(rooms, "look", on_stage, "rooms"))
    notes: list[str] = []
    warnings: list[str] = []
    if images is not None:
        with timed(costs, "draw", on_stage):
            pictured = [
                with_thumbnails(page, images, detections, detections_info, on_stage) for page in pages
            ]
        pages = tuple(one.page for one in pictured)
        notes = [text for one in pictured for text in one.notes]
        warnings = [text for one in pictured for text in one.warnings]
    with timed(costs, "write", on_stage):
        content = page_html(pages[0].title if len(pages) == 1 else _SEVERAL, pages).encode()
        if target is not None:
            write_file(target, content, PAGE)
    chart_count = 0
    if charts_target is not None:
        with timed(costs, "charts", on_stage):
            chart_count = write_charts(charts_target, rooms, pages, on_stage)
    return HtmlReport(
        out=target,
        charts=charts_target,
        chart_count=chart_count,
        rooms=pages,
        size=len(content),
        notes=tuple(dict.fromkeys(notes)),
        warnings=tuple(dict.fromkeys(warnings)),
        costs=costs,
    )


def room_page(room: FoundRoom) -> RoomPage:
    """Return what the page says about a room."""
    page: RoomPage = import_module(f"shortcut_miner.report.rooms.{room.name}").page(room)
    return page
