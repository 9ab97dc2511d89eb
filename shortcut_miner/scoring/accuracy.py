"""One accuracy per question, in percent: the official VQA evaluation, quirks included, and simpler ones.

Answers are normalised once per distinct string, turned into integers and counted; an accuracy is an exact
fraction until its one division. Nothing here changes the questions it is given. Averages, their intervals
and differences between models are in :mod:`shortcut_miner.scoring.intervals`.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import ConfigError, check_no_problems, examples
from shortcut_miner.scoring.scorers import AUTO, LEAST_ANSWERS, fitting_scorers, name_of
from shortcut_miner.text import answer_forms

Dtype = pl.DataType | type[pl.DataType]
Ints = NDArray[np.int64]

_MATCHES_FOR_FULL_SCORE = 3
_KEYS = 256  # answer_record_key is UInt8
_ID: dict[str, Dtype] = {"question_id": pl.String, "image_id": pl.String}
_ANSWERS: dict[str, Dtype] = {"answers": pl.List(pl.String), "answer_record_key": pl.List(pl.UInt8)}
_COLUMNS: dict[str, dict[str, Dtype]] = {
    **dict.fromkeys((AUTO, *LEAST_ANSWERS), _ID | _ANSWERS),
    "exact": {**_ID, "answer": pl.String},
    "soft-labels": {**_ID},
}
_HINTS = {"answers": " (the scorer exact compares with `answer` and needs none)"}
_LABEL_COLUMNS = {"question_id": pl.String, "answer": pl.String, "weight": pl.Float64}
_GROUP_COLUMNS = ("question_type", "answer_type")


def score_questions(
    questions: pl.DataFrame,
    predictions: pl.DataFrame,
    *,
    scorer: str = AUTO,
    model: str = "model",
    soft_labels: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the accuracy of one model's answer to every question.

    Parameters
    ----------
    questions : pl.DataFrame
        ``schemas.Questions``; a scorer needs question_id, image_id and the columns it names below.
    predictions : pl.DataFrame
        ``schemas.Predictions``: question_id, answer; exactly one row for each question.
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact", "soft-labels"}
        ``auto``: by each question's number of `answers`, see
        :func:`shortcut_miner.scoring.scorers.choose_scorer`. ``vqa-official`` (`answers`,
        `answer_record_key`): the official VQA evaluation program. Annotators' answers that are all identical
        are compared as they are (stripped), others after normalisation; the mean over the annotators of
        min(1, matches among the others / 3). ``vqa-normalized``: the same, always normalised.
        ``three-agree``: min(1, matches / 3), nobody left out, always normalised. ``any-answer``: 100 where
        the prediction equals one of `answers`, normalised. ``exact`` (`answer`): 100 where the prediction
        equals `answer`, character by character. ``soft-labels``: the predicted answer's weight in
        `soft_labels`, at most 1, compared character by character; answers that are not listed weigh 0.
    model : str
        Goes into the column ``model``.
    soft_labels : pl.DataFrame, optional
        question_id, answer, weight Float64 >= 0; a question without any label has one row whose answer is
        null (see :func:`soft_label_table`). Needed by ``soft-labels`` and by no other scorer.

    Returns
    -------
    pl.DataFrame
        question_id, image_id, question_type and answer_type where `questions` has them, model, scorer (one
        name in all rows; of several scorers all names with plus signs between), accuracy Float64 in percent
        (0 to 100). In the order of `questions`.

    Raises
    ------
    ConfigError
        An unknown scorer, or soft labels without their scorer or the reverse.
    SchemaError
        Missing columns; missing, repeated or unknown question ids; null or no answers. All at once, with
        counts and examples.

    Notes
    -----
    A scorer that is named is computed as it stands, even where it can give no answer 100;
    :func:`shortcut_miner.scoring.scorers.choose_scorer` refuses such a one, and commands ask it first.
    Antol et al., "VQA: Visual Question Answering" (ICCV 2015), section 3, as its evaluation program does it.

    Examples
    --------
    >>> questions = pl.DataFrame({
    ...     "question_id": ["1", "2"], "image_id": ["7", "7"],
    ...     "answers": [["2 dogs"] * 8 + ["dogs"] * 2, ["yes"] * 10], "answer_record_key": [None, None],
    ... }, schema_overrides={"answer_record_key": pl.List(pl.UInt8)})
    >>> predictions = pl.DataFrame({"question_id": ["2", "1"], "answer": ["Yes", "The dogs!"]})
    >>> score_questions(questions, predictions)["accuracy"].to_list()
    [60.0, 0.0]
    >>> score_questions(questions, predictions, scorer="any-answer")["accuracy"].to_list()
    [100.0, 100.0]
    """
    _check_options(scorer, soft_labels)
    _check_columns(questions, _COLUMNS[scorer], "questions")
    _check_columns(predictions, {"question_id": pl.String, "answer": pl.String}, f"predictions of {model}")
    _check_ids(questions, predictions, f"predictions of {model}")
    predicted = _aligned(questions, predictions)
    name = scorer
    if scorer == "exact":
        accuracy = _exact(questions, predicted)
    elif soft_labels is not None:
        accuracy = _soft(questions, predicted, soft_labels)
    else:
        _check_answer_lists(questions)
        each = fitting_scorers(questions, scorer)
        name = name_of(each) or scorer
        accuracy = _by_annotators(questions, predicted, each)
    kept = [column for column in _GROUP_COLUMNS if column in questions.columns]
    return questions.select(
        *_ID,
        *kept,
        pl.lit(model).alias("model"),
        pl.lit(name).alias("scorer"),
        accuracy.alias("accuracy"),
    )


