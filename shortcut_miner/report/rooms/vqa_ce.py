"""VQA-CE: the subsets, the rules behind them, and which of these models use (Dancette et al., ICCV 2021)."""

import dataclasses
from typing import Any

import polars as pl

from shortcut_miner.diagnostics.vqa_ce.outputs import VqaCeFolder, read_folder
from shortcut_miner.report.charts.bars import axis_end, bars, grouped_bars, share_bars
from shortcut_miner.report.charts.distributions import histograms
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Figure, Number, RoomPage, Section, labelled, percent, with_shares
from shortcut_miner.report.rooms.models import (
    room_page,
    scores_of,
    with_figures,
)
from shortcut_miner.report.rooms.vqa_ce_models import model_sections
from shortcut_miner.report.rule_examples import Examples, rule_examples
from shortcut_miner.report.rule_rows import chosen_rules, rule_rows
from shortcut_miner.report.theme import MODALITY_COLOURS, SUBSET_COLOURS, VERDICT_COLOURS
from shortcut_miner.schemas import MODALITIES, SUBSETS, VERDICTS, antecedent_columns

TITLE = "VQA-CE: shortcuts and their counterexamples"
MOST_ANSWERS, MOST_TYPES = 8, 20
_FEW_TYPES = 8  # more of them need the whole width
_SUBSET_WORDS = {
    "easy": "some rule is right",
    "counterexamples": "rules fire, all of them wrong",
    "hard": "no rule fires",
}
_ITEM_WORDS = {
    "antecedent_words": "question words",
    "antecedent_objects": "detected objects",
    "antecedent_attributes": "values of columns",
}
_VERDICT_WORDS = {
    "real": "holds on validation rows, and beyond its parts",
    "redundant": "a shorter rule says as much",
    "prior": "its answer is as common without it",
    "unstable": "weaker, or too rare, on validation rows",
    "chance": "as many by chance",
}


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a VQA-CE folder, or of scores alone."""
    built, rules = None, []
    if room.build is not None:
        folder = read_folder(room.build.path)
        sections = [_subsets(folder), _rules(folder)] if len(folder.rules) else [_subsets(folder)]
        built = _summary(folder), _numbers(folder), sections
        rules = [_rule_table(folder, scores_of(room, "exploited_shortcuts"), room.most_rules)]
    return room_page(room, TITLE, built, model_sections(room), rules)


def _numbers(folder: VqaCeFolder) -> tuple[Number, ...]:
    total = len(folder.split)
    counts = dict(folder.split["subset"].value_counts().iter_rows())
    subsets = [
        Number(
            value=f"{counts.get(name, 0):,}", label=name, colour=SUBSET_COLOURS[name],
            note=f"{percent(counts.get(name, 0), total)}: {_SUBSET_WORDS[name]}",
        )
        for name in SUBSETS
    ]  # fmt: skip
    return (
        *subsets,
        Number(
            value=f"{len(folder.rules):,}", label="rules", note=kinds_in_words(folder.rules) or "none found"
        ),
    )


def _items_in_words(rules: pl.DataFrame) -> str:
    """Return what rules are made of."""
    used = [words for name, words in _ITEM_WORDS.items() if name in rules and rules[name].list.len().sum()]
    names = used or [*_ITEM_WORDS.values()][:2]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def kinds_in_words(rules: pl.DataFrame) -> str:
    """Return how many rules there are of each kind."""
    kinds = dict(rules["modality"].value_counts().iter_rows())
    return ", ".join(
        f"{kinds[name]:,} {name.removesuffix('s') if kinds[name] == 1 else name}"
        for name in MODALITIES
        if name in kinds
    )


def rule_count(rules: pl.DataFrame) -> str:
    """Return how many rules there are, in words."""
    return "1 rule" if len(rules) == 1 else f"{len(rules):,} rules"


def _summary(folder: VqaCeFolder) -> str:
    counts = folder.manifest["counts"]
    return (
        f"{counts['train_questions']:,} training questions give {rule_count(folder.rules)}: "
        f"{_items_in_words(folder.rules)} that go with one answer. They sort "
        f"{len(folder.split):,} validation questions."
    )


# ---- subsets ----


def _subsets(folder: VqaCeFolder) -> Section:
    asked = folder.split.select("question_id", "subset").join(
        folder.questions.select("question_id", "answer", "answer_type", "question_type"),
        on="question_id", how="left", validate="1:1", maintain_order="left",
    )  # fmt: skip
    return Section(
        title="Subsets",
        text=(
            "A question is easy if some rule that fires on it is right, a counterexample if rules fire and "
            "all are wrong, and hard if none fires."
        ),
        figures=with_figures(
            [
                subset_sizes(asked),
                type_shares(asked, "answer_type"),
                frequent_answers(asked),
                type_shares(asked, "question_type"),
            ]
        ),
    )


def subset_sizes(asked: pl.DataFrame) -> Figure:
    """Return how many questions each subset has; `asked` has a subset a question."""
    counts = pl.DataFrame({"subset": SUBSETS}).join(
        asked.group_by("subset").agg(count=pl.len()), on="subset", how="left", validate="1:1",
        maintain_order="left",
    )  # fmt: skip
    table = with_shares(counts.with_columns(pl.col("count").fill_null(0)), "count")
    chart = bars(
        table, category="subset", value="count", label="label", unit="questions", colours=SUBSET_COLOURS
    )
    return Figure(
        name="subset-sizes", title="How many questions each subset has",
        note=f"n = {len(asked):,} validation questions.", charts=(chart,), table=table,
        headings={"subset": "Subset", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def frequent_answers(asked: pl.DataFrame) -> Figure:
    """Return the most frequent answers of each subset (Figure 6)."""
    counted = (
        asked.filter(pl.col("answer").is_not_null())
        .group_by("subset", "answer").agg(count=pl.len())
        .with_columns(share=100 * pl.col("count") / pl.col("count").sum().over("subset"))
        .sort("subset", "count", "answer", descending=[False, True, False])
        .group_by("subset", maintain_order=True).head(MOST_ANSWERS)
    )  # fmt: skip
    table = counted.with_columns(label=pl.format("{}%", pl.col("share").round(1)))
    charts, end = [], axis_end(table, "share")
    for name in SUBSETS:
        of_subset = table.filter(pl.col("subset") == name)
        if len(of_subset):
            n = int((asked["subset"] == name).sum())
            chart = bars(
                labelled(of_subset, "answer"), category="answer", value="share", label="label",
                unit="percent of the subset", colour=SUBSET_COLOURS[name], end=end,
            )  # fmt: skip
            charts.append(chart.properties(title=f"{name} (n = {n:,})"))
    return Figure(
        name="answers", title="The most frequent answers of each subset",
        note=f"The first {MOST_ANSWERS} answers, in percent of the subset's questions. After Figure 6.",
        charts=tuple(charts), table=table,
        headings={"subset": "Subset", "answer": "Answer", "count": "Questions", "share": "Percent"},
    )  # fmt: skip


def type_shares(asked: pl.DataFrame, column: str) -> Figure:
    """Return how the questions of each type fall into the subsets (Figures 7 and 8)."""
    kind = column.replace("_", " ")
    counted = (
        asked.filter(pl.col(column).is_not_null())
        .group_by(column, "subset").agg(count=pl.len())
        .with_columns(n=pl.col("count").sum().over(column))
        .with_columns(share=100 * pl.col("count") / pl.col("n"))
    )  # fmt: skip
    types = counted.select(column, "n").unique().sort("n", column, descending=[True, False])
    order = pl.DataFrame({"subset": SUBSETS, "rank": range(len(SUBSETS))})
    table = (
        types.head(MOST_TYPES).select(column)
        .join(counted, on=column, how="left", validate="1:m", maintain_order="left")
        .join(order, on="subset", how="left", validate="m:1", maintain_order="left")
        .sort(pl.col("n"), column, "rank", descending=[True, False, False])
        .drop("rank")
    )  # fmt: skip
    named = (
        labelled(table, column).with_columns(
            pl.format("{} ({})", column, pl.Series("n", [f"{n:,}" for n in table["n"]], pl.String)).alias(
                column
            )
        )
        if len(table)
        else table
    )
    chart = (
        share_bars(
            named,
            category=column,
            part="subset",
            value="share",
            colours=SUBSET_COLOURS,
            unit="percent of questions",
        )
        if len(table)
        else None
    )
    figure = {"answer type": "Figure 8", "question type": "Figure 7"}[kind]
    cut = f"The {MOST_TYPES} most frequent of {len(types):,}. " if len(types) > MOST_TYPES else ""
    return Figure(
        name=column.replace("_", "-"), title=f"Subsets by {kind}",
        note=f"{cut}In brackets the number of questions. After {figure}.",
        charts=() if chart is None else (chart,), table=table,
        headings={column: kind.capitalize(), "subset": "Subset", "count": "Questions", "share": "Percent"},
        least_width=300 if len(types) <= _FEW_TYPES else 600,
    )  # fmt: skip


# ---- rules ----


def _rules(folder: VqaCeFolder) -> Section:
    figures = folder.manifest["figures"]
    return Section(
        title="Rules",
        text=(
            f"A rule is a set of {_items_in_words(folder.rules)}, and the answer that goes with it. Its "
            "confidence is the share of rows with that set which have that answer."
        ),
        figures=with_figures(
            [
                confidence_histogram(figures),
                rule_lengths(folder.rules),
                best_modalities(figures, folder.manifest["counts"]["train_rows"]),
                verdict_counts(folder.rules),
            ]
        ),
    )


def confidence_histogram(figures: dict[str, Any]) -> Figure:
    """Return how confident rules are on training and on validation rows (Figure 5)."""
    histogram = figures.get("confidence_histogram", {"edges": [], "train": [], "val": []})
    edges = histogram["edges"]
    table = pl.concat(
        pl.DataFrame(
            {"low": edges[:-1], "high": edges[1:], "count": histogram[name]},
            schema={"low": pl.Float64, "high": pl.Float64, "count": pl.Int64},
        ).select(pl.lit(part).alias("part"), pl.all())
        for name, part in (("train", "training rows"), ("val", "validation rows"))
    )
    parts = {"training rows": "blue", "validation rows": "vermilion"}
    total = {part: table.filter(pl.col("part") == part)["count"].sum() for part in parts}
    chart = histograms(table, parts=parts, unit="confidence", counted="rules")
    return Figure(
        name="confidence", title="How confident rules are on training and validation rows",
        note=f"n = {total['training rows']:,} rules; {total['validation rows']:,} of them fire on validation "
        "rows. After Figure 5.",
        charts=(chart,) if table["count"].sum() else (), table=table,
        headings={"part": "Rows", "low": "From", "high": "To", "count": "Rules"},
    )  # fmt: skip


def rule_lengths(rules: pl.DataFrame) -> Figure:
    """Return how many items rules have, by what these are."""
    length = pl.sum_horizontal(pl.col(name).list.len() for name in antecedent_columns(rules))
    table = (
        rules.select("modality", length=length).group_by("length", "modality").agg(count=pl.len())
        .join(pl.DataFrame({"modality": MODALITIES, "rank": range(len(MODALITIES))}), on="modality",
              how="left", validate="m:1")
        .sort("length", "rank").drop("rank")
    )  # fmt: skip
    colours = {name: MODALITY_COLOURS[name] for name in MODALITIES if name in set(table["modality"])}
    items = pl.format(
        "{} item{}", "length", pl.when(pl.col("length") == 1).then(pl.lit("")).otherwise(pl.lit("s"))
    )
    chart = grouped_bars(
        table.with_columns(items=items), category="items", part="modality", value="count", colours=colours,
        unit="rules",
    ) if len(table) else None  # fmt: skip
    return Figure(
        name="rule-lengths", title="Rules by length and kind of items",
        note=f"n = {rule_count(rules)}.", charts=() if chart is None else (chart,), table=table,
        headings={"length": "Items", "modality": "Kind", "count": "Rules"},
    )  # fmt: skip


def best_modalities(figures: dict[str, Any], rows: int) -> Figure:
    """Return of what kind the most confident rule of a training row is (Figure 4)."""
    shares = figures.get("most_confident_rule_modality_share", {})
    table = pl.DataFrame(
        [(name, None if shares.get(name) is None else 100 * shares[name]) for name in shares],
        schema={"modality": pl.String, "share": pl.Float64}, orient="row",
    ).drop_nulls()  # fmt: skip
    chart = bars(
        table.with_columns(label=pl.format("{}%", pl.col("share").round(1))), category="modality",
        value="share", label="label", unit="percent of rows", colours=MODALITY_COLOURS,
    ) if len(table) else None  # fmt: skip
    return Figure(
        name="most-confident-rule", title="What kind of rule is the most confident one of a row",
        note=f"Of those of the {rows:,} training rows on which some rule fires. After Figure 4.",
        charts=() if chart is None else (chart,), table=table,
        headings={"modality": "Kind", "share": "Percent"},
    )  # fmt: skip


def verdict_counts(rules: pl.DataFrame) -> Figure:
    """Return how many rules have which verdict."""
    known = rules["verdict"].drop_nulls() if "verdict" in rules.columns else pl.Series([], dtype=pl.String)
    order = [name for name in reversed(VERDICTS) if len(known)]
    counts = [int((known == name).sum()) for name in order]
    table = with_shares(pl.DataFrame({"verdict": order, "count": counts},
                                     schema={"verdict": pl.String, "count": pl.Int64}), "count")  # fmt: skip
    table = table.with_columns(
        meaning=pl.col("verdict").replace_strict(_VERDICT_WORDS, return_dtype=pl.String)
    )
    chart = bars(
        table, category="verdict", value="count", label="label", unit="rules", colours=VERDICT_COLOURS
    ) if len(known) else None  # fmt: skip
    return Figure(
        name="verdicts", title="Which rules stand up to scrutiny",
        note=f"n = {len(known):,} rules. "
        + "; ".join(f"{name}: {_VERDICT_WORDS[name]}" for name in order) + ".",
        charts=() if chart is None else (chart,), table=table,
        headings={"verdict": "Verdict", "count": "Rules", "share": "Percent", "meaning": "Meaning"},
    )  # fmt: skip


# ---- the table of rules ----


def _rule_table(folder: VqaCeFolder, exploited: pl.DataFrame | None, most_rules: int) -> Section:
    rules = chosen_rules(folder.rules, most_rules)
    examples = rule_examples(dataclasses.replace(folder, rules=rules))
    used = None if exploited is None else exploited.filter("is_exploited").select("model", "rule_id")
    return rule_section(rules, len(folder.rules), examples, used)


def rule_section(
    rules: pl.DataFrame, total: int, examples: Examples, used: pl.DataFrame | None = None
) -> Section:
    """Return the table of rules.

    Parameters
    ----------
    rules, total, examples, used
        See :func:`shortcut_miner.report.rule_rows.rule_rows`.
    """
    has_questions = bool(examples.questions)
    opened = "questions that it gets right and wrong" if has_questions else "its measures"
    further = ", lift, leverage, q value, improvement and what validation rows say"
    cut = (
        f" Of {total:,} rules it holds {len(rules):,}: the first by confidence, count"
        f"{further if has_questions else ' and lift'}."
        if total > len(rules)
        else ""
    )
    return Section(
        title="All rules" if not cut else "The strongest rules",
        text=f"Search for words, objects and answers; open a rule to see {opened}.{cut}" if total else "",
        rules=rule_rows(rules, total, examples, used),
    )
