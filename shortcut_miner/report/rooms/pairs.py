"""Pairs: one shortcut, right once and wrong once (after Goyal et al., CVPR 2017)."""

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

TITLE = "Pairs: right once, wrong once"
MOST_RULES = 12


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a pairs folder, or of scores alone."""
    built = None if room.build is None else _of_build(room.build)
    return room_page(room, TITLE, built, _models(room))


def _of_build(folder: BuiltFolder) -> Build:
    counts, figures = folder.manifest["counts"], folder.manifest["figures"]
    has_rules = "rules_with_both_sides" in counts
    what = (
        "Both questions of a pair are answered alike by one rule, which is right on one of them."
        if has_rules
        else "Both questions of a pair have different answers that exclude each other."
    )
    summary = (
        f"Of {counts['questions']:,} questions {counts['pair_questions']:,} are in {counts['pairs']:,} pairs."
        f" {what} A model that looks at the image is right on both."
    )
    numbers = [
        Number(value=f"{counts['pairs']:,}", label="pairs", colour="blue",
               note=f"{percent(counts['pair_questions'], counts['questions'])} of the questions")
    ]  # fmt: skip
    if has_rules:
        numbers.append(
            Number(value=f"{counts['rules_with_pairs']:,}", label="rules with pairs", colour="green",
                   note=f"of {counts['rules_with_both_sides']:,} that are right here and wrong there")
        )  # fmt: skip
    if "groups" in counts:
        numbers.append(
            Number(value=f"{counts['groups']:,}", label="2 x 2 groups", note="two questions, two images",
                   colour="grey")
        )  # fmt: skip
    shown = [similarities(folder.table("pairs"))]
    shown += [rules_with_most(folder.table("rules"))] if folder.has("rules") else []
    shown += [unpaired(figures["unpaired"])]
    text = "How alike the two questions are, which rules have most pairs, and why other questions have none."
    return summary, tuple(numbers), [Section(title="Pairs", text=text, figures=with_figures(shown))]


def similarities(pairs: pl.DataFrame) -> Figure:
    """Return how many pairs share which part of their words."""
    tenth = (pl.col("question_similarity") * 10).floor().clip(upper_bound=9).cast(pl.Int64)
    counted = (
        pairs.with_columns(
            tenth=pl.when(pl.col("question_similarity") == 1).then(10).otherwise(tenth)
        )
        .group_by("tenth").agg(count=pl.len()).sort("tenth", descending=True)
        .with_columns(
            words=pl.when(pl.col("tenth") == 10).then(pl.lit("all words"))
            .otherwise(pl.format("{} to {} percent", pl.col("tenth") * 10, pl.col("tenth") * 10 + 10))
        )
        .select("words", "count")
    )  # fmt: skip
    table = with_shares(counted, "count")
    chart = bars(table, category="words", value="count", label="label", unit="pairs")
    return Figure(
        name="similarities", title="Words that both questions have", note=f"n = {len(pairs):,} pairs.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"words": "Of all words of both", "count": "Pairs", "share": "Percent"},
    )  # fmt: skip


def rules_with_most(rules: pl.DataFrame) -> Figure:
    """Return the rules that have the most pairs."""
    names = [name for name in rules.columns if name.startswith("antecedent_") and name != "antecedent_count"]
    table = (
        rules.filter(pl.col("pair_count") > 0)
        .sort("pair_count", "rule_id", descending=[True, False]).head(MOST_RULES)
        .with_columns(
            rule=pl.format("{} -> {}", pl.concat_list(names).list.join(" + "), "answer"),
            label=pl.col("pair_count").cast(pl.String),
        )
        .select("rule", "pair_count", "agree_count", "counter_count", "label")
    )  # fmt: skip
    chart = bars(labelled(table, "rule"), category="rule", value="pair_count", label="label", unit="pairs")
    return Figure(
        name="rules", title="Rules with the most pairs", table=table,
        charts=(chart,) if len(table) else (),
        note="A rule has as many questions on both sides as the table says; each question is in one pair.",
        headings={
            "rule": "Rule", "pair_count": "Pairs", "agree_count": "Questions it answers right",
            "counter_count": "Questions it answers wrong",
        },
    )  # fmt: skip


def unpaired(reasons: dict[str, int]) -> Figure:
    """Return why questions that could have been in a pair are in none."""
    counted = pl.DataFrame(
        list(reasons.items()), schema={"reason": pl.String, "count": pl.Int64}, orient="row"
    ).sort("count", "reason", descending=[True, False])
    table = with_shares(counted, "count")
    chart = bars(table, category="reason", value="count", label="label", unit="questions", colour="grey")
    return Figure(
        name="unpaired", title="Why questions are in no pair", note="What came nearest to a pair counts.",
        charts=(chart,) if len(table) else (), table=table,
        headings={"reason": "Reason", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def _models(room: FoundRoom) -> list[Section]:
    scores = scores_of(room)
    if scores is None:
        return []
    kinds = subgroups(scores, "pair_accuracy", "modality")

    def overall(**metrics: str) -> dict[str, tuple[str, str, str]]:
        return {label.replace("_", " "): (metric, "overall", "all") for label, metric in metrics.items()}

    figures = [
        interval_figure(
            scores, overall(both_right="pair_accuracy", one="one", neither="neither"),
            name="pairs", title="Pairs answered right",
            note="The share of pairs with both questions right, one of them, and neither.",
        ),
        interval_figure(
            scores,
            overall(
                where_the_rule_is_right="agree_accuracy", where_it_is_wrong="counter_accuracy",
                rule_followed_on_both="shortcut_rate",
            ),
            name="sides", title="With the rule and against it",
            note="A model that follows its shortcuts is better where these are right; the last chart has the "
            "share of pairs where it gives the rule's answer to both questions.",
        ),
        interval_figure(
            scores, {kind: ("pair_accuracy", "modality", kind) for kind in kinds},
            name="modalities", title="Both right, by what the rule speaks of",
            note="Rules about words, objects, or both.",
        ),
        interval_figure(
            scores, overall(both_images="q_acc", both_questions="i_acc", single="acc", all_four="g_acc"),
            name="groups", title="2 x 2 groups",
            note="Questions right about both images, images with both questions right, single answers, and "
            "groups with all four right (NaturalBench).",
        ),
    ]  # fmt: skip
    text = "Who answers a pair by one shortcut is right on one question at most."
    return [Section(title="Models", text=text, figures=with_figures(figures))]
