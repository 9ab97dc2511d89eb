"""SwapMix: what a plan swaps, and how much models lean on irrelevant context (Gupta et al., CVPR 2022)."""

from collections.abc import Sequence

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.bars import axis_end, bars
from shortcut_miner.report.charts.curves import curves
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
    SCORED,
    UNIT,
    Build,
    interval_figure,
    room_page,
    scores_of,
    with_figures,
)

TITLE = "SwapMix: answers and their context"
MOST_CLASSES, LEAST_SWAPS = 12, 20
RELIANCES = {
    "classes swapped": ("object_reliance", "overall", "all"),
    "attributes swapped": ("attribute_reliance", "overall", "all"),
    "either": ("context_reliance", "overall", "all"),
}
_BY_K = dict.fromkeys(("metric", "group", "subgroup", "model"), pl.String) | dict.fromkeys(
    ("value", "low", "high"), pl.Float64
) | {"n": pl.Int64, "k": pl.Int64}  # fmt: skip
ACCURACIES = {
    "as they are": ("accuracy", "overall", "all"),
    "under every swap": ("effective_accuracy", "overall", "all"),
}


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a SwapMix folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    counts = folder.manifest["counts"]
    summary = (
        f"{counts['questions_in_plan']:,} of {counts['questions']:,} questions have objects that don't "
        "matter for their answers. The plan swaps these for others; a model that looks does not mind."
    )
    return summary, _numbers(folder), _plan(folder)


def _numbers(folder: BuiltFolder) -> tuple[Number, ...]:
    counts, k = folder.manifest["counts"], folder.manifest["config"].get("k")
    shown = {
        "questions in the plan": (
            "questions_in_plan", percent(counts["questions_in_plan"], counts["questions"]), "blue"
        ),
        "context objects": ("context_objects", "that don't matter for the answer", "ink"),
        "class swaps": ("class_swaps", f"up to k = {k} an object" if k else "", "vermilion"),
        "attribute swaps": ("attribute_swaps", f"up to k = {k} an object" if k else "", "purple"),
    }  # fmt: skip
    return tuple(
        Number(value=f"{counts[name]:,}", label=words, note=note, colour=colour)
        for words, (name, note, colour) in shown.items()
        if name in counts
    )


def _plan(folder: BuiltFolder) -> list[Section]:
    if not folder.has("swaps"):
        return []
    swaps = folder.table("swaps").filter(pl.col("kind") != "original")
    return [
        Section(
            title="The plan",
            text="An object takes another one's features: of a similar class, or with another attribute.",
            figures=with_figures([swap_kinds(swaps), swapped_classes(swaps)]),
        )
    ]


def swap_kinds(swaps: pl.DataFrame) -> Figure:
    """Return how many swaps are of which kind."""
    kind = (
        pl.when(pl.col("is_padding")).then(pl.format("{}, random", "kind")).otherwise(pl.format("{}", "kind"))
    )
    counted = swaps.select(kind=kind).group_by("kind").agg(count=pl.len())
    table = with_shares(counted.sort("count", "kind", descending=[True, False]), "count")
    chart = bars(
        table, category="kind", value="count", label="label", unit="swaps",
        colours={"class": "vermilion", "class, random": "vermilion", "attribute": "purple",
                 "attribute, random": "purple"},
    )  # fmt: skip
    return Figure(
        name="kinds", title="Swaps by kind", charts=(chart,) if len(table) else (), table=table,
        note=f"n = {len(swaps):,} swaps; random: where too few similar ones are there.",
        headings={"kind": "Kind", "count": "Swaps", "share": "Percent"},
    )  # fmt: skip


def swapped_classes(swaps: pl.DataFrame) -> Figure:
    """Return the classes whose objects are swapped most."""
    of_classes = swaps.filter(pl.col("kind") == "class", pl.col("from_class").is_not_null())
    counted = of_classes.group_by("from_class").agg(count=pl.len())
    table = with_shares(counted.sort("count", "from_class", descending=[True, False]), "count")
    first = table.head(MOST_CLASSES)
    chart = bars(
        labelled(first, "from_class"), category="from_class", value="count", label="label",
        unit="class swaps", colour="vermilion",
    )  # fmt: skip
    return Figure(
        name="classes", title="The classes that are swapped most", table=first,
        note=f"The first {MOST_CLASSES} of {len(table):,} classes; n = {len(of_classes):,} class swaps.",
        charts=(chart,) if len(first) else (),
        headings={"from_class": "Class", "count": "Swaps", "share": "Percent"},
    )  # fmt: skip


