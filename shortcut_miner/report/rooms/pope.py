"""POPE: polling questions about objects, and models on them (Li et al., EMNLP 2023)."""

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.bars import bars
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Figure, Number, RoomPage, Section, labelled, with_shares
from shortcut_miner.report.rooms.models import (
    Build,
    interval_figure,
    room_page,
    scores_of,
    subgroups,
    with_figures,
)

TITLE = "POPE: is there such an object?"
MOST_OBJECTS = 12


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a POPE folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    counts = folder.manifest["counts"]
    questions = folder.table("questions")
    summary = (
        f"{counts['questions']:,} questions about {counts['images']:,} images: half of them name an object "
        "that is there, half one that is not. A model that says yes by habit is right about the former alone."
    )
    numbers = (
        Number(value=f"{counts['yes']:,}", label="objects that are there", colour="blue"),
        Number(value=f"{counts['no']:,}", label="objects that are not", colour="vermilion",
               note=f"{counts['fallbacks']:,} draws for want of one that co-occurs"),
        Number(value=f"{counts['doubtful_yes'] + counts['doubtful_no']:,}", label="doubtful labels",
               colour="grey", note="crowds, and names that share a word"),
    )  # fmt: skip
    figures = [
        absent_objects(questions, strategy)
        for strategy in questions["strategy"].unique().sort(descending=True).to_list()
    ]
    text = "Random objects are spread over all names; popular and adversarial ones are few, and often asked."
    return summary, numbers, [Section(title="Absent objects", text=text, figures=with_figures(figures))]


def absent_objects(questions: pl.DataFrame, strategy: str) -> Figure:
    """Return the objects that one strategy asks for most though they are absent."""
    absent = questions.filter(pl.col("strategy") == strategy, pl.col("answer") == "no")
    counted = absent.group_by("object").agg(count=pl.len()).sort("count", "object", descending=[True, False])
    table = labelled(with_shares(counted, "count").head(MOST_OBJECTS), "object")
    chart = bars(table, category="object", value="count", label="label", unit="questions", colour="vermilion")
    return Figure(
        name=f"absent-{strategy}", title=f"Absent objects, {strategy}",
        note=f"The first {len(table):,} of {len(counted):,}; n = {len(absent):,} questions.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"object": "Object", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    strategies = subgroups(scores, "accuracy", "strategy")

    def cells(metric: str) -> dict[str, tuple[str, str, str]]:
        return {one: (metric, "strategy", one) for one in strategies}

    figures = [
        interval_figure(
            scores, cells("accuracy"), name="accuracy", title="Accuracy by strategy",
            note="Half of the questions are yes: a constant answer has 50 percent.",
        ),
        interval_figure(
            scores, cells("yes_ratio"), name="yes-ratio", title="How often a model says yes",
            note="The right share is 50 percent; more is a habit of saying yes.",
        ),
        interval_figure(
            scores, cells("f1"), name="f1", title="F1 by strategy",
            note="Of precision and recall of yes. Lines are 95% intervals by bootstrap over images.",
        ),
        interval_figure(
            scores, cells("paired"), name="paired", title="Both right",
            note="Of a present object and the absent one beside it, the share with both right.",
        ),
    ]  # fmt: skip
    text = "A model that names what is usually there falls from random to popular and adversarial objects."
    return [Section(title="Models", text=text, figures=with_figures(figures))]
