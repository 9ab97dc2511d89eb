"""What a score of FPVG gives back: its tables, and those of the article."""

import dataclasses

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.scoring.tables import PaperColumns

# The figures of the article's tables.
SHOWN_METRICS = (
    "fpvg_plus", "good_correct", "good_wrong", "bad_correct", "bad_wrong", "accuracy_all",
    "accuracy_relevant", "accuracy_irrelevant", "correct_to_incorrect_plus", "correct_to_incorrect_minus",
    "sufficiency", "comprehensiveness", "match_relevant", "match_irrelevant",
)  # fmt: skip
# Those of scores.tex, with their headings.
_PAPER = {
    "accuracy_all": "Accuracy",
    "fpvg_plus": "FPVG+",
    "good_correct": "FPVG+ correct",
    "good_wrong": "FPVG+ wrong",
    "bad_correct": "FPVG- correct",
    "bad_wrong": "FPVG- wrong",
}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one FPVG folder.

    Attributes
    ----------
    scores : pl.DataFrame
        metric, group, subgroup, scorer, model, value, n, low, high (as of
        :func:`shortcut_miner.scoring.intervals.summarise`). Groups: overall, structural, semantic, every
        question (evaluable or not); with id lists, the first three per list.
    categories : pl.DataFrame
        question_id, model, category (good or bad grounding, correct or wrong), one row an evaluated question.
    outcomes : pl.DataFrame
        list, model, outcome, count: the released script's finer counts.
    seeds : pl.DataFrame or None
        model, metric, group, subgroup, runs, median, largest_deviation, where a model has several runs.
    drops : pl.DataFrame or None
        model, metric, first, second, value_first, value_second, drop, with two id lists.
    quadrants : pl.DataFrame or None
        With probabilities; see :func:`shortcut_miner.diagnostics.fpvg.faithfulness.quadrants`.
    per_question : pl.DataFrame
        question_id, model, category, and where they are known sufficiency, comprehensiveness, and
        match_relevant, match_irrelevant and mass_relevant, by method.
    flips : pl.DataFrame or None
        Of each two runs; see :func:`shortcut_miner.diagnostics.fpvg.per_question.flips`.
    notes : tuple of str
        What was decided while reading.
    """

    categories: pl.DataFrame
    outcomes: pl.DataFrame
    seeds: pl.DataFrame | None
    drops: pl.DataFrame | None
    quadrants: pl.DataFrame | None
    per_question: pl.DataFrame
    flips: pl.DataFrame | None

    def paper_table(self) -> pl.DataFrame:
        """Return the article's figures over all questions: a row a figure of a group, a column a model."""
        shown = self.scores.filter(pl.col("subgroup") == "all", pl.col("metric").is_in(SHOWN_METRICS))
        return shown.pivot("model", index=["group", "metric"], values="value", maintain_order=True)

    def paper_columns(self) -> PaperColumns:
        """Return accuracy, FPVG+ and the four categories; with lists of ids for each list."""
        is_whole = (pl.col("metric") == "fpvg_plus") & (pl.col("subgroup") == "all")
        groups = self.scores.filter(is_whole)["group"].unique(maintain_order=True)
        return {
            heading if len(groups) == 1 else f"{group}: {heading}": (metric, group, "all")
            for group in groups
            for metric, heading in _PAPER.items()
        }
