"""Models' answers as outcomes: how wrong each of them is, or how much worse than another one's."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shortcut_miner.datasets.answers import answer_files, fit_answers, read_models, readings_by_role
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.slices.config import Outcome
from shortcut_miner.diagnostics.slices.mined import Ints
from shortcut_miner.options import AnswerOptions
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.scoring.scorers import choose_scorer
from shortcut_miner.timing import OnStage, in_parts

Models = Mapping[str, Sequence[Path]]


@dataclasses.dataclass(frozen=True, slots=True)
class Accuracies:
    """How right models are.

    Attributes
    ----------
    tables : mapping of str to pl.DataFrame
        Model -> question_id, scorer, accuracy in percent, of the questions that all models answer.
    facts : InputFacts
        Records, drops, notes and warnings.
    texts : pl.DataFrame or None
        With an extraction: model, question_id, raw_answer and answer.
    """

    tables: Mapping[str, pl.DataFrame]
    facts: InputFacts
    texts: pl.DataFrame | None


def read_accuracies(
    rows: pl.DataFrame,
    known: pl.Series,
    files: Models,
    options: AnswerOptions,
    scorer: str,
    on_stage: OnStage | None = None,
) -> Accuracies:
    """Return each model's accuracy at each row that all of them answer.

    Parameters
    ----------
    rows : pl.DataFrame
        schemas.Questions that are to be answered.
    known : pl.Series
        question_id of all that may be.
    files : mapping of str to sequence of Path
        Model -> its files, or folders of them.
    options : AnswerOptions
        How they are read.
    scorer : str
        See :func:`shortcut_miner.scoring.accuracy.score_questions`.
    on_stage : callable, optional
        Told how many models are read and scored.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Files that can't be read, ids that don't fit, or a scorer that fits no question.
    """
    found, folder_notes = answer_files(files, options)
    read = read_models(found, "predictions", known, options, on_stage)
    parts = {role: [*some.values()] for role, some in read.items()}
    facts = InputFacts.of(readings_by_role(read))
    fitted = fit_answers(parts, known=known, needed=rows["question_id"], options=options)
    asked = _answered(rows.filter(~pl.col("question_id").is_in(fitted.left_out.implode())))
    choice = choose_scorer(asked, scorer)
    ids = asked.select("question_id")
    given = {
        model: ids.join(table, on="question_id", how="left", validate="1:1", maintain_order="left")
        for model, table in zip(files, fitted.answers.values(), strict=True)
    }
    answers, texts, notes = extract_all(given, options.extract, asked)
    tables = {
        model: score_questions(asked, table, scorer=choice.as_option, model=model)
        for model, table in in_parts([*answers.items()], "score", on_stage, "models")
    }
    told = [
        f"predictions of {model}: {text}"
        for model, table in tables.items()
        if (text := sentence_warning(asked, answers[model], table["accuracy"] > 0))
    ]
    return Accuracies(
        tables={model: table.select("question_id", "scorer", "accuracy") for model, table in tables.items()},
        facts=InputFacts(
            records=facts.records,
            dropped={**facts.dropped, **fitted.dropped},
            notes=(*folder_notes, *facts.notes, *fitted.notes, *notes, *choice.notes),
            warnings=(*facts.warnings, *fitted.warnings, *choice.warnings, *told),
        ),
        texts=texts,
    )


def _answered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return questions with a list of answers wherever there is one answer."""
    alone = pl.when(pl.col("answer").is_not_null()).then(pl.concat_list("answer"))
    given = pl.when(pl.col("answers").list.len() > 0).then("answers")
    return rows.with_columns(answers=pl.coalesce(given, alone))


def outcomes(
    accuracy: pl.Series, outcome: Outcome, correct_at: float, other: pl.Series | None = None
) -> Ints:
    """Return the outcome of each row, larger is worse: int64[rows].

    Parameters
    ----------
    accuracy : pl.Series
        In percent.
    outcome : {"wrong", "error", "regression"}
        1 for an accuracy below `correct_at`; 100 - accuracy; the accuracy minus that of `other`. Accuracies
        are rounded to whole percents for the last two, so that sums are exact.

    >>> outcomes(pl.Series([100.0, 30.0]), "wrong", 50.0).tolist()
    [0, 1]
    >>> outcomes(pl.Series([100.0, 30.0]), "error", 50.0).tolist()
    [0, 70]
    """
    if outcome == "wrong":
        return (accuracy < correct_at).cast(pl.Int64).to_numpy()
    percent = _percent(accuracy)
    return 100 - percent if other is None or outcome == "error" else percent - _percent(other)


def _percent(accuracy: pl.Series) -> Ints:
    percent: Ints = np.rint(accuracy.to_numpy()).astype(np.int64)
    return percent
