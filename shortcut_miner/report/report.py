"""Report: one HTML file about what rooms built and scored, and its charts as files."""

import dataclasses
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from shortcut_miner.options import PathText, as_path, as_path_if_given
from shortcut_miner.report.extra import check_libraries
from shortcut_miner.report.found import FoundRoom, find_rooms
from shortcut_miner.report.html import page_html
from shortcut_miner.report.pages import RoomPage
from shortcut_miner.report.writing import check_page_target, write_page
from shortcut_miner.timing import OnStage, StageCost, timed

COMMAND = "report"
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
    rooms : tuple of RoomPage
        What the page shows.
    size : int
        Of the page, in bytes.
    costs : list of StageCost
        By stage.
    """

    out: Path | None
    charts: Path | None
    rooms: tuple[RoomPage, ...]
    size: int
    costs: list[StageCost]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pages' contents, ready for JSON."""
        return {
            "out": self.out,
            "charts": self.charts,
            "size": self.size,
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
    on_stage: OnStage | None = None,
) -> HtmlReport:
    """Write one HTML file about a built folder, or about all in a folder, and return what it shows.

    Parameters
    ----------
    folder : path
        What a ``build`` or ``score`` wrote, or a folder of such folders; never changed.
    out : path, optional
        The file to write; without it everything is made and thrown away.
    scores : sequence of path
        Further folders that ``score`` wrote on the build.
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
    path, target = as_path("folder", folder), as_path_if_given("out", out)
    if target is not None:
        check_page_target(target)
    costs: list[StageCost] = []
    with timed(costs, "read", on_stage):
        rooms = find_rooms(path, [as_path("scores", one) for one in scores])
    with timed(costs, "look", on_stage):
        pages = tuple(_page(room) for room in rooms)
    with timed(costs, "write", on_stage):
        html = page_html(pages[0].title if len(pages) == 1 else _SEVERAL, pages)
        if target is not None:
            write_page(target, html)
    return HtmlReport(out=target, charts=None, rooms=pages, size=len(html.encode()), costs=costs)


def _page(room: FoundRoom) -> RoomPage:
    page: RoomPage = import_module(f"shortcut_miner.report.rooms.{room.name}").page(room)
    return page