# ---- models ----


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    told = sorted(
        {str(one.manifest["config"]["k"]) for one in room.scores if one.manifest["config"].get("k")}
    )
    with_k = f" k = {', '.join(told)} swaps an object and kind." if told else ""
    figures = [
        interval_figure(
            scores, RELIANCES, name="reliance", title="Reliance on context",
            note="Of the questions that a model answers right, the share whose answer changes under some "
            f"swap. n counts these questions.{with_k}",
            colours={"classes swapped": "vermilion", "attributes swapped": "purple"},
        ),
        interval_figure(
            scores, ACCURACIES, name="accuracy", title="Accuracy and effective accuracy",
            note=f"Effective: right as they are and under every swap.{with_k}",
        ),
        reliance_by_k(room.scores),
        reliance_by_type(scores),
    ]  # fmt: skip
    differences = scores_of(room, "differences")
    if differences is not None and len(differences):
        figures.append(differences_figure(differences))
    flips = scores_of(room, "class_flips")
    if flips is not None:
        figures.append(class_flips(flips))
    text = "An answer that changes with an object that does not matter leans on the context."
    return [Section(title="Models", text=text, figures=with_figures(figures))]


def reliance_by_k(folders: Sequence[BuiltFolder]) -> Figure:
    """Return how reliance grows with the swaps an object; no charts where one k alone was scored.

    Scores with the option curve have all k; others have one each.
    """
    parts = [folder.table("curve").cast({"k": pl.Int64}) for folder in folders if folder.has("curve")]
    parts += [
        folder.table("scores").with_columns(k=pl.lit(folder.manifest["config"]["k"], pl.Int64))
        for folder in folders
        if folder.has("scores") and folder.manifest["config"].get("k")
    ]
    metrics = {metric: heading for heading, (metric, _, _) in RELIANCES.items()}
    table = pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame(schema=_BY_K)
    table = (
        table.filter(
            pl.col("metric").is_in([*metrics]), pl.col("group") == "overall", pl.col("value").is_not_null()
        )
        .unique(["metric", "model", "k"], keep="first", maintain_order=True)
        .filter(pl.len().over("metric", "model") > 1)
        .sort("model", "k", maintain_order=True)
    )
    charts = tuple(
        curves(
            labelled(of_metric, "model"), x="k", row="model", units=("k, swaps an object and kind", UNIT),
            title=heading,
        )
        for metric, heading in metrics.items()
        if len(of_metric := table.filter(pl.col("metric") == metric))
    )  # fmt: skip
    return Figure(
        name="reliance-by-k", title="Reliance by the number of swaps", charts=charts, table=table,
        note="With more swaps, one that changes the answer is likelier.",
        headings={"k": "k"} | SCORED,
    )  # fmt: skip


def reliance_by_type(scores: pl.DataFrame) -> Figure:
    """Return reliance on context by type of question; no charts where types are not known."""
    types = scores.filter(pl.col("metric") == "context_reliance", pl.col("group") != "overall")
    cells = types.select("group", "subgroup").unique(maintain_order=True).rows()
    return interval_figure(
        scores, {label(one): ("context_reliance", group, one) for group, one in cells},
        name="types", title="Reliance on context by question type",
        note="Structural types first, then semantic ones. n counts the questions that a model answers right.",
    )  # fmt: skip


def differences_figure(differences: pl.DataFrame) -> Figure:
    """Return how models' reliances differ from those of the baseline."""
    cells = {
        heading: (f"{metric}_difference", group, subgroup)
        for heading, (metric, group, subgroup) in RELIANCES.items()
    }
    return interval_figure(
        differences, cells, name="differences",
        title=f"Differences to {label(differences['baseline'][0])}",
        note="Paired, on the same resamples: an interval that leaves 0 out is a difference at the 5% level.",
        unit="percentage points [95% interval]", domain=None,
    )  # fmt: skip


def class_flips(flips: pl.DataFrame) -> Figure:
    """Return the classes whose swaps change right answers most often, by model."""
    table = (
        flips.filter(pl.col("kind") == "class", pl.col("swap_count") >= LEAST_SWAPS, pl.col("flip_count") > 0)
        .with_columns(share=100 * pl.col("flip_count") / pl.col("swap_count"))
        .sort("share", "swap_count", "from_class", descending=[True, True, False])
        .group_by("model", maintain_order=True).head(MOST_CLASSES)
    )  # fmt: skip
    told = [f"{flipped:,} of {n:,}" for flipped, n in table.select("flip_count", "swap_count").iter_rows()]
    table = table.with_columns(label=pl.Series(told, dtype=pl.String))
    models = flips["model"].unique(maintain_order=True).to_list()
    charts, tables = [], []
    for model in models:
        of_model = table.filter(pl.col("model") == model)
        if of_model.is_empty():
            continue
        chart = bars(
            labelled(of_model, "from_class"), category="from_class", value="share", label="label",
            unit="percent of swaps", colour="vermilion", end=axis_end(table, "share"),
        )  # fmt: skip
        charts.append(chart.properties(title=label(model)))
        tables.append(of_model)
    return Figure(
        name="flips", title="Classes that answers lean on",
        note="How often a swap of such an object changes a right answer. Classes with "
        f"{LEAST_SWAPS} or more swaps, the first {MOST_CLASSES} of each model.",
        charts=tuple(charts), table=pl.concat(tables) if tables else table,
        headings={"model": "Model", "from_class": "Class", "swap_count": "Swaps", "flip_count": "Flips",
                  "share": "Percent"},
    )  # fmt: skip
