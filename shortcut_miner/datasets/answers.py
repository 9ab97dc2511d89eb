"""Models' answers beside the questions that a score asks: what is missing, too much, or there twice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import same_answers_warnings
from shortcut_miner.errors import SchemaError, examples, problem_list
from shortcut_miner.options import AnswerOptions
from shortcut_miner.sources.answers.answer_folders import files_in
from shortcut_miner.sources.answers.predictions import one_a_question, read_answers
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.storage import table_sha256
from shortcut_miner.timing import OnStage, in_parts

_ID, _MARK = "question_id", "q"
MISSING, EXTRA = "question without an answer", "answer to a question that nobody asked"


def answer_files(
    files: Mapping[str, Sequence[Path]], options: AnswerOptions
) -> tuple[dict[str, list[Path]], tuple[str, ...]]:
    """Return each model's files with those of its folders, and notes on what else these hold.

    Raises
    ------
    SourceError
        A folder without a file of answers.
    """
    found, notes = dict[str, list[Path]](), []
    for model, paths in files.items():
        found[model] = []
        for path in paths:
            if not path.is_dir():
                found[model].append(path)
                continue
            inside, others = files_in(path, take_tables=options.columns is not None)
            found[model] += inside
            left = f", not read: {examples(others)}" if others else ""
            notes.append(f"{model}: files of answers in {path}: {len(inside):,}{left}")
    return found, tuple(notes)


def read_models(
    files: Mapping[str, Sequence[Path]],
    what: str,
    known: pl.Series,
    options: AnswerOptions,
    on_stage: OnStage | None = None,
) -> dict[str, dict[str, Reading]]:
    """Return each model's files of answers as read: role of the model -> role of the file -> reading.

    Parameters
    ----------
    files : mapping of str to sequence of Path
        Model -> its files.
    what : str
        What they are, such as "original predictions".
    known : pl.Series
        Ids of the questions.
    options : AnswerOptions
        How the files are read.
    on_stage : callable, optional
        Told how many models are read.

    Raises
    ------
    SourceError
        A file that can't be read, has rows that don't fit, or lost leading zeros so that ids aren't clear.
    """
    return {
        (role := f"{what} of {model}"): {
            role + (f" ({at})" if at else ""): with_known_ids(read_answers(path, options), known)
            for at, path in enumerate(paths)
        }
        for model, paths in in_parts([*files.items()], f"read {what}", on_stage, "models")
    }


def readings_by_role(models: Mapping[str, Mapping[str, Reading]]) -> dict[str, Reading]:
    """Return all files of :func:`read_models` by their own roles."""
    return {role: one for parts in models.values() for role, one in parts.items()}


def with_known_ids(reading: Reading, known: pl.Series) -> Reading:
    """Return a reading whose ids are those of the questions, although they were changed on the way.

    VLMEvalKit damages ids of digits, so that they are given to it as ``q<id>``: without the q if all are
    so, and no known id is. For lost zeros see :func:`~shortcut_miner.sources.opening.ids.with_zeros_back`.
    """
    ids = reading.table[_ID]
    is_marked = len(ids) > 0 and bool((ids.str.starts_with(_MARK) & (ids.str.len_bytes() > 1)).all())
    if is_marked and not known.str.starts_with(_MARK).any():
        note = f"question ids without the {_MARK} before each of them: {len(ids):,}"
        table = reading.table.with_columns(ids.str.strip_prefix(_MARK))
        reading = replace(reading, table=table, notes=(*reading.notes, note))
    return with_zeros_back(reading, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedAnswers:
    """Answers that fit the questions.

    Attributes
    ----------
    answers : mapping of str to pl.DataFrame
        Role -> question_id, answer: known questions alone, each at most once, those in `left_out` too.
    left_out : pl.Series
        Needed questions without an answer in some role: left out in all of them, so that numbers compare.
    lacking : mapping of str to pair of int
        Role and file -> how many needed questions have no answer there, of how many.
    dropped : mapping of str to int
        What was left out, by role and reason.
    notes, warnings : tuple of str
        What was decided, and which roles have the same answers to all needed questions.
    """

    answers: Mapping[str, pl.DataFrame]
    left_out: pl.Series
    lacking: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def fit_answers(
    readings: Mapping[str, Sequence[Reading]], *, known: pl.Series, needed: pl.Series, options: AnswerOptions
) -> FittedAnswers:
    """Return the answers to the questions of a score, as its options say.

    Parameters
    ----------
    readings : mapping of str to sequence of Reading
        Role, such as "predictions of m" -> its files' answers, put together.
    known : pl.Series
        question_id of all questions that may be answered.
    needed : pl.Series
        Of those that must be, each once.
    options : AnswerOptions
        What to do about missing, extra and repeated answers.

    Raises
    ------
    SchemaError
        For all roles at once: questions without an answer, or with several, answers to unknown questions; or
        no question is left.
    """
    answers, dropped, problems = {}, dict[str, int](), list[tuple[set[str], str]]()
    left_out, lacking = needed.clear(), dict[str, tuple[int, int]]()
    for role, parts in readings.items():
        table, repeated = one_a_question(pl.concat([one.table for one in parts]), options)
        ids = table[_ID]
        missing = needed.filter(~needed.is_in(ids.implode()))
        name = f"{role} ({', '.join(one.file.name for one in parts)})"
        lacking |= {name: (len(missing), len(needed))} if len(missing) else {}
        extra = ids.filter(~ids.is_in(known.implode()))
        problems += _misfits(name, ids, missing, extra, options, are_several=len(parts) > 1)
        counts = {MISSING: len(missing), EXTRA: len(extra)} | repeated
        dropped |= {f"{role}: {reason}": count for reason, count in counts.items() if count}
        left_out = left_out.append(missing)
        answers[role] = table.filter(~pl.col(_ID).is_in(extra.implode())) if len(extra) else table
    if problems:
        kinds, told = set().union(*(kinds for kinds, _ in problems)), [text for _, text in problems]
        title = (
            f"predictions: got ids that don't fit the {len(needed):,} questions, expected one answer for "
            f"each and no other. {_advice(kinds)}."
        )
        raise SchemaError(problem_list(title, told))
    left_out = left_out.unique(maintain_order=True)
    if len(left_out) == len(needed) > 0:
        raise nothing_left(lacking, "question that all models answer")
    note = f"questions left out for all models, as some give no answer: {len(left_out):,} of {len(needed):,}"
    asked = {role: table.filter(pl.col(_ID).is_in(needed.implode())) for role, table in answers.items()}
    return FittedAnswers(
        answers=answers,
        left_out=left_out,
        lacking=lacking,
        dropped=dropped,
        notes=(note,) if len(left_out) else (),
        warnings=same_answers_warnings({role: table_sha256(table, _ID) for role, table in asked.items()}),
    )


def _misfits(
    name: str,
    ids: pl.Series,
    missing: pl.Series,
    extra: pl.Series,
    options: AnswerOptions,
    *,
    are_several: bool,
) -> Iterator[tuple[set[str], str]]:
    """Give what is an error about the ids of one role's answers, with its kinds."""
    repeated = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    for kind, these, chosen, what in (
        ("repeated", repeated, options.on_duplicate, "repeated question id"),
        ("missing", missing, options.on_missing, "question without a prediction"),
        ("extra", extra, options.on_extra, "prediction for an unknown question"),
    ):
        if len(these) and chosen == "error":
            kinds = {kind, "several"} if kind == "repeated" and are_several else {kind}
            yield kinds, f"{name}: {len(these):,} x {what}: {examples(these)}"


def nothing_left(lacking: Mapping[str, tuple[int, int]], what: str) -> SchemaError:
    """Return the error for questions that all lack an answer in some file.

    `lacking` is role and file -> how many questions it leaves without an answer, and of how many; those that
    answer none are to blame.
    """
    blamed = [name for name, (count, total) in lacking.items() if count == total] or [*lacking]
    title = (
        f"{' and '.join(blamed) or 'predictions'}: got no {what}, expected at least one. "
        "Check that the files belong to these questions."
    )
    told = [f"{name}: {count:,} of {total:,} without an answer" for name, (count, total) in lacking.items()]
    return SchemaError(problem_list(title, told))


def _advice(kinds: set[str]) -> str:
    """Return what to do about problems of some kinds."""
    ways = {
        "missing": "leave these questions out for all models with --on-missing skip",
        "extra": "leave these answers out with --on-extra ignore",
        "repeated": "keep one answer a question with --on-duplicate first",
        "several": "give the files of one run alone",
    }
    return ", or ".join(["Correct the files", *(way for kind, way in ways.items() if kind in kinds)])
