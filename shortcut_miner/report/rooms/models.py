"""Figures that the pages of all rooms share: models' scores with their intervals, and what was read."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.intervals import around_zero, interval_dots
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Figure, Grid, Number, RoomPage, Section, grid, label, labelled

SCORED = {
    "metric": "Metric", "subgroup": "Of", "model": "Model", "n": "n", "value": "Value", "low": "Low",
    "high": "High",
}  # fmt: skip
UNIT = "percent [95% interval]"
Build = tuple[str, tuple[Number, ...], list[Section]]  # what a build's page says: summary, numbers, sections


def room_page(
    room: FoundRoom,
    title: str,
    build: Build | None,
    models: Sequence[Section],
    last: Sequence[Section] = (),
) -> RoomPage:
    """Return a room's page: what the build says, where there is one, then the models, and what was read.

    Parameters
    ----------
    room : FoundRoom
        What was found of it.
    title : str
        As of a RoomPage.
    build : (str, tuple of Number, list of Section) or None
        Summary, numbers and sections of a build, None where there are scores alone.
    models, last : sequence of Section
        What follows these.
    """
    summary, numbers, sections = build or (_SCORES_ALONE, (), [])
    return RoomPage(
        title=title, place=room.place, summary=summary, numbers=numbers,
        sections=(*sections, *models, *last, source_section(room.folders)),
    )  # fmt: skip


_SCORES_ALONE = "Scores of models; the folder of the build is not part of this report."


def scores_of(room: FoundRoom, table: str = "scores") -> pl.DataFrame | None:
    """Return one table of all scores of a room, later folders below; None if no folder has it.

    A model that several folders name is told apart by the folder's name.
    """
    folders = [one for one in room.scores if one.has(table)]
    tables = [one.table(table) for one in folders]
    if not tables:
        return None
    models = [set(one["model"]) if "model" in one.columns else set() for one in tables]
    parts = []
    for position, (folder, one) in enumerate(zip(folders, tables, strict=True)):
        others = set().union(*(models[:position] + models[position + 1 :]))
        if "model" in one.columns and models[position] & others:
            one = one.with_columns(model=pl.format("{} ({})", "model", pl.lit(folder.path.name)))
        parts.append(one)
    return pl.concat(parts, how="diagonal_relaxed")


def interval_figure(
    scores: pl.DataFrame,
    cells: Mapping[str, tuple[str, str, str]],
    *,
    name: str,
    title: str,
    note: str,
    unit: str = UNIT,
    domain: tuple[float, float] | None = (0.0, 100.0),
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Return a chart a cell, with a row a model.

    Parameters
    ----------
    scores : pl.DataFrame
        metric, group, subgroup, model, value, low, high, n.
    cells : mapping of str to (str, str, str)
        Heading -> metric, group and subgroup; those without rows are left out.
    name, title, note
        As of a Figure.
    unit, domain
        See :func:`shortcut_miner.report.charts.intervals.interval_dots`; all charts have one axis.
    colours : mapping of str to str, optional
        Heading -> a name of the palette.
    """
    of_cells = {
        heading: scores.filter(
            pl.col("metric") == metric, pl.col("group") == group, pl.col("subgroup") == subgroup,
            pl.col("value").is_not_null(),
        )
        for heading, (metric, group, subgroup) in cells.items()
    }  # fmt: skip
    tables = {heading: one for heading, one in of_cells.items() if len(one)}
    if domain is None and tables:
        domain = around_zero(pl.concat(tables.values()))
    charts = [
        interval_dots(
            labelled(of_cell, "model"), row="model", unit=unit, title=f"{heading} ({n_of(of_cell)})",
            domain=domain, colour=(colours or {}).get(heading, "blue"),
        )
        for heading, of_cell in tables.items()
    ]  # fmt: skip
    return Figure(
        name=name, title=title, note=note, charts=tuple(charts),
        table=pl.concat(tables.values()) if tables else scores.clear(), headings=SCORED, least_width=430,
    )  # fmt: skip


def n_of(scores: pl.DataFrame) -> str:
    """Return how many questions scores are of."""
    counts = scores["n"].to_list() or [0]
    least, most = min(counts), max(counts)
    return f"n = {least:,}" if least == most else f"n = {least:,} to {most:,}"


def subgroups(scores: pl.DataFrame, metric: str, group: str) -> list[str]:
    """Return the subgroups of a group in their order; what is not known has none."""
    of_group = scores.filter(pl.col("metric") == metric, pl.col("group") == group)
    return of_group["subgroup"].drop_nulls().unique(maintain_order=True).to_list()


def with_figures(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """Return the figures that have something to show."""
    return tuple(figure for figure in figures if figure.charts and len(figure.table))


def source_section(folders: Sequence[BuiltFolder]) -> Section:
    """Return what was read and how: files by name and content, options, and what was left out."""
    grids: dict[str, Grid] = {}
    for folder in folders:
        told = folder.manifest
        command = f"{folder.command}, shortcut_miner {told.get('version')}"
        if told["inputs"]:
            rows = [
                {
                    "role": one["role"].replace("_", " "),
                    "name": one["name"],
                    "size": one["size"],
                    "sha256": one["sha256"][:12],
                }
                for one in told["inputs"]
            ]
            headings = {"role": "Read as", "name": "File", "size": "Bytes", "sha256": "SHA-256 begins"}
            grids[_once(f"{command}: files", grids)] = grid(pl.DataFrame(rows), headings)
        options = {name: one for name, one in told["config"].items() if not isinstance(one, dict)}
        grids[_once(f"{command}: options", grids)] = _pairs(options, "Option", "Value")
        if told.get("dropped"):
            grids[_once(f"{command}: left out", grids)] = _pairs(told["dropped"], "Reason", "Rows")
    return Section(title="What was read", grids=grids)


def _once(title: str, taken: Mapping[str, Grid]) -> str:
    same = sum(one == title or one.startswith(f"{title} (") for one in taken)
    return title if not same else f"{title} ({same + 1})"


def _pairs(values: Mapping[str, object], first: str, second: str) -> Grid:
    rows = tuple((label(name), _told(value)) for name, value in values.items())
    numbers = all(isinstance(value, int) and not isinstance(value, bool) for value in values.values())
    return Grid(headings=(first, second), is_number=(False, numbers), rows=rows)


def _told(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if type(value) is int else label(str(value))
