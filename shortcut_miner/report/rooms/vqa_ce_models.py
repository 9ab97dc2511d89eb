"""The models' part of VQA-CE's page: accuracies, differences, and the shortcuts that they exploit."""

import polars as pl

from shortcut_miner.report.charts.intervals import dumbbells, interval_dots
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Figure, Section, label, labelled
from shortcut_miner.report.rooms.models import (
    SCORED,
    UNIT,
    interval_figure,
    scores_of,
    subgroups,
    with_figures,
)
from shortcut_miner.report.theme import SUBSET_COLOURS
from shortcut_miner.schemas import SUBSETS, antecedent_columns

MOST_EXPLOITED, MOST_TYPES = 12, 15


def model_sections(room: FoundRoom) -> list[Section]:
    """Return what the scores of a room say; nothing where there are none."""
    scores = scores_of(room)
    if scores is None:
        return []
    metric = scores["metric"][0] if len(scores) else "accuracy"
    cells = {"All questions": (metric, "overall", "all")}
    present = subgroups(scores, metric, "subset")
    cells |= {name: (metric, "subset", name) for name in SUBSETS if name in present}
    types = {f"{name}": (metric, "answer_type", name) for name in subgroups(scores, metric, "answer_type")}
    figures = [
        interval_figure(
            scores, cells, name="accuracy", title="Accuracy of each model",
            note="Points are accuracies, lines 95% intervals by bootstrap over images.",
            colours=SUBSET_COLOURS,
        ),
        interval_figure(
            scores, types, name="accuracy-by-answer-type", title="Accuracy by answer type",
            note="As above, by the type of the answer.",
        ),
        accuracy_by_question_type(scores),
    ]  # fmt: skip
    differences = scores_of(room, "differences")
    if differences is not None and len(differences):
        figures.append(_differences(differences))
    exploited = scores_of(room, "exploited_shortcuts")
    if exploited is not None:
        figures.append(exploited_shortcuts(exploited))
    return [
        Section(
            title="Models",
            text="A model that leans on these shortcuts loses on counterexamples what it wins on easy ones.",
            figures=with_figures(figures),
        )
    ]  # fmt: skip


def accuracy_by_question_type(scores: pl.DataFrame) -> Figure:
    """Return the accuracy of each model on the questions of each type, the frequent ones as charts."""
    of_types = scores.filter(
        pl.col("group") == "question_type", pl.col("subgroup").is_not_null(), pl.col("value").is_not_null()
    )
    table = of_types.sort("n", "subgroup", "model", descending=[True, False, False])
    types = table["subgroup"].unique(maintain_order=True).to_list()
    frequent = table.filter(pl.col("subgroup").is_in(types[:MOST_TYPES]))
    charts = tuple(
        interval_dots(
            labelled(of_model.with_columns(subgroup=_with_n(of_model)), "subgroup"),
            row="subgroup", unit=UNIT, title=label(str(model)),
        )
        for (model,), of_model in frequent.group_by("model", maintain_order=True)
    )  # fmt: skip
    cut = f"The {MOST_TYPES} most frequent of {len(types):,} types. " if len(types) > MOST_TYPES else ""
    return Figure(
        name="accuracy-by-question-type", title="Accuracy by question type", charts=charts, table=table,
        note=f"{cut}In brackets the number of questions.", headings=SCORED, least_width=430,
    )  # fmt: skip


def _with_n(scores: pl.DataFrame) -> pl.Series:
    """Return each subgroup with its number of questions in brackets."""
    rows = scores.select("subgroup", "n").iter_rows()
    return pl.Series([f"{subgroup} ({n:,})" for subgroup, n in rows], dtype=pl.String)


def _differences(differences: pl.DataFrame) -> Figure:
    metric, baseline = differences["metric"][0], differences["baseline"][0]
    cells = {"All questions": (metric, "overall", "all")}
    cells |= {name: (metric, "subset", name) for name in SUBSETS}
    return interval_figure(
        differences, cells, name="differences", title=f"Differences to {label(baseline)}",
        note="Paired, on the same resamples: an interval that leaves 0 out is a difference at the 5% level.",
        unit="percentage points [95% interval]", domain=None, colours=SUBSET_COLOURS,
    )  # fmt: skip


def exploited_shortcuts(exploited: pl.DataFrame) -> Figure:
    """Return the surest exploited shortcuts of each model (section 4.3)."""
    items = pl.concat_list(antecedent_columns(exploited)).list.join(" + ")
    shown = exploited.filter("is_exploited").with_columns(
        rule=pl.format("{} → {}", items, "answer"),
        rate=100 * pl.col("answer_rate"),
        agreed=100 * pl.col("counterexample_agreement"),
        label=pl.format("{} of {}", "counterexample_agreement_count", "counterexample_count"),
    )
    counts = dict(shown.group_by("model").agg(pl.len()).iter_rows())
    table = shown.unique(["model", "rule"], keep="first", maintain_order=True)
    table = table.group_by("model", maintain_order=True).head(MOST_EXPLOITED)
    charts = tuple(
        dumbbells(
            labelled(of_model, "rule"), row="rule", start="rate", end="agreed", label="label",
            names=("on all questions", "on the rule's counterexamples"), unit="percent of questions",
            title=f"{label(str(model))}: {counts[model]:,} exploited",
        )
        for (model,), of_model in table.group_by("model", maintain_order=True)
    )  # fmt: skip
    return Figure(
        name="exploited-shortcuts", title="Shortcuts that models exploit",
        note="How often a model gives a rule's answer where the rule fires and nobody gave that answer, and "
        f"how often it gives it anywhere. The {MOST_EXPLOITED} surest of each model; q below 0.05.",
        charts=charts, table=table,
        headings={
            "model": "Model", "rule": "Rule", "counterexample_count": "Counterexamples",
            "agreed": "Percent there", "rate": "Percent anywhere", "counterexample_q_value": "q",
        },
    )  # fmt: skip
