"""Resplit: training and test questions with other answers (after Agrawal et al., CVPR 2018)."""

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.report.charts.bars import bars
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Figure, Number, RoomPage, Section, labelled, percent, with_shares
from shortcut_miner.report.rooms.models import (
    Build,
    interval_figure,
    room_page,
    scores_of,
    subgroups,
    with_figures,
)

TITLE = "Resplit: other answers to the same types"
MOST_TYPES = 15


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a resplit folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    counts, figures = folder.manifest["counts"], folder.manifest["figures"]
    is_cp = "test_groups" in counts
    how = (
        f"{counts['test_groups']:,} of {counts['groups']:,} groups are tested and no other."
        if is_cp
        else "The test is drawn by image; its rare answers, given a shortcut, are further tests."
    )
    summary = (
        f"Of {counts['questions']:,} questions {counts['test']:,} are a test. {how} Validation questions are "
        "of the training's kind, so that a model need not be tuned on the test."
    )
    bits = figures["shift"]["js_bits"]
    numbers = (
        Number(value=f"{counts['test']:,}", label="questions in the test", colour="vermilion",
               note=percent(counts["test"], counts["questions"])),
        Number(value=f"{counts['train']:,}", label="for training", colour="blue",
               note=f"and {counts['val']:,} for validation"),
        Number(value=f"{bits:.3f}", label="bits between all answers",
               note="Jensen-Shannon divergence of training and test", colour="grey"),
    )  # fmt: skip
    shown = [sides(counts), largest_types(folder.table("shift"))]
    if not is_cp:
        shown.append(tails(folder.table("groups")))
    text = "How many questions are on which side, and how far the answers of each type are from each other."
    return summary, numbers, [Section(title="Split", text=text, figures=with_figures(shown))]


def sides(counts: dict[str, int]) -> Figure:
    """Return how many questions are on each side."""
    names = ("train", "val", "test")
    counted = pl.DataFrame({"side": list(names), "count": [counts[name] for name in names]})
    table = with_shares(counted, "count")
    chart = bars(table, category="side", value="count", label="label", unit="questions")
    return Figure(
        name="sides", title="Sides", note=f"n = {counts['questions']:,} questions.", charts=(chart,),
        table=table, headings={"side": "Side", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def largest_types(shift: pl.DataFrame) -> Figure:
    """Return how far the answers of the largest types shift."""
    first = (
        shift.drop_nulls("js_bits")
        .with_columns(count=pl.col("train_count") + pl.col("test_count"))
        .sort("count", "question_type", descending=[True, False]).head(MOST_TYPES)
        .select("question_type", "js_bits", "train_count", "test_count", "top_answer")
    )  # fmt: skip
    table = first.with_columns(label=pl.Series([f"{one:.2f}" for one in first["js_bits"]], dtype=pl.String))
    chart = bars(
        labelled(table, "question_type"), category="question_type", value="js_bits", label="label",
        unit="bits",
    )  # fmt: skip
    return Figure(
        name="shift", title="Shift by type of question", table=table,
        charts=(chart,) if len(table) else (),
        note="Jensen-Shannon divergence of the answers of training and test: 1 where they have none in "
        f"common. The {MOST_TYPES} types with most questions on both sides.",
        headings={
            "question_type": "Type", "js_bits": "Bits", "train_count": "Training and validation",
            "test_count": "Test", "top_answer": "Most common answer",
        },
    )  # fmt: skip


def tails(groups: pl.DataFrame) -> Figure:
    """Return how many questions of the test have a rare answer, by shortcut."""
    counted = groups.group_by("shortcut", maintain_order=True).agg(
        pl.col("ood_count").sum().alias("count"), kept=pl.col("is_kept").sum()
    )
    table = counted.with_columns(label=pl.Series([f"{one:,}" for one in counted["count"]], dtype=pl.String))
    chart = bars(table, category="shortcut", value="count", label="label", unit="questions")
    return Figure(
        name="tails", title="Rare answers in the test", table=table, charts=(chart,) if len(table) else (),
        note="Questions of the test whose answer is rare in training, given the shortcut.",
        headings={"shortcut": "Shortcut", "count": "Questions", "kept": "Uneven groups"},
    )  # fmt: skip


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    kinds = subgroups(scores, "accuracy_test", "answer_type")
    shortcuts = subgroups(scores, "accuracy_test", "ood")
    sides_of = {"test": ("accuracy_test", "overall", "all"), "validation": ("accuracy_val", "overall", "all")}
    figures = [
        interval_figure(
            scores, sides_of, name="sides-accuracy", title="Accuracy on test and validation",
            note="Points are accuracies, lines 95% intervals by bootstrap over images. The priors answer by "
            "training's counts alone.",
        ),
        interval_figure(
            scores, {"all": ("drop", "overall", "all")}, name="drop", title="Drop from validation to test",
            note="In points, on the same resamples of images.", unit="points [95% interval]", domain=None,
        ),
        interval_figure(
            scores, {kind: ("accuracy_test", "answer_type", kind) for kind in kinds},
            name="types", title="Accuracy on the test by answer type", note="n counts questions of the test.",
        ),
        interval_figure(
            scores, {name: ("accuracy_test", "ood", name) for name in shortcuts},
            name="shortcuts", title="Accuracy where the answer is rare",
            note="By the shortcut that makes it rare.",
        ),
    ]  # fmt: skip
    text = "A model that answers by what was common in training falls where other answers are right."
    return [Section(title="Models", text=text, figures=with_figures(figures))]
