"""A model's answers to the perturbations of a plan: tables, or what evaluators write of drawn images."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import ScoreConfig
from shortcut_miner.diagnostics.swapmix.image_answers import read_image_answers
from shortcut_miner.diagnostics.swapmix.metrics import NO_SWAP, PlanShape, counted_rows
from shortcut_miner.errors import SchemaError, SourceError, examples, problem_list
from shortcut_miner.options import OnDuplicate, named_columns
from shortcut_miner.scoring.extraction import Extraction, extract, extraction_for, extraction_note
from shortcut_miner.sources.answers.answer_column import check_columns, needs_of
from shortcut_miner.sources.answers.predictions import REPEATED
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import FileFacts, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_table
from shortcut_miner.sources.opening.ids import LOST_ZEROS, zeros_back
from shortcut_miner.sources.opening.reading import RECORD, find_problems, is_blank, settle, without_bad
from shortcut_miner.sources.opening.serialised import LISTS_NOTE, only_texts
from shortcut_miner.sources.opening.table_columns import read_blocks
from shortcut_miner.text import answer_forms

COLUMNS = {"question_id": Column("id"), "perturbation": Column("whole"), "answer": Column("text")}
_ROWS_AT_ONCE = 1 << 20
_EXPECTED = {"question_id": "an id", "perturbation": "a whole number", "answer": "text"}
_NONE = -1
MISSING, EXTRA = "perturbation without an answer", "answer to a perturbation that the plan lacks"


@dataclasses.dataclass(frozen=True, slots=True)
class PlanAnswers:
    """A model's answers as numbers, one a row of the plan.

    Attributes
    ----------
    answers : ndarray of int32
        Of each row; equal answers have equal numbers. `NO_SWAP` where there is none.
    right : ndarray of int32
        Of each question's right answer; -1 if the model never gives it.
    files : tuple of FileFacts
        What was read.
    notes : tuple of str
        What was decided, in words.
    dropped : mapping of str to int
        What was left out on request, by reason.
    names : pl.Series
        The answer of each number, as compared.
    texts : pl.DataFrame or None
        With an extraction: raw_answer, answer, and count, how often it was given; sorted by raw_answer.
    """

    answers: NDArray[np.int32]
    right: NDArray[np.int32]
    files: tuple[FileFacts, ...]
    notes: tuple[str, ...]
    dropped: Mapping[str, int]
    names: pl.Series
    texts: pl.DataFrame | None = None


@dataclasses.dataclass(slots=True)
class _Texts:
    """The answers taken out of texts, and how often each was given, block by block."""

    extraction: Extraction
    counts: list[pl.DataFrame] = dataclasses.field(default_factory=list)

    def of(self, block: pl.DataFrame) -> pl.Series:
        """Return the answer in each row's text."""
        given = block.select("question_id", raw_answer="answer")
        found = extract(block.select("question_id", "answer").unique(), self.extraction)
        both = given.join(
            found, on=["question_id", "raw_answer"], how="left", validate="m:1", maintain_order="left"
        )
        self.counts.append(both.group_by("raw_answer", "answer").agg(count=pl.len()))
        return both["answer"]

    def table(self) -> pl.DataFrame:
        """Return raw_answer, answer and count."""
        keys = ["raw_answer", "answer"]
        none = pl.DataFrame(schema={**dict.fromkeys(keys, pl.String), "count": pl.UInt32})
        return pl.concat([none, *self.counts]).group_by(keys).agg(pl.col("count").sum()).sort(keys)


@dataclasses.dataclass(slots=True)
class _Numbers:
    """Numbers given to answers, after normalisation if asked for."""

    normalise: bool
    given: dict[str, int] = dataclasses.field(default_factory=dict)
    known: dict[str, int] = dataclasses.field(default_factory=dict)

    def of(self, answers: pl.Series) -> NDArray[np.int32]:
        """Return the number of each answer; new answers get new numbers."""
        distinct = answers.unique()
        fresh = [one for one in distinct.to_list() if one not in self.known]
        if fresh:
            forms = _normalised(fresh) if self.normalise else fresh
            for one, form in zip(fresh, forms, strict=True):
                self.known[one] = self.given.setdefault(form, len(self.given))
        numbers = pl.Series([self.known[one] for one in distinct.to_list()], dtype=pl.Int32)
        return answers.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()


def _normalised(answers: list[str]) -> list[str]:
    forms = answer_forms(pl.Series("answer", answers))
    return list(pl.Series(answers).replace_strict(forms["answer"], forms["normalised"]).to_list())


