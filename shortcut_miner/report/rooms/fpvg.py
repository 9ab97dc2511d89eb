"""FPVG: how faithfully models ground their answers in relevant regions (Reich et al., EMNLP 2023)."""

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.bars import bars, share_bars
from shortcut_miner.report.charts.distributions import plane
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import (
    Figure,
    Number,
    RoomPage,
    Section,
    label,
    labelled,
    percent,
    with_shares,
)
from shortcut_miner.report.rooms.models import (
    Build,
    interval_figure,
    n_of,
    room_page,
    scores_of,
    subgroups,
    with_figures,
)

TITLE = "FPVG: answers and the regions they need"
# Good grounding: the answer stays with the relevant regions alone, and changes without them.
CATEGORIES = {
    "good_correct": ("well grounded, correct", "green"),
    "good_wrong": ("well grounded, wrong", "sky"),
    "bad_correct": ("badly grounded, correct", "vermilion"),
    "bad_wrong": ("badly grounded, wrong", "grey"),
}
_QUADRANTS = {
    (True, True): ("sufficient and comprehensive", "green"),
    (True, False): ("sufficient only", "sky"),
    (False, True): ("comprehensive only", "amber"),
    (False, False): ("neither", "grey"),
}
_REGIONS = {
    "all": "mean_regions_all",
    "relevant": "mean_regions_relevant",
    "irrelevant": "mean_regions_irrelevant",
}


def page(room: FoundRoom) -> RoomPage:
    """Return the page of an FPVG folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    regions = folder.table("regions")
    count = int(regions["is_evaluable"].sum())
    summary = (
        f"{count:,} of {len(regions):,} questions have relevant and irrelevant regions in their image. A "
        "model is well grounded where its answer needs the relevant ones and no other."
    )
    return summary, _numbers(folder, count, len(regions)), [_regions(folder, regions)]


def _numbers(folder: BuiltFolder, evaluable: int, total: int) -> tuple[Number, ...]:
    figures = folder.manifest.get("figures", {})
    shown = [(one, figures.get(name)) for one, name in _REGIONS.items() if one != "all"]
    return (
        Number(value=f"{evaluable:,}", label="evaluable questions", note=percent(evaluable, total),
               colour="green"),
        *(Number(value=f"{mean:.1f}", label=f"{one} regions", note="a question, on average",
                 colour="blue" if one == "relevant" else "grey")
          for one, mean in shown if mean is not None),
    )  # fmt: skip


def _regions(folder: BuiltFolder, regions: pl.DataFrame) -> Section:
    return Section(
        title="Questions and regions",
        text=(
            "A region is relevant if it covers an object that the question is about, irrelevant if it hardly "
            "touches any."
        ),
        figures=with_figures([exclusions(regions), region_means(folder)]),
    )


def exclusions(regions: pl.DataFrame) -> Figure:
    """Return how many questions are evaluable, and why the others are not."""
    reason = pl.col("exclusion").fill_null("evaluable").alias("reason")
    is_out = (pl.col("reason") != "evaluable").alias("is_out")
    counted = (
        regions.select(reason).group_by("reason").agg(count=pl.len())
        .sort(is_out, "count", "reason", descending=[False, True, False])
    )  # fmt: skip
    table = with_shares(counted, "count")
    chart = bars(
        table, category="reason", value="count", label="label", unit="questions",
        colours={"evaluable": "green"}, colour="grey",
    )  # fmt: skip
    return Figure(
        name="questions", title="Which questions can be evaluated", note=f"n = {len(regions):,} questions.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"reason": "Question", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def region_means(folder: BuiltFolder) -> Figure:
    """Return how many regions a question has, on average."""
    figures = folder.manifest.get("figures", {})
    rows = [(one, figures[name]) for one, name in _REGIONS.items() if figures.get(name) is not None]
    table = pl.DataFrame(rows, schema={"regions": pl.String, "mean": pl.Float64}, orient="row")
    named = table.with_columns(label=pl.Series([f"{one:.2f}" for one in table["mean"]], dtype=pl.String))
    chart = bars(named, category="regions", value="mean", label="label", unit="regions a question")
    return Figure(
        name="regions", title="How many regions a question has", note="Means over evaluable questions.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"regions": "Regions", "mean": "Mean"},
    )  # fmt: skip


# ---- models ----


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    is_whole = (pl.col("metric") == "fpvg_plus") & (pl.col("subgroup") == "all")
    groups = scores.filter(is_whole)["group"].unique(maintain_order=True).to_list()
    first = groups[0] if groups else "overall"
    types = {
        label(one): ("fpvg_plus", group, one)
        for group in ("structural", "semantic")
        for one in subgroups(scores, "fpvg_plus", group)
    }
    figures = [
        *(categories(scores, group, "" if len(groups) == 1 else group) for group in groups),
        interval_figure(
            scores, {"all questions" if one == "overall" else label(one): ("fpvg_plus", one, "all")
                     for one in groups},
            name="plus", title="Well grounded answers (FPVG+)",
            note="Points are percent of evaluable questions, lines 95% intervals by bootstrap over images.",
        ),
        interval_figure(
            scores,
            {one: (f"accuracy_{one}", first, "all") for one in ("all", "relevant", "irrelevant")},
            name="accuracy", title="Accuracy with all, relevant and irrelevant regions",
            note="A model that looks is right with the relevant regions, and not with the irrelevant ones.",
        ),
        interval_figure(
            scores, types, name="types", title="FPVG+ by question type",
            note="Structural types first, then semantic ones.",
        ),
        changes(scores, first),
    ]  # fmt: skip
    placed = scores_of(room, "quadrants")
    if placed is not None:
        figures.append(quadrants(placed))
    text = "Right answers that don't need the relevant regions come from somewhere else."
    return [Section(title="Models", text=text, figures=with_figures(figures))]


def categories(scores: pl.DataFrame, group: str, named: str) -> Figure:
    """Return each model's four quadrants: well or badly grounded, correct or wrong."""
    table = scores.filter(
        pl.col("group") == group, pl.col("subgroup") == "all", pl.col("metric").is_in(list(CATEGORIES))
    ).select(
        "model", "n", "value", "low", "high",
        category=pl.col("metric").replace_strict({name: words for name, (words, _) in CATEGORIES.items()}),
    )  # fmt: skip
    colours = dict(CATEGORIES.values())
    shown = labelled(table, "model")
    chart = share_bars(
        shown, category="model", part="category", value="value", colours=colours,
        unit="percent of evaluable questions",
    )  # fmt: skip
    return Figure(
        name=f"quadrants{'-' if named else ''}{named}", table=table,
        title=f"The four quadrants{': ' if named else ''}{label(named)}",
        note=f"{n_of(table)} questions. Well grounded: the answer stays with the relevant regions alone, and "
        "changes without them.",
        charts=(chart,) if len(table) else (), least_width=600,
        headings={"model": "Model", "category": "Quadrant", "n": "n", "value": "Percent", "low": "Low",
                  "high": "High"},
    )  # fmt: skip


