"""The answer in a model's sentence: pure functions of texts, and a warning where nobody took it out.

An answer that does not hold what is looked for stays as it is, and is counted.
"""

import dataclasses
from collections.abc import Mapping

import polars as pl

from shortcut_miner.options import AFTER
from shortcut_miner.text import answer_forms

# A model seems to answer in sentences if more than this share of its answers have more words than every
# accepted answer of their question, and less than the other share of its answers is right at all.
MOST_ARE_LONGER = 0.5
HARDLY_ANY_MATCH = 0.1

_LINE_MARKS = ".,;:!?\"'`*\u201c\u201d\u2018\u2019\u2026"  # at the ends of a line
_MARKS = f"{_LINE_MARKS}()[]{{}}"  # at the ends of a word
_BLANKS = " \t\r\n\u00a0"
_NOTHING = rf"[\s{_LINE_MARKS}]"  # a line of these alone is a blank one
# In a large set almost any word is the right answer to some question; such a word is no choice elsewhere.
_LEAST_QUESTIONS = 2
_EVERYONE = ""  # the group of questions whose type is not known


@dataclasses.dataclass(frozen=True, slots=True)
class Choices:
    """What a text may be searched for.

    Attributes
    ----------
    accepted : pl.DataFrame
        question_id, form, choice: each question's accepted answers, as compared and as given.
    classes : pl.DataFrame
        group, form, choice: the answers that are right for several questions of one type.
    groups : pl.DataFrame
        question_id, group.
    """

    accepted: pl.DataFrame
    classes: pl.DataFrame
    groups: pl.DataFrame


@dataclasses.dataclass(frozen=True, slots=True)
class Extraction:
    """How to find the answer in a text; `choices` are there for "choices" only."""

    how: str
    choices: Choices | None


def extraction_for(how: str, questions: pl.DataFrame) -> Extraction:
    """Return how to take answers out of sentences about these questions.

    Parameters
    ----------
    how : str
        "first-line": the first line that is not blank. "last-word": the last word. "after:TEXT": the rest of
        the line after the last TEXT (in any case, no part of a word) that something follows, or the line
        below it. All without the marks around them.
        "choices": the longest accepted answer of the question, or right answer of two or more questions of
        its type, that stands in the text as whole words after VQA normalisation; the first of equally long
        ones.
    questions : pl.DataFrame
        question_id; answer, answers and question_type where they are known.
    """
    return Extraction(how, _choices_of(questions) if how == "choices" else None)


def extract(answers: pl.DataFrame, extraction: Extraction) -> pl.DataFrame:
    r"""Return the table with the text that is found as `answer`, and the text as given as `raw_answer`.

    Parameters
    ----------
    answers : pl.DataFrame
        question_id and answer (String); rows keep their order. Nulls stay null.

    Examples
    --------
    >>> answers = pl.DataFrame({
    ...     "question_id": ["1", "2"], "answer": ["The answer is: Yes.", "Not a dog.\nIt is a big cat"]})
    >>> for how in ("first-line", "last-word", "after:IS"):
    ...     print(extract(answers, extraction_for(how, answers))["answer"].to_list())
    ['The answer is: Yes', 'Not a dog']
    ['Yes', 'cat']
    ['Yes', 'a big cat']
    >>> questions = pl.DataFrame({"question_id": ["1", "2"], "answers": [["yes"], ["big cat", "cat"]]})
    >>> extract(answers, extraction_for("choices", questions))["answer"].to_list()
    ['yes', 'big cat']
    """
    given = pl.col("answer")
    if extraction.choices is not None:
        found = _choice_in(answers, extraction.choices)
    else:
        found = answers.select(_part(given, extraction.how))["answer"]
    return answers.with_columns(
        raw_answer=given, answer=pl.coalesce(found.replace("", None).alias("found"), given)
    )