def read_plan_answers(
    paths: Sequence[Path], shape: PlanShape, excluded: set[str], config: ScoreConfig
) -> PlanAnswers:
    """Return a model's answers to the rows of a plan.

    Parameters
    ----------
    paths : sequence of Path
        Flat tables (Parquet, CSV, JSONL, a JSON list, ...) of question_id, perturbation and answer, in any
        order; several files are put together.
    shape : PlanShape
        The plan.
    excluded : set of str
        Questions of the build that are not in the plan: answers to them are left out.
    config : ScoreConfig
        How answers are read and taken out of sentences, and whether they are compared after VQA
        normalisation.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has rows that don't fit.
    SchemaError
        Perturbations without an answer, with two, or that the plan lacks: the message names questions.
    """
    numbers = _Numbers(config.normalize)
    texts = None if config.extract is None else _Texts(extraction_for(config.extract, shape.questions))
    right = numbers.of(shape.questions["answer"])
    answers = np.full(len(shape.kind), NO_SWAP, np.int32)
    unknown: list[str] = []
    dropped: Counter[str] = Counter()
    rows = left_out = extra = 0
    known = pl.concat([shape.questions["question_id"], pl.Series(sorted(excluded), dtype=pl.String)])
    lost: set[str] = set()
    files, notes = list[FileFacts](), list[str]()
    for path, block in _blocks_of_all(paths, known, config, dropped, files, notes):
        ids, pairs = zeros_back(block["question_id"], known, path)
        lost.update(pairs["given"])
        block = block.with_columns(ids)
        row = _rows_of(block, shape)
        is_there = row != _NONE
        if not is_there.all():
            strange = block.filter(pl.Series(~is_there))
            is_excluded = strange["question_id"].is_in(list(excluded))
            left_out += int(is_excluded.sum())
            extra += int((~is_excluded).sum())
            if config.on_extra == "error":
                unknown += _named(strange.filter(~is_excluded))
        taken = is_there.nonzero()[0]
        rows += len(taken)
        given = block["answer"][taken] if texts is None else texts.of(block[taken])
        _put(answers, row[taken], numbers.of(given), config.on_duplicate)
    is_empty, is_read = answers == NO_SWAP, counted_rows(shape, config)
    is_missing, repeated = is_empty & is_read, rows - int((~is_empty).sum())
    wanted = int(is_read.sum())
    _check_whole(" and ".join(map(str, paths)), shape, is_missing, wanted, repeated, unknown, config)
    counts = {
        MISSING: int(is_missing.sum()),
        EXTRA: extra,
        f"{REPEATED}, the {config.on_duplicate} one kept": repeated,
    }
    dropped.update({reason: count for reason, count in counts.items() if count})
    told = {"answers to questions that the plan leaves out": left_out, LOST_ZEROS: len(lost)}
    notes += [f"{what}: {count:,}" for what, count in told.items() if count]
    table = None if texts is None else texts.table()
    if table is not None and config.extract is not None:
        notes.append(extraction_note(table, config.extract))
    return PlanAnswers(
        answers=answers,
        right=right,
        files=tuple(files),
        notes=tuple(dict.fromkeys(notes)),
        dropped=dict(dropped),
        names=pl.Series([*numbers.given], dtype=pl.String),
        texts=table,
    )


def _rows_of(block: pl.DataFrame, shape: PlanShape) -> NDArray[np.int64]:
    """Return the row of the plan that each answer is to, `_NONE` where there is no such row."""
    places = shape.questions.select("question_id").with_row_index("place")
    joined = block.join(places, on="question_id", how="left", validate="m:1", maintain_order="left")
    place = joined["place"].cast(pl.Int64).fill_null(_NONE).to_numpy()
    perturbation = joined["perturbation"].cast(pl.Int64).to_numpy()
    is_there = (place >= 0) & (perturbation >= 0) & (perturbation < shape.lengths()[place])
    return np.where(is_there, shape.first[place] + perturbation, _NONE)


def _put(
    answers: NDArray[np.int32], row: NDArray[np.int64], given: NDArray[np.int32], on_duplicate: OnDuplicate
) -> None:
    """Write the answers of a block to their rows; of several to one row the one that is kept."""
    if on_duplicate != "error":
        step = 1 if on_duplicate == "first" else -1
        row, at = np.unique(row[::step], return_index=True)
        given = given[::step][at]
        if on_duplicate == "first":
            is_fresh = answers[row] == NO_SWAP
            row, given = row[is_fresh], given[is_fresh]
    answers[row] = given


