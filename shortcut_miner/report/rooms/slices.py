"""Slices: where a model fails, or got worse than another, and what other models do there."""

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.diagnostics.slices.config import Outcome
from shortcut_miner.diagnostics.slices.outputs import MEANS, kept_slices, mean_text, to_read, with_names
from shortcut_miner.report.charts.bars import bars
from shortcut_miner.report.charts.intervals import interval_dots
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Figure, Grid, Number, RoomPage, Section, grid, labelled
from shortcut_miner.report.rooms.models import (
    Build,
    interval_figure,
    room_page,
    scores_of,
    subgroups,
    with_figures,
)

TITLE = "Slices: where it goes wrong"
MOST_FIRST, MOST_ITEMS, MOST_LISTED, MOST_SCORED = 15, 8, 100, 10
_ITEM_KINDS = {"words": "word=", "objects": "object=", "attributes": ""}
_SIGNS = {"wrong": "wrong", "error": "error", "regression": "lost"}


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a slices folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    counts, told = folder.manifest["counts"], folder.manifest["figures"]
    outcome: Outcome = told["outcome"]
    slices, cover = folder.table("slices"), folder.table("cover")
    config = folder.manifest["config"]
    kept = kept_slices(slices, config["max_q"])
    first = _in_percent(to_read(slices, cover))
    explained = f"{100 * cover['explained'][-1]:.1f}%" if len(cover) else "none"
    whose = " to ".join(told["models"]) or "a table"
    summary = (
        f"Of {counts['slices']:,} slices of {counts['rows']:,} rows ({whose}) {len(kept):,} are surely "
        f"unlike the other rows (q up to {config['max_q']:g}) and not redundant."
        if told["nothing_found"] is None
        else f"No slice was found: {told['nothing_found']}."
    )
    numbers = (
        Number(value=mean_text(told["mean"], outcome), label=MEANS[outcome], colour="vermilion",
               note=f"of {counts['rows']:,} rows"),
        Number(value=f"{counts['slices']:,}", label="slices", colour="blue",
               note=f"in {told['min_count']:,} rows or more each"),
        Number(value=f"{len(kept):,}", label="significant and not redundant"),
        Number(value=explained, label="held by those to read first", note=f"{len(cover):,} slices"),
    )  # fmt: skip
    figures = [_first(first, outcome), _items(folder.table("items"))]
    return (
        summary,
        numbers,
        [
            Section(
                title="Slices",
                text="Rows that share words, objects and values of columns, and go wrong more often than the "
                "others. The list to read first adds, line by line, what the lines above it leave open.",
                figures=with_figures(figures),
                grids={"Significant slices that are not redundant": _listed(_in_percent(with_names(kept)))}
                if len(kept)
                else {},
            )
        ],
    )


def _in_percent(slices: pl.DataFrame) -> pl.DataFrame:
    names = [one for one in ("mean", "mean_b", "divergence", "explained", "holdout_mean") if one in slices]
    return labelled(slices, "name").with_columns(pl.col(names) * 100)


def _first(first: pl.DataFrame, outcome: Outcome) -> Figure:
    """Return the mean outcome of the slices to read first."""
    table = first.head(MOST_FIRST).with_columns(
        label=pl.format("{}% of {}", pl.col("mean").round(1), pl.col("count"))
    )
    chart = bars(
        table, category="name", value="mean", label="label", unit=f"percent {_SIGNS[outcome]}",
        colour="vermilion",
    )  # fmt: skip
    headings = {
        "name": "Slice", "count": "Rows", "mean": "Percent", "divergence": "Above all rows",
        "q_value": "q", "explained": "Held so far, percent",
    }  # fmt: skip
    return Figure(
        name="first", title="Slices to read first", headings=headings, table=table,
        charts=(chart,) if len(table) else (),
        note=f"The first {len(table)} of {len(first)}; each is chosen for what it adds to those above it.",
    )  # fmt: skip


def _items(items: pl.DataFrame) -> Figure:
    """Return the items that go with the largest and the smallest outcomes."""
    named = items.with_columns(
        name=pl.col("kind").replace_strict(_ITEM_KINDS, return_dtype=pl.String) + pl.col("item"),
        value=pl.col("divergence") * 100,
    )
    ends = pl.concat([named.head(MOST_ITEMS), named.slice(MOST_ITEMS).tail(MOST_ITEMS)])
    nothing = pl.lit(None, pl.Float64)
    table = labelled(ends, "name").with_columns(low=nothing, high=nothing)
    return Figure(
        name="items", title="Single items", table=table,
        charts=(interval_dots(table, row="name", unit="points above all rows", domain=None),)
        if len(table)
        else (),
        note=f"The {MOST_ITEMS} items of the largest and of the smallest mean outcome, of {len(items):,}.",
        headings={
            "name": "Item", "count": "Rows", "value": "Points above all rows",
            "global_divergence": "Over all slices of columns",
        },
    )  # fmt: skip


def _listed(kept: pl.DataFrame) -> Grid:
    headings = {
        "name": "Slice", "count": "Rows", "mean": "Percent", "mean_b": "Other model, percent",
        "divergence": "Above all rows", "q_value": "q", "holdout_count": "Rows held out",
        "holdout_mean": "Percent there", "holdout_p": "p there",
    }  # fmt: skip
    return grid(kept.head(MOST_LISTED), {name: one for name, one in headings.items() if name in kept.columns})


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    figures = []
    for metric in scores["metric"].unique(maintain_order=True).to_list():
        named = subgroups(scores, metric, "slice")[:MOST_SCORED]
        cells = {"all rows": (metric, "overall", "all")} | {one: (metric, "slice", one) for one in named}
        heading = str(metric).replace("_", " ")
        figures.append(
            interval_figure(
                scores, cells, name=f"{str(metric).replace('_', '-')}", domain=None,
                title=f"{heading.capitalize()} in slices",
                note="Lines are 95% intervals by bootstrap over images; all charts have one axis.",
            )
        )  # fmt: skip
    text = "What fails in a slice for one model need not fail for another."
    return [Section(title="Models", text=text, figures=with_figures(figures))]
