"""RAD of models from tables in memory: two aligned sets of questions, and answers to both."""

import dataclasses
from collections.abc import Iterator, Mapping

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.diagnostics.rad.config import ScoreConfig
from shortcut_miner.diagnostics.rad.differences import differences_from
from shortcut_miner.diagnostics.rad.pairs import Aligned
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.extraction import sentence_warning
from shortcut_miner.scoring.intervals import ALL, OVERALL, summarise
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.scorers import Choice, differing_in_form, fitting_choice, fitting_scorers
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.text import answer_forms

COMMAND = "rad score"
METRICS = ("rad", "rad_backward", "accuracy_original", "accuracy_augmented")
OFFICIAL = {"original": "vqa_accuracy_original", "augmented": "vqa_accuracy_augmented"}
_BY_TYPE, _BY_FORM = "augmentation", "form"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """RAD scores of models.

    Attributes
    ----------
    scores : pl.DataFrame
        metric (rad, rad_backward, accuracy_original, accuracy_augmented, in percent; of a side whose
        questions all have ten or more annotators' answers also vqa_accuracy_original, vqa_accuracy_augmented:
        the official VQA accuracy), group ("overall", "augmentation", or on a build "form"), subgroup (a form
        with its type, such as "how-many: bare"), scorer, model, value, n, low, high; n is the number of pairs
        (or questions) that the share is of, and value is null where that is 0.
    counts : pl.DataFrame
        model, augmentation (null: overall), pairs, original_right, augmented_right, both_right.
    differences : pl.DataFrame or None
        With a baseline: each other model's scores minus the baseline's, with intervals on the same resamples;
        metric (such as rad_difference), group, subgroup, scorer, model, baseline, value, n, low, high.
    notes : tuple of str
        What was decided while reading.
    """

    counts: pl.DataFrame
    differences: pl.DataFrame | None = None

    def paper_columns(self) -> PaperColumns:
        """Return accuracies and RAD overall, and RAD per type where there are several."""
        kinds = self.scores.filter(pl.col("group") == _BY_TYPE)["subgroup"].unique(maintain_order=True)
        overall = {
            "Original": "accuracy_original",
            "Augmented": "accuracy_augmented",
            "RAD": "rad",
        }
        return {heading: (metric, OVERALL, ALL) for heading, metric in overall.items()} | {
            f"RAD ({kind})": ("rad", _BY_TYPE, kind) for kind in kinds if len(kinds) > 1
        }