def changes(scores: pl.DataFrame, group: str) -> Figure:
    """Return each model in the plane of sufficiency and comprehensiveness (Figure 3)."""
    metrics = ("sufficiency", "comprehensiveness")
    of_group = scores.filter(
        pl.col("group") == group, pl.col("subgroup") == "all", pl.col("metric").is_in(metrics)
    )
    wide = of_group.pivot("metric", index="model", values="value", maintain_order=True)
    is_there = set(metrics) <= set(wide.columns)
    shown = labelled(wide, "model", "name")
    chart = plane(
        shown, x="sufficiency", y="comprehensiveness", name="name",
        units=("sufficiency (low is good)", "comprehensiveness (high is good)"),
    ) if is_there else None  # fmt: skip
    return Figure(
        name="plane", title="Sufficiency and comprehensiveness",
        note="What an answer's probability loses with the relevant regions alone, and without them.",
        charts=() if chart is None else (chart,), table=wide,
        headings={"model": "Model", "sufficiency": "Sufficiency", "comprehensiveness": "Comprehensiveness"}
        if is_there else {"model": "Model"},
    )  # fmt: skip


def quadrants(placed: pl.DataFrame) -> Figure:
    """Return how well and badly grounded answers fall into the plane's quadrants (Figure 4)."""
    thresholds = sorted(placed["threshold"].drop_nulls().unique())
    middle = thresholds[len(thresholds) // 2]
    words = {key: name for key, (name, _) in _QUADRANTS.items()}
    at_one = placed.filter(pl.col("threshold") == middle)
    keys = at_one.select("is_sufficient", "is_comprehensive").iter_rows()
    table = at_one.with_columns(
        place=pl.format("{}, {}", "model", "grounding"),
        quadrant=pl.Series([words[one] for one in keys], dtype=pl.String),
    )
    shown = labelled(table, "place")
    chart = share_bars(
        shown, category="place", part="quadrant", value="share", colours=dict(_QUADRANTS.values()),
        unit="percent of answers",
    )  # fmt: skip
    return Figure(
        name="sufficient", title="Grounding and the change of probabilities", table=table,
        note=f"Sufficiency below and comprehensiveness above {middle:g}. After Figure 4.",
        charts=(chart,), least_width=600,
        headings={"model": "Model", "grounding": "Grounding", "quadrant": "Quadrant", "count": "Answers",
                  "share": "Percent"},
    )  # fmt: skip