def extract_all(
    answers: Mapping[str, pl.DataFrame], how: str | None, questions: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame | None, tuple[str, ...]]:
    """Return models' answers after an extraction, both texts of each answer, and a note a model.

    Parameters
    ----------
    answers : mapping of str to pl.DataFrame
        Model -> question_id and answer.
    how, questions
        As for :func:`extraction_for`; None leaves answers as they are.

    Returns
    -------
    answers : dict of str to pl.DataFrame
    texts : pl.DataFrame or None
        model, question_id, raw_answer, answer; sorted by question within a model. None without extraction.
    notes : tuple of str
    """
    if how is None:
        return dict(answers), None, ()
    extraction = extraction_for(how, questions)
    tables = {model: extract(table, extraction) for model, table in answers.items()}
    texts = [
        table.select(pl.lit(model).alias("model"), "question_id", "raw_answer", "answer").sort("question_id")
        for model, table in tables.items()
    ]
    notes = tuple(f"{model}: {extraction_note(table, how)}" for model, table in tables.items())
    return {model: table.drop("raw_answer") for model, table in tables.items()}, pl.concat(texts), notes


def extraction_note(extracted: pl.DataFrame, how: str) -> str:
    """Return how many answers an extraction changed, in words; see :func:`changed_count`."""
    changed, total = changed_count(extracted)
    return f"extract {how}: {changed:,} of {total:,} answers changed, the others stay as they are"


def changed_count(extracted: pl.DataFrame) -> tuple[int, int]:
    """Return how many answers an extraction changed, and of how many.

    A column `count` of `extracted` says how often each raw_answer and answer was given; once, without it.
    """
    times = pl.col("count") if "count" in extracted.columns else pl.lit(1)
    is_changed = pl.col("raw_answer").ne_missing(pl.col("answer"))
    changed, total = extracted.select(
        changed=(times * is_changed).sum(), total=(times * pl.col("answer").is_not_null()).sum()
    ).row(0)
    return int(changed), int(total)


def sentence_warning(questions: pl.DataFrame, answers: pl.DataFrame, is_right: pl.Series) -> str | None:
    """Return a warning if answers look like sentences: most are longer than what is accepted, few are right.

    Parameters
    ----------
    questions : pl.DataFrame
        answer or answers; the rows of `answers`, in their order.
    answers : pl.DataFrame
        answer, as it was scored.
    is_right : pl.Series
        Boolean, a row an answer: whether it scores at all.
    """
    said = answers["answer"]
    accepted = [_words(pl.col("answer"))] if "answer" in questions.columns else []
    if "answers" in questions.columns:
        accepted.append(pl.col("answers").list.eval(_words(pl.element())).list.max())
    longest = questions.select(longest=pl.max_horizontal(accepted))["longest"]
    is_longer = (said.to_frame().select(_words(pl.col("answer")))["answer"] > longest).fill_null(False)
    longer, right, total = int(is_longer.sum()), int(is_right.sum()), len(said)
    if longer <= MOST_ARE_LONGER * total or right >= HARDLY_ANY_MATCH * total:
        return None
    return (
        f"{longer:,} of {total:,} answers have more words than any accepted answer to their question, as in "
        f"{said.filter(is_longer)[0]!r}, and {right:,} are right. If the answer is part of them, take it out "
        "with --extract first-line, last-word, choices or after:TEXT"
    )


def _words(text: pl.Expr) -> pl.Expr:
    return text.str.count_matches(r"\S+")


def _part(text: pl.Expr, how: str) -> pl.Expr:
    """Return the part of a text that depends on this text alone; null or empty where there is none."""
    if how == "last-word":
        words = text.str.strip_chars(f"{_MARKS}{_BLANKS}")
        return words.str.extract(r"(\S+)$").str.strip_chars(_MARKS)
    start = ""
    if how != "first-line":
        mark = _whole(how.removeprefix(AFTER))
        start, text = rf"(?is)^.*{mark}", text.str.replace(rf"(?i)(?:{mark}{_NOTHING}*)+$", "")
    return text.str.extract(rf"{start}{_NOTHING}*([^\r\n]+)").str.strip_chars(f"{_LINE_MARKS}{_BLANKS}")


