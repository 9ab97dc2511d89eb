"""GQA-OOD: frequent and rare answers in groups, and models on both (Kervadec et al., CVPR 2021)."""

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.bars import bars
from shortcut_miner.report.charts.curves import curves
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import (
    Figure,
    Number,
    RoomPage,
    Section,
    labelled,
    percent,
    with_shares,
)
from shortcut_miner.report.rooms.models import (
    Build,
    interval_figure,
    room_page,
    scores_of,
    subgroups,
    with_figures,
)

TITLE = "GQA-OOD: frequent and rare answers"
MOST_GROUPS = 12
_BINS = 10


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a GQA-OOD folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    counts = folder.manifest["counts"]
    groups = folder.table("groups")
    summary = (
        f"Of {counts['groups']:,} groups of questions {counts['groups_kept']:,} are uneven enough to be "
        "kept. Frequent answers of a group are its head, rare ones its tail: a model that guesses by the "
        "group does well on the head alone."
    )
    both = counts["head"] + counts["tail"]
    numbers = (
        Number(value=f"{counts['head']:,}", label="questions in the head", colour="blue",
               note=percent(counts["head"], both)),
        Number(value=f"{counts['tail']:,}", label="questions in the tail", colour="vermilion",
               note=percent(counts["tail"], both)),
        Number(value=f"{counts['questions'] - both:,}", label="questions in neither", colour="grey",
               note="their groups are not kept"),
    )  # fmt: skip
    section = Section(
        title="Groups",
        text="A group's entropy is 1 where all its answers are given alike, near 0 where one is given most.",
        figures=with_figures([entropies(groups), kept_groups(groups)]),
    )
    return summary, numbers, [section]


def entropies(groups: pl.DataFrame) -> Figure:
    """Return how many groups have which entropy."""
    step = ((pl.col("entropy") * _BINS).floor().clip(0, _BINS - 1)).cast(pl.Int64)
    counted = groups.group_by(step=step).agg(count=pl.len()).sort("step")
    names = [f"{at / _BINS:.1f} to {(at + 1) / _BINS:.1f}" for at in counted["step"]]
    table = with_shares(counted.with_columns(pl.Series("entropy", names, pl.String)), "count")
    chart = bars(table, category="entropy", value="count", label="label", unit="groups", colour="grey")
    return Figure(
        name="entropies", title="Entropies of the groups", note=f"n = {len(groups):,} groups.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"entropy": "Entropy", "count": "Groups", "share": "Percent"},
    )  # fmt: skip


def kept_groups(groups: pl.DataFrame) -> Figure:
    """Return the largest groups that are kept."""
    kept = groups.filter("is_kept").sort("row_count", "group", descending=[True, False])
    table = labelled(with_shares(kept, "row_count").head(MOST_GROUPS), "group")
    chart = bars(table, category="group", value="row_count", label="label", unit="questions", colour="blue")
    return Figure(
        name="kept-groups", title="The largest groups that are kept",
        note=f"The first {len(table):,} of {len(kept):,}; shares are of the questions of all of them.",
        charts=(chart,) if len(table) else (), table=table,
        headings={
            "group": "Group", "row_count": "Questions", "answer_count": "Answers", "entropy": "Entropy",
        },
    )  # fmt: skip


def _models(room: FoundRoom) -> list[Section]:
    scores, sweep = scores_of(room), scores_of(room, "sweep")
    if scores is None:
        return []
    parts = {"head": "acc_head", "tail": "acc_tail", "all": "acc_all"}
    overall = {name: (metric, "overall", "all") for name, metric in parts.items()}
    types = {
        f"tail, {group} {kind}": ("acc_tail", group, kind)
        for group in ("structural", "semantic")
        for kind in subgroups(scores, "acc_tail", group)
    }
    figures = [
        interval_figure(
            scores, overall, name="accuracy", title="Accuracy on head, tail and all",
            note="An answer is right if it equals the question's. Lines are 95% intervals by bootstrap over "
            "images.",
        ),
        interval_figure(
            scores, {"delta": ("delta", "overall", "all")}, name="delta",
            title="How far the tail falls behind", domain=None,
            note="Accuracy on the head minus that on the tail, in percent of the latter.",
        ),
        *([] if sweep is None else [over_alpha(sweep)]),
        interval_figure(
            scores, types, name="tail-by-type", title="Accuracy on the tail by type of question",
            note="Structural and semantic types as GQA has them.",
        ),
    ]  # fmt: skip
    text = "Who looks at the image is as good on rare answers as on frequent ones."
    return [Section(title="Models", text=text, figures=with_figures(figures))]


def over_alpha(sweep: pl.DataFrame) -> Figure:
    """Return each model's accuracy on the tail over alpha: to the left the rarest answers alone."""
    known = labelled(sweep.drop_nulls("value"), "model")
    chart = (
        curves(known, x="alpha", row="model", units=("alpha", "percent"), digits=1) if len(known) else None
    )
    return Figure(
        name="over-alpha", title="Accuracy on the tail over alpha",
        note="An answer is in the tail below (1 + alpha) times the mean count of its group's answers.",
        charts=() if chart is None else (chart,), table=known,
        headings={
            "model": "Model", "alpha": "Alpha", "n": "n", "value": "Percent", "low": "Low", "high": "High",
        },
    )  # fmt: skip