def score_aligned(
    aligned: Aligned,
    original: Mapping[str, pl.DataFrame],
    augmented: Mapping[str, pl.DataFrame],
    config: ScoreConfig,
) -> ScoreReport:
    """Score models from tables in memory.

    Parameters
    ----------
    aligned : Aligned
        Pairs and both sets of questions.
    original, augmented : mapping of str to pl.DataFrame
        Model -> question_id and answer, one row for each question that the pairs name.
    config : ScoreConfig
        Options.
    """
    sides = (
        _Side("original", aligned.originals, aligned.pairs["original_id"], original),
        _Side("augmented", aligned.augmented, aligned.pairs["augmented_id"], augmented),
    )
    choices = {side: side.choice() for side in sides} if config.correct == "soft" else {}
    official = {side.name: OFFICIAL[side.name] for side in sides if side.has_official_accuracy()}
    rights = {side.name: {model: side.right(model, config) for model in original} for side in sides}
    judged = pl.concat(
        _judged(aligned, {name: rights[name][model] for name in rights}).with_columns(model=pl.lit(model))
        for model in original
    )
    models, kinds = list(original), aligned.pairs[_BY_TYPE].unique().sort().to_list()
    forms = aligned.pairs[_BY_FORM].drop_nulls().unique().sort().to_list()
    groups = [(OVERALL, ALL), *((_BY_TYPE, kind) for kind in kinds), *((_BY_FORM, form) for form in forms)]
    parts = [
        _conditional(judged, "augmented_right", "original_right", "rad", config),
        _conditional(judged, "original_right", "augmented_right", "rad_backward", config),
        *(
            _accuracy(judged, 100.0 * pl.col(f"{side}_right"), f"{side}_id", f"accuracy_{side}", config)
            for side in OFFICIAL
        ),
        *(
            _accuracy(judged, pl.col(f"{side}_accuracy"), f"{side}_id", metric, config)
            for side, metric in official.items()
        ),
    ]
    metrics = (*METRICS, *official.values())
    is_right = pl.col("augmented_right").cast(pl.Float64)
    of_augmented = judged.select(
        "model", "image_id", question_id="augmented_id", subset=_BY_TYPE, accuracy=100 * is_right
    ).unique(["model", "question_id", "subset"], keep="first", maintain_order=True)
    return ScoreReport(
        command=COMMAND,
        scores=_complete(pl.concat(parts), metrics, models, groups, _scorer(config, choices)),
        counts=_counts(judged, models, kinds),
        differences=_compared(judged, config, tuple(official), _scorer(config, choices)),
        notes=tuple(f"{side.name}: {note}" for side, choice in choices.items() for note in choice.notes)
        + least_difference_note(of_augmented, config.baseline, "accuracy on augmentations"),
        warnings=tuple(text for side in sides for text in side.warnings(rights[side.name]))
        + tuple(text for side, choice in choices.items() for text in side.form_warnings(choice)),
    )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The original or the augmented questions, the ids that pairs name, and each model's answers to them."""

    name: str
    questions: pl.DataFrame
    needed: pl.Series
    answers: Mapping[str, pl.DataFrame]

    def choice(self) -> Choice:
        """Return the scorer of each question that the pairs name; ConfigError if annotators lack."""
        asked = self._named(self.questions)
        without = asked.filter(pl.col("answers").list.len().fill_null(0) == 0)["question_id"]
        if len(without):
            raise ConfigError(
                f"correct soft: got {len(without):,} {self.name} questions without annotators' answers: "
                f"{examples(without)}, expected some for each. Give --correct equal, which compares with the "
                "one right answer."
            )
        return fitting_choice(asked)

    def has_official_accuracy(self) -> bool:
        """Return whether every question that the pairs name has the ten answers that it was made for."""
        return fitting_scorers(self._named(self.questions)).unique().to_list() == ["vqa-official"]

    def right(self, model: str, config: ScoreConfig) -> pl.DataFrame:
        """Return question_id, whether the model's answer is right, and its official accuracy (or null).

        Of the questions that the pairs name.
        """
        answers = self._named(self.answers[model])
        right = _right(self.questions, answers, config)
        if not self.has_official_accuracy():
            return right.with_columns(accuracy=pl.lit(None, pl.Float64))
        asked = self.questions.join(answers.select("question_id"), on="question_id", how="semi")
        scored = score_questions(asked, answers, scorer="vqa-official").select("question_id", "accuracy")
        return right.join(scored, on="question_id", how="left", validate="1:1", maintain_order="left")

    def warnings(self, rights: Mapping[str, pl.DataFrame]) -> Iterator[str]:
        """Give a warning for each model that seems to answer in sentences."""
        for model in self.answers:
            answers = self._named(self.answers[model])
            judged = rights[model].join(
                answers, on="question_id", how="left", validate="1:1", maintain_order="left"
            )
            asked = judged.select("question_id").join(
                self.questions, on="question_id", how="left", validate="1:1", maintain_order="left"
            )
            text = sentence_warning(asked, judged, judged["right"])
            if text:
                yield f"{self.name} predictions of {model}: {text}"

    def form_warnings(self, choice: Choice) -> Iterator[str]:
        """Give a warning for each model that loses by the form of its answers."""
        for model, answers in self.answers.items():
            text = differing_in_form(self._named(self.questions), self._named(answers), choice.each)
            if text:
                yield f"{self.name} predictions of {model}: {text}. --correct equal takes them as right"

    def _named(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of questions that the pairs name."""
        return table.filter(pl.col("question_id").is_in(self.needed.implode()))


def _judged(aligned: Aligned, rights: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the pairs with image_id (the original's) and, of both sides, _right and _accuracy."""
    judged = aligned.pairs
    for side, table in rights.items():
        right = table.rename(
            {"question_id": f"{side}_id", "right": f"{side}_right", "accuracy": f"{side}_accuracy"}
        )
        judged = judged.join(right, on=f"{side}_id", how="left", validate="m:1", maintain_order="left")
    images = aligned.originals.select("image_id", original_id="question_id")
    return judged.join(images, on="original_id", how="left", validate="m:1", maintain_order="left")


def _right(questions: pl.DataFrame, answers: pl.DataFrame, config: ScoreConfig) -> pl.DataFrame:
    """Return question_id and whether the answer given is right."""
    given = answers.select("question_id", given="answer")
    asked = questions.join(given, on="question_id", how="inner", validate="1:1", maintain_order="left")
    if config.correct == "soft":
        scored = score_questions(asked.drop("given"), answers)
        # Accuracies are thirds of tenths: a threshold such as 0.6 must not fail by a rounding error.
        return scored.select("question_id", right=pl.col("accuracy") >= 100 * config.threshold - 1e-9)
    forms = answer_forms(pl.concat([asked["answer"].rename("answer"), asked["given"].rename("answer")]))
    normalised = forms.select("answer", "normalised")
    for name in ("answer", "given"):
        renamed = normalised.rename({"answer": name, "normalised": f"{name}_form"})
        asked = asked.join(renamed, on=name, how="left", validate="m:1", maintain_order="left")
    return asked.select("question_id", right=(pl.col("answer_form") == pl.col("given_form")).fill_null(False))


def _conditional(
    judged: pl.DataFrame, right: str, given: str, name: str, config: ScoreConfig
) -> pl.DataFrame:
    """Return the share of pairs with `right` among those with `given`, overall, per type and per form.

    Pairs without `given` stay in the table as another subgroup, so that all images are resampled.
    """
    grouped = judged.with_columns(
        (pl.col(right).cast(pl.Float64) * 100).alias(name),
        overall_given=pl.when(given).then(pl.lit(ALL)),
        type_given=pl.when(given).then(_BY_TYPE),
        form_given=pl.when(given).then(_BY_FORM),
    )
    by = ("overall_given", "type_given", "form_given")
    summary = summarise(grouped, by=by, metric=name, resamples=config.resamples, seed=config.seed)
    named = pl.col("group").replace_strict(dict(zip(by, (OVERALL, _BY_TYPE, _BY_FORM), strict=True)))
    kept = summary.filter(pl.col("group").is_in(by) & pl.col("subgroup").is_not_null())
    return kept.with_columns(group=named)


def _accuracy(
    judged: pl.DataFrame, accuracy: pl.Expr, key: str, name: str, config: ScoreConfig
) -> pl.DataFrame:
    """Return the mean accuracy of distinct questions, overall, per type and per form."""
    metric = judged.with_columns(accuracy.alias(name))
    options = {"metric": name, "resamples": config.resamples, "seed": config.seed}
    once = metric.unique(["model", key], keep="first", maintain_order=True)
    overall = summarise(once, **options)  # type: ignore[arg-type]
    grouped = []
    for by in (_BY_TYPE, _BY_FORM):
        once_a_group = metric.unique(["model", key, by], keep="first", maintain_order=True)
        summary = summarise(once_a_group, by=[by], **options)  # type: ignore[arg-type]
        grouped.append(summary.filter(pl.col("group") == by, pl.col("subgroup").is_not_null()))
    return pl.concat([overall, *grouped])


def _compared(
    judged: pl.DataFrame, config: ScoreConfig, official: tuple[str, ...], scorer: str
) -> pl.DataFrame | None:
    if config.baseline is None or judged["model"].n_unique() < 2:
        return None
    groups, options = (_BY_TYPE, _BY_FORM), {"resamples": config.resamples, "seed": config.seed}
    found = differences_from(judged, config.baseline, groups, official=official, **options)
    return found.select(
        "metric",
        "group",
        "subgroup",
        _with_official(scorer),
        pl.exclude("metric", "group", "subgroup"),
    )


def _scorer(config: ScoreConfig, choices: Mapping[_Side, Choice]) -> str:
    """Return what made an answer right; the official accuracy goes without saying."""
    if config.correct == "equal":
        return config.correct
    names = [*dict.fromkeys(choice.name for choice in choices.values())]
    told = "" if names == ["vqa-official"] else f" ({', '.join(names)})"
    return f"soft >= {config.threshold:g}{told}"


def _with_official(scorer: str) -> pl.Expr:
    """Return the column `scorer`: the official accuracy has its own."""
    is_official = pl.col("metric").str.starts_with("vqa_accuracy")
    return pl.when(is_official).then(pl.lit("vqa-official")).otherwise(pl.lit(scorer)).alias("scorer")


def _complete(
    scores: pl.DataFrame,
    metrics: tuple[str, ...],
    models: list[str],
    groups: list[tuple[str, str]],
    scorer: str,
) -> pl.DataFrame:
    """Return a row for every metric, group and model in their order; a share of nothing is null."""
    cells = [(metric, group, subgroup, model)
             for metric in metrics
             for group, subgroup in groups
             for model in models]  # fmt: skip
    keys = ["metric", "group", "subgroup", "model"]
    grid = pl.DataFrame(cells, schema=dict.fromkeys(keys, pl.String), orient="row")
    full = grid.join(scores, on=keys, how="left", validate="1:1", maintain_order="left")
    return full.select(
        *keys[:3], _with_official(scorer), "model", "value", pl.col("n").fill_null(0), "low", "high"
    )


def _counts(judged: pl.DataFrame, models: list[str], kinds: list[str]) -> pl.DataFrame:
    both = pl.col("original_right") & pl.col("augmented_right")
    sums = {
        "pairs": pl.len(),
        "original_right": pl.col("original_right").sum(),
        "augmented_right": pl.col("augmented_right").sum(),
        "both_right": both.sum(),
    }
    overall = judged.group_by("model").agg(**sums).with_columns(augmentation=pl.lit(None, pl.String))
    by_type = judged.group_by("model", _BY_TYPE).agg(**sums)
    order = {None: 0} | {kind: at for at, kind in enumerate(kinds, start=1)}
    return (
        pl.concat([overall, by_type.select(overall.columns)])
        .select("model", _BY_TYPE, *sums)
        .sort(
            pl.col("model").replace_strict(models, range(len(models))),
            pl.col(_BY_TYPE).replace_strict(order, default=0),
        )
    )
