"""Score: the article's table for any number of models, and which shortcuts each model exploits.

Accuracy overall and per subset (Dancette et al., ICCV 2021, Table 3), with intervals by bootstrap over
images, or a table's groups; and per rule how often a model gives the rule's answer where the rule fires
(section 4.3).
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.answers import fit_answers
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import check_score_target, write_report
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig
from shortcut_miner.diagnostics.vqa_ce.encoded import EncodedFolder, encode_folder, normalised
from shortcut_miner.diagnostics.vqa_ce.outputs import VqaCeFolder, read_folder
from shortcut_miner.diagnostics.vqa_ce.shortcuts import cluster_column
from shortcut_miner.encoding import accepted_classes, numbers_of
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.evidence.measures import binomial_excess_p, false_discovery_q
from shortcut_miner.mining.matcher import Accepted, RuleIndex, index_for, match_totals
from shortcut_miner.options import Scorer
from shortcut_miner.schemas import antecedent_columns
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.scoring.intervals import compare, summarise
from shortcut_miner.scoring.scorers import Choice, choose_scorer, differing_in_form
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.sources.answers.predictions import read_answers
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.opening.ids import with_zeros_back

COMMAND = "vqa-ce score"
GROUPS = ("subset", "answer_type", "question_type")
MAX_Q = 0.05
CLASSIFIERS = {"rules (best)": "best", "rules (weighted)": "weighted"}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one VQA-CE folder.

    Attributes
    ----------
    scores : pl.DataFrame
        Accuracy in percent per model: overall, per subset, answer type and question type, with n and a
        95% interval (see :func:`shortcut_miner.scoring.intervals.summarise`).
    differences : pl.DataFrame or None
        Paired differences to the baseline, if one was named.
    exploited_shortcuts : pl.DataFrame
        One row a model and rule, most exploited first (see :func:`exploited_shortcuts`).
    notes : tuple of str
        What was decided while reading.
    """

    differences: pl.DataFrame | None
    exploited_shortcuts: pl.DataFrame

    @property
    def exploited(self) -> pl.DataFrame:
        """The exploited shortcuts, by their former name."""
        return self.exploited_shortcuts

    def paper_table(self) -> pl.DataFrame:
        """Return the article's table: a row a model, columns Overall, Counterexamples, Easy and Hard."""
        shown = self.scores.filter(pl.col("group").is_in(["overall", "subset"]))
        wide = shown.pivot("subgroup", index="model", values="value")
        order = [name for name in ("all", "counterexamples", "easy", "hard") if name in wide.columns]
        return wide.select("model", *order).rename({"all": "overall"})

    def paper_columns(self) -> PaperColumns:
        """Return the article's columns (Table 3): Overall, Counterexamples and Easy."""
        return {
            "Overall": ("accuracy", "overall", "all"),
            "Counterexamples": ("accuracy", "subset", "counterexamples"),
            "Easy": ("accuracy", "subset", "easy"),
        }