def _whole(text: str) -> str:
    """Return a pattern of the text that finds no part of a word: "is" is not in "tennis"."""
    start, end = (r"(?-u:\b)" if mark.isascii() and mark.isalnum() else "" for mark in (text[0], text[-1]))
    return f"{start}{pl.escape_regex(text)}{end}"


def _choices_of(questions: pl.DataFrame) -> Choices:
    if "question_type" in questions.columns:
        group = pl.col("question_type").fill_null(_EVERYONE)
    else:
        group = pl.lit(_EVERYONE)
    groups = questions.select("question_id", group.alias("group"))
    parts = []
    if "answers" in questions.columns:
        parts.append(questions.select("question_id", choice=pl.col("answers")).explode("choice"))
    if "answer" in questions.columns:
        parts.append(questions.select("question_id", choice="answer"))
    accepted = _with_forms(pl.concat(parts).drop_nulls("choice"), "choice").filter(pl.col("form") != "")
    right = parts[-1].drop_nulls("choice")
    classes = (
        _with_forms(right, "choice")
        .join(groups, on="question_id", how="left", validate="m:1", maintain_order="left")
        .filter(pl.len().over("group", "form") >= _LEAST_QUESTIONS)
    )
    return Choices(
        accepted=accepted.unique(["question_id", "form"], keep="first", maintain_order=True),
        classes=classes.filter(pl.col("form") != "")
        .sort("choice")
        .unique(["group", "form"], keep="first", maintain_order=True)
        .select("group", "form", "choice"),
        groups=groups,
    )


def _with_forms(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the table with `form`: the words of a text as VQA compares them, no marks at their ends."""
    forms = answer_forms(table[column].rename("answer"))
    words = pl.col("normalised").str.split(" ").list.eval(pl.element().str.strip_chars(_MARKS))
    kept = words.list.eval(pl.element().filter(pl.element() != "")).list.join(" ")
    form = forms.select(pl.col("answer").alias(column), form=kept)
    return table.join(form, on=column, how="left", validate="m:1", maintain_order="left")


def _choice_in(answers: pl.DataFrame, choices: Choices) -> pl.Series:
    """Return the longest choice in each text, the first of equally long ones; null where there is none."""
    texts = (
        _with_forms(answers.select("question_id", "answer").with_row_index("row"), "answer")
        .join(choices.groups, on="question_id", how="left", validate="m:1", maintain_order="left")
        .with_columns(pl.col("group").fill_null(_EVERYONE))
    )
    words = texts.select("row", "question_id", "group", word=pl.col("form").str.split(" ")).explode("word")
    words = words.with_row_index("place")
    all_words, all_rows = words["word"], words["row"]
    forms = pl.concat([choices.accepted["form"], choices.classes["form"]]).unique().str.split(" ")
    phrases = words.select("row", "place", "question_id", "group", phrase="word")
    found = [phrases.clear().select("row", "place", "phrase", choice="phrase")]
    for size in range(1, int(forms.list.len().max() or 0) + 1):  # type: ignore[arg-type]
        # Only what a choice begins with can become one.
        starts = forms.filter(forms.list.len() >= size).list.head(size).list.join(" ").unique()
        phrases = phrases.filter(pl.col("phrase").is_in(starts.implode()))
        for known, key in ((choices.accepted, "question_id"), (choices.classes, "group")):
            named = known.select(key, "choice", phrase="form")
            here = phrases.join(named, on=[key, "phrase"], how="inner", validate="m:1")
            found.append(here.select("row", "place", "phrase", "choice"))
        next_word, next_row = (one.shift(-size).gather(phrases["place"]) for one in (all_words, all_rows))
        phrases = phrases.with_columns(phrase=pl.format("{} {}", "phrase", next_word)).filter(
            (next_row == phrases["row"]).fill_null(False)
        )
    best = (
        pl.concat(found)
        .sort(pl.col("phrase").str.len_chars(), "place", descending=[True, False], maintain_order=True)
        .unique("row", keep="first", maintain_order=True)
    )
    return texts.join(best.select("row", "choice"), on="row", how="left", maintain_order="left")["choice"]