def soft_label_table(labels: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
    """Return {question_id: {answer: weight}} as the table that the scorer ``soft-labels`` reads.

    Returns
    -------
    pl.DataFrame
        question_id, answer, weight Float64; one row with a null answer for a question without labels.

    Examples
    --------
    >>> soft_label_table({"1": {"racing": 1, "riding": 0.667}, "2": {}}).rows()
    [('1', 'racing', 1.0), ('1', 'riding', 0.667), ('2', None, None)]
    """
    rows = [
        (question_id, answer, weight)
        for question_id, weights in labels.items()
        for answer, weight in (weights.items() or [(None, None)])
    ]
    return pl.DataFrame(rows, schema=_LABEL_COLUMNS, orient="row", strict=False)


def _aligned(questions: pl.DataFrame, predictions: pl.DataFrame) -> pl.Series:
    """Return the predicted answers in the order of `questions`."""
    ids, answers = questions.select("question_id"), predictions.select("question_id", "answer")
    return ids.join(answers, on="question_id", how="left", validate="1:1", maintain_order="left")["answer"]


def _exact(questions: pl.DataFrame, predicted: pl.Series) -> pl.Series:
    check_no_problems(_null_answers(questions, "answer"), "questions", "an answer in every row")
    return (questions["answer"] == predicted).cast(pl.Float64) * 100.0


def _soft(questions: pl.DataFrame, predicted: pl.Series, labels: pl.DataFrame) -> pl.Series:
    _check_columns(labels, _LABEL_COLUMNS, "soft labels")
    _check_labels(questions, labels)
    asked = questions.select("question_id", predicted.alias("answer"))
    listed = labels.drop_nulls("answer").select("question_id", "answer", "weight")
    found = asked.join(
        listed, on=["question_id", "answer"], how="left", validate="1:1", maintain_order="left"
    )
    return found["weight"].fill_null(0.0).clip(upper_bound=1.0) * 100.0


def _by_annotators(questions: pl.DataFrame, predicted: pl.Series, scorers: pl.Series) -> pl.Series:
    """Return each question's accuracy by its own scorer, in percent."""
    sizes = questions["answers"].list.len().to_numpy().astype(np.int64)
    if not len(sizes):
        return pl.Series([], dtype=pl.Float64)
    starts = np.cumsum(sizes) - sizes
    is_match = _matches(
        questions["answers"], predicted, sizes, starts, (scorers != "vqa-official").to_numpy()
    )
    thirds = _leave_one_out_thirds(is_match, sizes, starts, questions["answer_record_key"])
    matches = np.add.reduceat(is_match.astype(np.int64), starts)
    agreeing = np.minimum(matches, _MATCHES_FOR_FULL_SCORE)
    accuracy = np.select(
        [(scorers == "three-agree").to_numpy(), (scorers == "any-answer").to_numpy()],
        [100 * agreeing / _MATCHES_FOR_FULL_SCORE, 100.0 * (matches > 0)],
        100 * thirds / (_MATCHES_FOR_FULL_SCORE * sizes),
    )
    return pl.Series(accuracy)


def _matches(
    lists: pl.Series, predicted: pl.Series, sizes: Ints, starts: Ints, always_normalise: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for every annotator's answer, question by question, whether the prediction matches it."""
    answers = lists.explode()
    forms = answer_forms(pl.concat([answers.rename("answer"), predicted.rename("answer")]))
    # The position of a string in `forms`, then the numbers of its two forms.
    places = pl.Enum(forms["answer"])
    at, predicted_at = answers.cast(places).to_physical(), predicted.cast(places).to_physical()
    stripped, normalised = (_numbered(forms[form]) for form in ("stripped", "normalised"))
    raw = stripped[at.to_numpy()]
    is_normalised = np.minimum.reduceat(raw, starts) != np.maximum.reduceat(raw, starts)
    is_normalised |= always_normalise
    compared = np.where(np.repeat(is_normalised, sizes), normalised[at.to_numpy()], raw)
    wanted = np.where(is_normalised, normalised[predicted_at.to_numpy()], stripped[predicted_at.to_numpy()])
    is_match: NDArray[np.bool_] = compared == np.repeat(wanted, sizes)
    return is_match


def _numbered(strings: pl.Series) -> Ints:
    """Return the same number for equal strings."""
    numbers: Ints = strings.cast(pl.Enum(strings.unique())).to_physical().to_numpy().astype(np.int64)
    return numbers


def _leave_one_out_thirds(is_match: NDArray[np.bool_], sizes: Ints, starts: Ints, keys: pl.Series) -> Ints:
    """Return the sum over a question's annotators of min(3, matches among the others).

    The others of a record are the records that differ from it as a whole. A record that does not match is
    no other's match, so for it all matches count. A matching record leaves out the matches that have its
    key: only itself where all keys are distinct.
    """
    matches = np.add.reduceat(is_match.astype(np.int64), starts)
    full = np.minimum(matches, _MATCHES_FOR_FULL_SCORE)
    among_matches = matches * np.minimum(np.maximum(matches - 1, 0), _MATCHES_FOR_FULL_SCORE)
    is_keyed = keys.is_not_null().to_numpy()
    if is_keyed.any():
        rows = np.repeat(np.flatnonzero(is_keyed), sizes[is_keyed])
        is_keyed_match = is_match[np.repeat(is_keyed, sizes)]
        pairs = rows * _KEYS + keys.drop_nulls().explode().to_numpy()
        equals, counts = np.unique(pairs[is_keyed_match], return_counts=True)
        row = equals // _KEYS
        among_matches[is_keyed] = 0
        np.add.at(among_matches, row, counts * np.minimum(matches[row] - counts, _MATCHES_FOR_FULL_SCORE))
    thirds: Ints = (sizes - matches) * full + among_matches
    return thirds


def _check_options(scorer: str, soft_labels: pl.DataFrame | None) -> None:
    if scorer not in _COLUMNS:
        raise ConfigError(f"scorer: got {scorer!r}, expected one of {', '.join(_COLUMNS)}. Choose one.")
    if (scorer == "soft-labels") != (soft_labels is not None):
        got = "no soft labels" if soft_labels is None else "soft labels"
        raise ConfigError(
            f"scorer {scorer}: got {got}, expected soft labels for the scorer soft-labels and for no other. "
            "Give both or neither."
        )


def _check_columns(frame: pl.DataFrame, wanted: Mapping[str, Dtype], what: str) -> None:
    """Raise a SchemaError that lists every column that is missing or of another type."""
    problems = [
        f"column {name}: got {frame.schema.get(name, 'none')}, expected {dtype}{_HINTS.get(name, '')}"
        for name, dtype in wanted.items()
        if frame.schema.get(name) != dtype
    ]
    check_no_problems(problems, what, ", ".join(wanted))


def _check_ids(questions: pl.DataFrame, predictions: pl.DataFrame, what: str) -> None:
    """Raise unless the questions' ids are unique and `predictions` has each of them exactly once."""
    check_no_problems(_repeated_ids(questions), "questions", "each question once")
    missing, unknown = "question without a prediction", "prediction for an unknown question"
    problems = [
        *_repeated_ids(predictions),
        *_unlike_ids(questions, predictions, missing, unknown),
        *_null_answers(predictions, "answer"),
    ]
    check_no_problems(problems, what, "one answer for each question and no other")


def _check_labels(questions: pl.DataFrame, labels: pl.DataFrame) -> None:
    is_bad = (
        pl.col("answer").is_not_null() & ~(pl.col("weight").is_finite() & (pl.col("weight") >= 0))
    ).fill_null(True)
    is_repeat = pl.struct("question_id", "answer").is_duplicated()
    problems = [
        *_unlike_ids(questions, labels, "question without soft labels", None),
        *_counted("label that is repeated", labels.filter(is_repeat)["question_id"]),
        *_counted("weight that is not a number of at least 0", labels.filter(is_bad)["question_id"]),
    ]
    check_no_problems(problems, "soft labels", "labels for each question, with weights of 0 or more")


def _check_answer_lists(questions: pl.DataFrame) -> None:
    size = pl.col("answers").list.len()
    has_no_answers = size.fill_null(0) == 0
    has_null = pl.col("answers").list.eval(pl.element().is_null()).list.any()
    keys = pl.col("answer_record_key").list
    has_odd_keys = (keys.len() != size) | keys.eval(pl.element().is_null()).list.any()
    reasons = {
        "question without annotators' answers": has_no_answers,
        "question with a null among its answers": has_null,
        "question whose answer_record_key has not one number per answer": has_odd_keys,
    }
    problems = [
        problem
        for reason, is_bad in reasons.items()
        for problem in _counted(reason, questions.filter(is_bad)["question_id"])
    ]
    check_no_problems(problems, "questions", "annotators' answers in every row, or the scorer exact")


def _repeated_ids(frame: pl.DataFrame) -> list[str]:
    ids = frame["question_id"]
    return _counted("repeated question id", ids.filter(ids.is_duplicated()).unique(maintain_order=True))


def _unlike_ids(
    questions: pl.DataFrame, others: pl.DataFrame, missing: str, unknown: str | None
) -> Iterator[str]:
    asked = questions.select("question_id")
    answered = others.select("question_id").unique(maintain_order=True)
    missed = asked.join(answered, on="question_id", how="anti", maintain_order="left")
    yield from _counted(missing, missed["question_id"])
    if unknown:
        strange = answered.join(asked, on="question_id", how="anti", maintain_order="left")
        yield from _counted(unknown, strange["question_id"])


def _null_answers(frame: pl.DataFrame, column: str) -> list[str]:
    return _counted("null answer", frame.filter(pl.col(column).is_null())["question_id"])


def _counted(what: str, ids: pl.Series) -> list[str]:
    """Return no problem, or one that counts `ids` and shows the first."""
    if not len(ids):
        return []
    return [f"{len(ids):,} x {what}: {examples(ids)}"]