def score(
    path: Path,
    predictions: Mapping[str, Path],
    config: ScoreConfig,
    out: Path | None = None,
    *,
    soft_labels: Path | None = None,
    force: bool = False,
) -> ScoreReport:
    """Score models' predictions on the folder of a build.

    Parameters
    ----------
    path : Path
        What ``vqa-ce build`` wrote.
    predictions : mapping of str to Path
        Model name -> file of question_id and answer, one for each evaluated question; what else there may
        be is `config`'s to say.
    config : ScoreConfig
        Options.
    out : Path, optional
        Folder for scores.parquet, exploited_shortcuts.parquet, scores.{json,md,tex}, scores_long.tex
        and manifest.json.
    soft_labels : Path, optional
        Weights of each question's answers, for the scorer "soft-labels" (see
        :func:`shortcut_miner.sources.answers.soft_labels.read_soft_labels`).
    force : bool
        Replace the scores of a run with other options.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids.
    ConfigError
        No predictions, a name that stands for something else, or soft labels with another scorer.
    """
    _check_names(predictions, config)
    scorer = _scorer(config, soft_labels)
    folder = read_folder(path)
    recorded = dataclasses.asdict(config) | {"scorer": scorer, "build": folder.manifest["config"]}
    read = {"folder": path, "predictions": [*predictions.values()], "soft_labels": soft_labels or ()}
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    ids = folder.questions["question_id"]
    given = {
        f"predictions of {name}": with_zeros_back(read_answers(file, config), ids)
        for name, file in predictions.items()
    }
    labels = {}
    if soft_labels is not None:
        weighted = read_soft_labels(soft_labels, on_bad_row=config.on_bad_row)
        labels["soft labels"] = with_zeros_back(weighted, ids)
    facts = InputFacts.of(given | labels)
    fitted = fit_answers(
        {role: [reading] for role, reading in given.items()}, known=ids, needed=ids, options=config
    )
    folder = dataclasses.replace(
        folder, questions=folder.questions.filter(~ids.is_in(fitted.left_out.implode()))
    )
    answers = {
        name: table.filter(table["question_id"].is_in(folder.questions["question_id"].implode()))
        for name, table in zip(predictions, fitted.answers.values(), strict=True)
    }
    chosen = choose_scorer(folder.questions, scorer)
    config = dataclasses.replace(config, scorer=cast(Scorer, chosen.as_option))
    weights = next((reading.table for reading in labels.values()), None)
    answers, texts, told = extract_all(answers, config.extract, folder.questions)
    encoded = encode_folder(folder)
    everyone = answers | _classifier_answers(folder, encoded)
    questions = folder.questions.join(
        folder.split.select("question_id", "subset"), on="question_id", how="left", validate="1:1",
        maintain_order="left",
    )  # fmt: skip
    clusters = cluster_column(questions)
    added = questions.select("question_id", "subset", *({clusters} - {"image_id"}))
    scored = pl.concat(
        score_questions(questions, table, scorer=scorer, model=name, soft_labels=weights).join(
            added, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        for name, table in everyone.items()
    )
    options: dict[str, Any] = {"by": GROUPS, "clusters": clusters}
    options |= {"resamples": config.resamples, "seed": config.seed}
    if clusters != "image_id" and config.resamples:
        told += (f"intervals by bootstrap over groups: {questions[clusters].n_unique():,}",)
    report = ScoreReport(
        command=COMMAND,
        scores=_in_order(summarise(scored, **options), list(everyone)),
        differences=compare(scored, baseline=config.baseline, **options) if config.baseline else None,
        exploited_shortcuts=exploited_shortcuts(folder, answers, config),
        notes=facts.notes + fitted.notes + told + chosen.notes,
        warnings=fitted.warnings
        + _baseline_warnings(answers, everyone)
        + chosen.warnings
        + _form_warnings(folder.questions, answers, chosen)
        + _sentence_warnings(folder.questions, answers, scored),
        extracted_answers=texts,
        dropped={**facts.dropped, **fitted.dropped},
    )
    if out is not None:
        write_report(
            out,
            report,
            config=recorded | {"scorer": config.scorer},
            inputs=facts.records,
            counts={"questions": len(folder.questions), "rules": len(folder.rules), "models": len(given)}
            | chosen.counts,
            force=force,
        )
    return report


def exploited_shortcuts(
    folder: VqaCeFolder, answers: Mapping[str, pl.DataFrame], config: ScoreConfig
) -> pl.DataFrame:
    """Return how often each model gives a rule's answer where the rule fires.

    Parameters
    ----------
    folder : VqaCeFolder
        Rules and evaluated questions.
    answers : mapping of str to pl.DataFrame
        Model -> schemas.Predictions.
    config : ScoreConfig
        ``min_count`` rows where a rule must fire; the scorer "exact" compares answers as given, every
        other one after VQA normalisation.

    Returns
    -------
    pl.DataFrame
        model, rule_id, antecedent_words, antecedent_objects, antecedent_attributes if the rules have it,
        answer; firing_count, agreement_count, agreement (their ratio); the same on the rule's counterexamples
        (it fires, no annotator gave its answer) as counterexample_count, counterexample_agreement_count,
        counterexample_agreement; answer_rate, the share of all questions to which the model gives this
        answer; p_value and counterexample_p_value, the binomial probability of as much agreement at that
        rate; q_value and counterexample_q_value after Benjamini and Yekutieli; is_exploited, whether the
        model gives the rule's answer on its counterexamples more often than anywhere, with a
        counterexample_q_value below 0.05. In the order of `answers`, exploited rules first, the surest of
        them first.
    """
    encoded = encode_folder(folder, normalise_answers=config.scorer != "exact")
    compared = folder.questions
    if config.scorer != "exact":
        compared = _with_normalised_answers(compared)
    accepted = Accepted(*accepted_classes(compared, encoded.vocabulary))
    rows = encoded.rows
    index = index_for(encoded.rules, rows)
    firing = match_totals(index, rows, accepted)
    parts = []
    for model, table in answers.items():
        given = compared.select("question_id").join(
            table, on="question_id", how="left", validate="1:1", maintain_order="left"
        )["answer"]
        given = given if config.scorer == "exact" else normalised(given)
        classes = numbers_of(given, encoded.vocabulary.answers)
        agreed = _agreement(index, encoded, classes, accepted)
        rate = np.bincount(classes[classes >= 0], minlength=encoded.vocabulary.class_count) / max(
            len(classes), 1
        )
        parts.append(
            folder.rules.select("rule_id", *antecedent_columns(folder.rules), "answer").select(
                pl.lit(model).alias("model"),
                pl.all(),
                firing_count=pl.Series(firing.rule_fired),
                agreement_count=pl.Series(agreed[0]),
                counterexample_count=pl.Series(firing.rule_fired - firing.rule_accepted),
                counterexample_agreement_count=pl.Series(agreed[1]),
                answer_rate=pl.Series(rate[encoded.rules.answers]),
            )
        )
    return _with_chance(pl.concat(parts).filter(pl.col("firing_count") >= config.min_count))


def _agreement(
    index: RuleIndex, encoded: EncodedFolder, classes: npt.NDArray[np.int32], accepted: Accepted
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return per rule how often the model agrees with it: where it fires, and on its counterexamples."""
    everywhere = dataclasses.replace(encoded.rows, classes=classes)
    row = np.repeat(np.arange(len(classes)), np.diff(accepted.offsets))
    is_right = np.zeros(len(classes), np.bool_)
    is_right[row[(accepted.classes == classes[row]) & (accepted.classes >= 0)]] = True
    # Agreeing on a counterexample means giving the rule's answer where that answer is wrong.
    wrong = dataclasses.replace(encoded.rows, classes=np.where(is_right, -1, classes).astype(np.int32))
    return match_totals(index, everywhere).rule_right, match_totals(index, wrong).rule_right


def _with_normalised_answers(questions: pl.DataFrame) -> pl.DataFrame:
    lists = questions["answers"]
    flat = normalised(lists.filter(lists.list.len() > 0).explode())
    offsets = np.concatenate(([0], np.cumsum(lists.list.len().fill_null(0).to_numpy()))).astype(np.int64)
    rows = pl.DataFrame({"row": np.repeat(np.arange(len(lists)), np.diff(offsets)), "answers": flat})
    grouped = rows.group_by("row", maintain_order=True).agg("answers")
    numbered = questions.drop("answers").with_columns(
        pl.int_range(pl.len()).alias("row"), answer=normalised(questions["answer"])
    )
    return numbered.join(grouped, on="row", how="left", validate="1:1", maintain_order="left").drop("row")


def _with_chance(exploited: pl.DataFrame) -> pl.DataFrame:
    """Return the table with ratios, p and q values, sorted."""
    parts = []
    for table in exploited.partition_by("model", maintain_order=True) or [exploited]:
        for prefix, count in (("", "firing_count"), ("counterexample_", "counterexample_count")):
            agreed, rows = table[f"{prefix}agreement_count"].to_numpy(), table[count].to_numpy()
            p_value = binomial_excess_p(agreed, rows, table["answer_rate"].to_numpy())
            table = table.with_columns(
                pl.Series(f"{prefix}agreement", agreed / np.maximum(rows, 1)).set(pl.Series(rows == 0), None),
                pl.Series(f"{prefix}p_value", p_value),
                pl.Series(f"{prefix}q_value", false_discovery_q(p_value, "by")),
            )
        exceeds_chance = pl.col("counterexample_agreement") > pl.col("answer_rate")
        is_exploited = (pl.col("counterexample_q_value") < MAX_Q) & exceeds_chance
        strength = ["counterexample_q_value", "counterexample_p_value", "q_value", "rule_id"]
        table = table.with_columns(is_exploited=is_exploited.fill_null(False))
        parts.append(table.sort("is_exploited", *strength, descending=[True] + [False] * len(strength)))
    return pl.concat(parts)


def _classifier_answers(folder: VqaCeFolder, encoded: EncodedFolder) -> dict[str, pl.DataFrame]:
    """Return the rule classifier's answers by both votes, as a baseline."""
    kept = np.flatnonzero(folder.rules["in_classifier"].to_numpy())
    answers = {}
    for name, vote in CLASSIFIERS.items():
        classes, rule = classifier.predict(encoded.rules, kept, encoded.rows, vote)  # type: ignore[arg-type]
        given = encoded.vocabulary.answers.gather(pl.Series(np.maximum(classes, 0).astype(np.uint32)))
        given = given.set(pl.Series(rule < 0), folder.default_answer)
        answers[name] = pl.DataFrame({"question_id": folder.questions["question_id"], "answer": given})
    return answers


def _baseline_warnings(
    answers: Mapping[str, pl.DataFrame], everyone: Mapping[str, pl.DataFrame]
) -> tuple[str, ...]:
    """Return a warning for each model that answers as the rule classifier does, question by question."""
    columns = ["question_id", "answer"]
    return tuple(
        f"predictions of {model} and the answers of {name}: got the same answers, expected different ones. "
        "Check that the file is the model's."
        for model, table in answers.items()
        for name in CLASSIFIERS
        if table.select(columns).sort(columns).equals(everyone[name].select(columns).sort(columns))
    )


def _in_order(scores: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Return scores with models as the user named them, groups and subgroups as they came."""
    numbered = scores.with_row_index("row").with_columns(
        place=pl.col("row").min().over("group", "subgroup"),
        rank=pl.col("model").replace_strict(models, range(len(models))),
    )
    return numbered.sort("place", "rank").drop("row", "place", "rank")


def _scorer(config: ScoreConfig, soft_labels: Path | None) -> Scorer:
    """Return the scorer that was asked for; with "auto" that of soft labels if there are any."""
    scorer: Scorer = "soft-labels" if config.scorer == "auto" and soft_labels is not None else config.scorer
    if (scorer == "soft-labels") != (soft_labels is not None):
        got = "no soft labels" if soft_labels is None else "soft labels"
        raise ConfigError(
            f"scorer {scorer}: got {got}, expected soft labels for the scorer soft-labels and for no other. "
            "Give --soft-labels FILE with --scorer soft-labels, or leave both out."
        )
    return scorer


def _sentence_warnings(
    questions: pl.DataFrame, answers: Mapping[str, pl.DataFrame], scored: pl.DataFrame
) -> tuple[str, ...]:
    """Return a warning for each model that seems to answer in sentences."""
    found = {}
    for model, table in answers.items():
        judged = scored.filter(pl.col("model") == model).select(
            "question_id", is_right=pl.col("accuracy") > 0
        )
        given = judged.join(table, on="question_id", how="left", validate="1:1", maintain_order="left")
        asked = given.select("question_id").join(
            questions, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        found[model] = sentence_warning(asked, given, given["is_right"])
    return tuple(f"predictions of {model}: {text}" for model, text in found.items() if text)


def _form_warnings(
    questions: pl.DataFrame, answers: Mapping[str, pl.DataFrame], chosen: Choice
) -> tuple[str, ...]:
    """Return a warning for each model that loses by the form of its answers."""
    found = {model: differing_in_form(questions, table, chosen.each) for model, table in answers.items()}
    return tuple(
        f"predictions of {model}: {text}. --scorer vqa-normalized takes them as right"
        for model, text in found.items()
        if text
    )


def _check_names(predictions: Mapping[str, Path], config: ScoreConfig) -> None:
    if not predictions:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    taken = [name for name in predictions if name in CLASSIFIERS]
    if taken:
        raise ConfigError(
            f"predictions: got the name {taken[0]!r}, expected another: it stands for the rule classifier. "
            "Rename the model."
        )
    if config.baseline is not None and config.baseline not in {*predictions, *CLASSIFIERS}:
        known = ", ".join([*predictions, *CLASSIFIERS])
        raise ConfigError(f"baseline: got {config.baseline!r}, expected one of {known}. Name one of them.")
