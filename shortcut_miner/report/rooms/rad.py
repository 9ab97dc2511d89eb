"""RAD: augmentations by type and form, and how consistent models are (Rosenberg et al., ACL 2021)."""

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.bars import axis_end, bars, grouped_bars
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

TITLE = "RAD: questions asked again"
MOST_SUBSTITUTES = 8
_ANSWERS = {"yes": "blue", "no": "vermilion"}


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a RAD folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    made = folder.table("augmentations")
    questions = folder.manifest["counts"]["questions"]
    originals = made["original_id" if "original_id" in made else "question_id"]
    summary = (
        f"Of {questions:,} questions {originals.n_unique():,} are asked again as yes/no "
        "questions whose answers follow from the first ones. A consistent model answers both alike."
    )
    return summary, _numbers(folder, made), [_augmentations(folder, made)]


def _numbers(folder: BuiltFolder, made: pl.DataFrame) -> tuple[Number, ...]:
    yes = int((made["answer"] == "yes").sum())
    types = made["augmentation"].n_unique()
    return (
        Number(value=f"{len(made):,}", label="augmentations", colour="blue",
               note=f"of {types} type{'' if types == 1 else 's'}"),
        Number(value=f"{yes:,}", label="with the answer yes", note=percent(yes, len(made)), colour="green"),
        Number(value=f"{folder.manifest['counts']['skipped']:,}", label="questions without one",
               note="no type's opening fits, or the sentence does not", colour="grey"),
    )  # fmt: skip


def _augmentations(folder: BuiltFolder, made: pl.DataFrame) -> Section:
    return Section(
        title="Augmentations",
        text=(
            "An augmentation asks for a given answer as a yes/no question, with the right answer or another "
            "one of the same type put in."
        ),
        figures=with_figures(
            [
                answers_by_type(made),
                forms_by_type(made),
                skip_reasons(folder.table("skipped")),
                substitutes(folder.table("pools")),
            ]
        ),
    )


def answers_by_type(made: pl.DataFrame) -> Figure:
    """Return how many augmentations of each type are right with yes and with no."""
    table = (
        made.group_by("augmentation", "answer").agg(count=pl.len())
        .sort("augmentation", "answer", descending=[False, True])
    )  # fmt: skip
    chart = grouped_bars(
        table, category="augmentation", part="answer", value="count", colours=_ANSWERS, unit="augmentations"
    )
    return Figure(
        name="answers", title="Right answers by type", note=f"n = {len(made):,} augmentations.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"augmentation": "Type", "answer": "Answer", "count": "Augmentations"},
    )  # fmt: skip


def forms_by_type(made: pl.DataFrame) -> Figure:
    """Return how many augmentations have which form of sentence."""
    counted = made.group_by("augmentation", "form").agg(count=pl.len()).sort("augmentation", "form")
    table = with_shares(counted, "count").with_columns(name=pl.format("{}: {}", "augmentation", "form"))
    chart = bars(table, category="name", value="count", label="label", unit="augmentations")
    return Figure(
        name="forms", title="Forms of the new questions", note=f"n = {len(made):,} augmentations.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"augmentation": "Type", "form": "Form", "count": "Augmentations", "share": "Percent"},
    )  # fmt: skip


def skip_reasons(skipped: pl.DataFrame) -> Figure:
    """Return why questions have no augmentation."""
    counted = skipped.group_by("reason").agg(count=pl.len()).sort("count", "reason", descending=[True, False])
    table = with_shares(counted, "count")
    chart = bars(table, category="reason", value="count", label="label", unit="questions", colour="grey")
    return Figure(
        name="skipped", title="Why questions are not asked again", note=f"n = {len(skipped):,} questions.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"reason": "Reason", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def substitutes(pools: pl.DataFrame) -> Figure:
    """Return the answers that are put in most often, by type."""
    table = (
        pools.group_by("augmentation", "substitute").agg(pl.col("count").sum())
        .sort("augmentation", "count", "substitute", descending=[False, True, False])
        .group_by("augmentation", maintain_order=True).head(MOST_SUBSTITUTES)
    )  # fmt: skip
    charts = []
    table = table.with_columns(label=pl.Series([f"{one:,}" for one in table["count"]], dtype=pl.String))
    for (kind,), of_type in table.group_by("augmentation", maintain_order=True):
        chart = bars(
            labelled(of_type, "substitute"), category="substitute", value="count", label="label",
            unit="answers in the pool", end=axis_end(table, "count"),
        )  # fmt: skip
        charts.append(chart.properties(title=str(kind)))
    return Figure(
        name="pools", title="What can be put in", table=table, charts=tuple(charts),
        note=f"The {MOST_SUBSTITUTES} most frequent answers of each type's pool.",
        headings={"augmentation": "Type", "substitute": "Answer", "count": "Questions"},
    )  # fmt: skip


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    types = subgroups(scores, "rad", "augmentation")
    every = subgroups(scores, "rad", "form")
    of_types = [one.partition(":")[0] for one in every]
    # A type with one form says the same above.
    forms = {
        one: ("rad", "form", one)
        for one, kind in zip(every, of_types, strict=True)
        if of_types.count(kind) > 1
    }

    def cells(metric: str) -> dict[str, tuple[str, str, str]]:
        whole = {"all types": (metric, "overall", "all")}
        return whole | {one: (metric, "augmentation", one) for one in types}

    figures = [
        interval_figure(
            scores, cells("rad"), name="consistency", title="Consistency by type",
            note="Of the questions that a model answers right, the share whose augmentations it answers "
            "right too: RAD. n counts these questions.",
        ),
        interval_figure(
            scores, forms, name="consistency-by-form", title="Consistency by form",
            note="RAD by the form of the new question's sentence, as counted above.",
        ),
        interval_figure(
            scores, cells("rad_backward"), name="backward", title="Consistency the other way",
            note="Of the augmentations that a model answers right, the share whose questions it does "
            "too.",
        ),
        interval_figure(
            scores,
            {
                "original questions": ("accuracy_original", "overall", "all"),
                "augmentations": ("accuracy_augmented", "overall", "all"),
            },
            name="accuracy", title="Accuracy on both sides",
            note="Points are accuracies, lines 95% intervals by bootstrap over images.",
        ),
    ]  # fmt: skip
    text = "A model that sees what it says is as sure of the answer when it is asked again."
    return [Section(title="Models", text=text, figures=with_figures(figures))]
