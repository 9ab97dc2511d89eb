"""Which scorer fits questions: an accuracy by leave-one-out needs annotators to leave out.

The official VQA accuracy leaves each annotator out once and asks whether three of the others gave the
answer. With one answer a question nobody is left, and every model scores 0; with three, the best is 66.67.
"""

import dataclasses

import polars as pl

from shortcut_miner.errors import ConfigError, SchemaError, examples
from shortcut_miner.text import answer_forms

AUTO = "auto"
# Answers that the official accuracy takes as wrong for their form alone are told from this share on.
MANY_DIFFER_IN_FORM = 0.01
# Scorer by annotators' answers -> the fewest with which an answer can score 100.
LEAST_ANSWERS = {"vqa-official": 4, "vqa-normalized": 4, "three-agree": 3, "any-answer": 1}
SCORERS = (AUTO, *LEAST_ANSWERS, "exact", "soft-labels")
OFFICIAL_ANSWERS = 10  # what the official accuracy was made for, and from how many on "auto" takes it
_WHY = {
    "vqa-official": f"{OFFICIAL_ANSWERS} or more answers by annotators",
    "three-agree": "3 or more answers by annotators: right is what three of them gave",
    "any-answer": "1 or 2 answers by annotators: right is what equals one of them",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The scorer of each question.

    Attributes
    ----------
    each : pl.Series
        String, one a question.
    name : str
        For tables: the scorer, or the scorers with plus signs between where they differ by question.
    notes, warnings : tuple of str
        Which were chosen and why; what the one that was named does to these questions.
    """

    each: pl.Series
    name: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many questions each scorer has, where there are several."""
        found = dict(self.each.value_counts().sort("scorer").iter_rows())
        return {f"questions_{name}": n for name, n in found.items()} if len(found) > 1 else {}

    @property
    def as_option(self) -> str:
        """What to ask for to get this choice again."""
        return self.name if self.name in SCORERS else AUTO


def choose_scorer(questions: pl.DataFrame, scorer: str = AUTO, place: object = "questions") -> Choice:
    """Return the scorer of each question: the one that is named, or with "auto" the one that fits.

    Parameters
    ----------
    questions : pl.DataFrame
        `answers` List[String] and `answer_record_key` (null where all answers of a question are different
        annotators'), for every scorer but "exact" and "soft-labels".
    scorer : str
        One of :data:`SCORERS`. "auto": vqa-official for 10 or more answers that are different annotators',
        three-agree for 3 or more answers, any-answer for 1 or 2.
    place : path-like
        Where they were read, for messages.

    Raises
    ------
    ConfigError
        An unknown scorer, or one that can give no answer 100 to some question: all of these are counted.
    SchemaError
        Questions without annotators' answers.

    Examples
    --------
    >>> answers = pl.Series([["red"], ["red"] * 4], dtype=pl.List(pl.String))
    >>> questions = pl.DataFrame({
    ...     "question_id": ["1", "2"], "answers": answers,
    ...     "answer_record_key": pl.Series([None, None], dtype=pl.List(pl.UInt8))})
    >>> choose_scorer(questions).name
    'three-agree + any-answer'
    >>> choose_scorer(questions, "three-agree")
    Traceback (most recent call last):
    shortcut_miner.errors.ConfigError: scorer three-agree: got 1 x question with 1 answer, expected 3 or ...
    """
    if scorer not in SCORERS:
        raise ConfigError(f"scorer: got {scorer!r}, expected one of {', '.join(SCORERS)}. Choose one.")
    if scorer in (AUTO, *LEAST_ANSWERS):
        _check_answers(questions, place)
    if scorer == AUTO:
        return fitting_choice(questions)
    if scorer in LEAST_ANSWERS:
        _check_counts(questions, scorer)
    each = fitting_scorers(questions, scorer)
    return Choice(each, scorer, warnings=_told_apart_warning(questions, scorer))


def fitting_choice(questions: pl.DataFrame) -> Choice:
    """Return what "auto" chooses for questions that annotators answered; see :func:`choose_scorer`."""
    each = fitting_scorers(questions)
    return Choice(each, name_of(each), _reasons(questions, each))


def fitting_scorers(questions: pl.DataFrame, scorer: str = AUTO) -> pl.Series:
    """Return the scorer of each question, as :func:`choose_scorer` does but without its checks."""
    if scorer != AUTO:
        return pl.repeat(scorer, len(questions), dtype=pl.String, eager=True).alias("scorer")
    count = pl.col("answers").list.len()
    fitting = (
        pl.when((count >= OFFICIAL_ANSWERS) & ~_is_untold())
        .then(pl.lit("vqa-official"))
        .when(count >= LEAST_ANSWERS["three-agree"])
        .then(pl.lit("three-agree"))
        .otherwise(pl.lit("any-answer"))
    )
    return questions.select(scorer=fitting)["scorer"]


def _is_untold() -> pl.Expr:
    """Return whether so many records are of one kind that the official accuracy can't reach 100.

    It leaves all of them out at once, and asks for three others.
    """
    most_alike = pl.col("answer_record_key").list.eval(pl.element().unique_counts()).list.max()
    return (most_alike + 3 > pl.col("answers").list.len()).fill_null(False)


def name_of(each: pl.Series) -> str:
    """Return the scorers of questions as one name; empty without questions.

    >>> name_of(pl.Series(["any-answer", "three-agree", "any-answer"]))
    'three-agree + any-answer'
    """
    used = set(each.unique().to_list())
    return " + ".join(name for name in SCORERS if name in used)


def _reasons(questions: pl.DataFrame, each: pl.Series) -> tuple[str, ...]:
    """Return in words which scorers were chosen, for how many questions, and why."""
    found = dict(each.value_counts().iter_rows())
    used = {name: found[name] for name in _WHY if name in found}
    if len(used) == 1:
        (name,) = used
        notes = [f"scorer {name}: all {len(each):,} questions have {_WHY[name]}"]
    else:
        told = "; ".join(f"{name} for {n:,} with {_WHY[name]}" for name, n in used.items())
        notes = [f"scorer by question: {told}"] if used else []
    alike = questions.filter(pl.col("answers").list.len() >= OFFICIAL_ANSWERS, _is_untold())
    if len(alike):
        notes.append(
            f"questions with {OFFICIAL_ANSWERS} or more answers that no id tells apart: {len(alike):,}, "
            "scored by three-agree, as the official program would leave all equal ones out at once"
        )
    return tuple(notes)


def differing_in_form(questions: pl.DataFrame, answers: pl.DataFrame, each: pl.Series) -> str | None:
    """Return in words how many answers "vqa-official" takes as wrong for their form, if they are many.

    Annotators' answers that are all the same are compared as they are: "Yes" is wrong then where all said
    "yes", and right where one said something else.

    Parameters
    ----------
    questions : pl.DataFrame
        question_id, answers.
    answers : pl.DataFrame
        question_id, answer, of a model.
    each : pl.Series
        The scorer of each question.
    """
    same = (pl.col("answers").list.n_unique() == 1) & (pl.col("scorer") == "vqa-official")
    missed = (
        questions.with_columns(each.alias("scorer"))
        .filter(same)
        .select("question_id", right=pl.col("answers").list.first())
        .join(
            answers.select("question_id", said="answer"),
            on="question_id",
            how="inner",
            validate="1:1",
            maintain_order="left",
        )
        .filter(pl.col("said") != pl.col("right"))
    )
    forms = answer_forms(pl.concat([missed["said"].rename("answer"), missed["right"].rename("answer")]))
    for name in ("said", "right"):
        named = forms.rename({"answer": name, "stripped": f"{name}_stripped", "normalised": f"{name}_form"})
        missed = missed.join(named, on=name, how="left", validate="m:1", maintain_order="left")
    missed = missed.filter(
        pl.col("said_form") == pl.col("right_form"), pl.col("said_stripped") != pl.col("right_stripped")
    )
    if len(missed) < max(1, MANY_DIFFER_IN_FORM * len(answers)):
        return None
    said, right = missed.select("said", "right").row(0)
    return (
        f"{len(missed):,} of {len(answers):,} answers differ from what all annotators gave in their form "
        f"alone ({said!r}, {right!r}), which the official accuracy takes as wrong"
    )


def _check_answers(questions: pl.DataFrame, place: object) -> None:
    """Raise unless annotators answered every question, naming the scorer that needs none of them."""
    without = questions.filter(pl.col("answers").list.len().fill_null(0) == 0)["question_id"]
    if len(without):
        raise SchemaError(
            f"{place}: got {len(without):,} x question without annotators' answers: {examples(without)}, "
            f"expected some for each of {len(questions):,}. Give --scorer exact, which compares with the one "
            "right answer, or add the answers."
        )


def _check_counts(questions: pl.DataFrame, scorer: str) -> None:
    least = LEAST_ANSWERS[scorer]
    sizes = questions["answers"].list.len()
    few = sizes.filter(sizes < least).value_counts().sort("answers")
    if len(few):
        told = ", ".join(
            f"{n:,} x question with {size} answer{'s' if size > 1 else ''}" for size, n in few.iter_rows()
        )
        raise ConfigError(
            f"scorer {scorer}: got {told}, expected {least} or more for each: with fewer no answer can score "
            "100. Give --scorer auto."
        )


def _told_apart_warning(questions: pl.DataFrame, scorer: str) -> tuple[str, ...]:
    """Return what leave-one-out does to answers that no id tells apart."""
    if scorer not in ("vqa-official", "vqa-normalized"):
        return ()
    repeated = int(questions["answer_record_key"].is_not_null().sum())
    if not repeated:
        return ()
    return (
        f"scorer {scorer}: {repeated:,} of {len(questions):,} questions have answers without an id of their "
        "own; like the official program it leaves all equal ones out at once, so right answers score less. "
        "--scorer auto takes each for another annotator's",
    )