def _named(rows: pl.DataFrame) -> list[str]:
    shown = zip(rows["question_id"].to_list(), rows["perturbation"].to_list(), strict=True)
    return [f"{question} ({perturbation})" for question, perturbation in shown]


def _check_whole(
    path: str,
    shape: PlanShape,
    is_missing: NDArray[np.bool_],
    wanted: int,
    repeated: int,
    unknown: list[str],
    config: ScoreConfig,
) -> None:
    """Raise SchemaError for all that is missing, too much or there twice and must not be."""
    problems, ways = [], ["Answer every row of swaps.parquet once, perturbation 0 (no swap) too"]
    missing = is_missing if config.on_missing == "error" else is_missing & (shape.kind == 0)
    if missing.any() and config.on_missing != "skip":
        named = shape.questions["question_id"].filter(pl.Series(np.logical_or.reduceat(missing, shape.first)))
        problems.append(
            f"{int(missing.sum()):,} perturbations of {len(named):,} questions without an answer: "
            f"{examples(named)}"
        )
        ways.append("leave these questions out for all models with --on-missing skip")
        if config.on_missing == "error":
            ways.append("read them as no such swap with --on-missing no-swap")
    if repeated and config.on_duplicate == "error":
        problems.append(f"{repeated:,} answers to a perturbation that has one already")
        ways.append("keep one with --on-duplicate first")
    if unknown:
        problems.append(
            f"{len(unknown):,} answers to what the plan lacks, question (perturbation): {examples(unknown)}"
        )
        ways.append("leave these answers out with --on-extra ignore")
    if problems:
        title = (
            f"{path}: got answers that don't fit the plan, expected one for each of its "
            f"{wanted:,} rows. {', or '.join(ways)}."
        )
        raise SchemaError(problem_list(title, problems))


def _blocks_of_all(
    paths: Sequence[Path],
    known: pl.Series,
    config: ScoreConfig,
    dropped: "Counter[str]",
    files: list[FileFacts],
    notes: list[str],
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Give the answers of several files in blocks; their facts and notes are added as each file ends."""
    for path in paths:
        source = open_source(path, keep_workbooks=True)
        flat = open_table(source)
        named = named_columns(config.columns, config.answer_columns)
        if "perturbation" not in named and flat.missing({"perturbation": COLUMNS["perturbation"]}):
            of_images = read_image_answers(path, known, config)
            if of_images is not None:
                yield str(path), of_images.table
                files.append(of_images.file)
                notes += of_images.notes
                dropped.update(of_images.dropped)
                continue
        if config.columns is None and flat.missing(COLUMNS):
            check_no_other_kind(source, COLUMNS)
        for block in _blocks(flat, config, dropped):
            yield str(flat.path), block
        files.append(source.facts())
        notes += flat.notes


def _blocks(flat: FlatTable, config: ScoreConfig, dropped: "Counter[str]") -> Iterator[pl.DataFrame]:
    """Give the answers of a file in blocks; tens of millions of rows must not be there at once.

    Rows that are skipped on request are counted in `dropped`, by reason.
    """
    named = named_columns(config.columns, config.answer_columns)
    needs = needs_of(named, COLUMNS)
    check_columns(flat, needs, named)
    are_lists = True  # until the first block is not
    for at, (block, problems) in enumerate(read_blocks(flat, needs, _ROWS_AT_ONCE)):
        if are_lists:
            block, are_lists = _with_texts(flat, block)
            if at and not are_lists:
                raise SourceError(
                    f"{flat.path}: got lists written as text in the first answers and other text in later "
                    "ones, expected one of both in all. Write each answer as text."
                )
        found = list(problems)
        for name, expected in _EXPECTED.items():
            is_bad = is_blank(name).fill_null(True) if name == "question_id" else pl.col(name).is_null()
            found += find_problems(block, is_bad, name, expected)
        dropped.update(settle(flat.path, "answers", found, flat.total, config.on_bad_row, flat.label))
        yield without_bad(block, found)


def _with_texts(flat: FlatTable, block: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """Return a block with the texts in its answers if all of these are lists, and whether they are."""
    given = block["answer"]
    texts = only_texts(given, flat.path, lambda row: flat.label(block[RECORD][row]))
    if texts is None:
        return block, False
    flat.decisions[f"answer, {LISTS_NOTE}"] += int((texts != given).sum())
    return block.with_columns(answer=texts), True
