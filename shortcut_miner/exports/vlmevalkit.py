"""VLMEvalKit: a TSV a set, its yes/no questions as multiple choice too, and a program for short answers.

VLMEvalKit reads a TSV by pandas, which takes n/a, None, null and others for nothing and digits for numbers:
ids are written as q<id>, and what answers really are is JSON text.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter, scored
from shortcut_miner.exports.records import json_texts, record_texts
from shortcut_miner.exports.tasks import POST_PROMPT, task_name
from shortcut_miner.sources.images.image_files import Images

# From this size on VLMEvalKit writes a second file, with paths.
_MOST_EMBEDDED = 10**9
# Cells of at most 64 letters are taken for the index of another row: 48 bytes as base64.
_LEAST_BYTES = 49
_ROWS_AT_ONCE = 200
_IS_FIRST = pl.col("first") == pl.col("index")
_MARK = "q"
_UNKNOWN = "unknown"
_CHOICES = ("yes", "no")
_PROGRAM, _RESULTS = "run_short_answers.py", "vlmevalkit-results"
_SHORT_ANSWERS = '''\
"""Runs VLMEvalKit's run.py, and asks the sets of this folder for short answers: use it in run.py's place.

A set that VLMEvalKit doesn't know is asked as it is, and models then answer in sentences.
"""

import os
import runpy
import sys

sys.path.insert(0, os.getcwd())

import vlmeval.dataset

SETS = {sets!r}


class ShortAnswers(vlmeval.dataset.CustomVQADataset):
    """Questions that a word or a phrase answers."""

    @classmethod
    def supported_datasets(cls):
        return SETS

    def build_prompt(self, line):
        message = super().build_prompt(line)
        message[-1]["value"] += {prompt!r}
        return message


vlmeval.dataset.DATASET_CLASSES.append(ShortAnswers)

if __name__ == "__main__":
    sys.argv[0] = "run.py"
    runpy.run_path("run.py", run_name="__main__")
'''


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write SET_openended.tsv for each set, SET_yes_no.tsv where it has such questions, and the program."""
    names: list[str] = []
    choices: list[str] = []
    notes: list[str] = []
    mark = _mark(questions)
    for name, splits in questions.sets.items():
        table = _rows(splits, mark)
        names.append(f"{task_name(name)}_openended")
        notes += _write_set(table, images, folder / f"{names[-1]}.tsv")
        binary = table.filter(pl.col("answer").is_in(_CHOICES))
        if len(binary):
            choices.append(f"{task_name(name)}_yes_no")
            notes += _write_set(_as_choices(binary), images, folder / f"{choices[-1]}.tsv")
    (folder / _PROGRAM).write_text(
        _SHORT_ANSWERS.format(sets=names, prompt=POST_PROMPT), encoding="utf-8", newline="\n"
    )
    results = {
        name: f"MODEL=$(ls -t {_RESULTS}/MODEL/T*/MODEL_{file}.xlsx | head -n 1)"
        for name, file in zip(questions.sets, names, strict=True)
    }
    return Exported(
        run=_run(names, choices, images),
        read_back=scored(questions, results),
        notes=(*dict.fromkeys(notes), *_notes(mark, names, choices)),
    )


def _mark(questions: QuestionSets) -> str:
    """Return what goes before each id, and away on the way back; nothing if an id begins so itself."""
    return "" if questions.values("question_id").str.starts_with(_MARK).any() else _MARK


def _rows(splits: Mapping[str, pl.DataFrame], mark: str) -> pl.DataFrame:
    """Return the questions of a set as VLMEvalKit's columns, and image_id."""
    tables = [
        table.select(
            "image_id",
            pl.concat_str(pl.lit(mark), "question_id").alias("question_id"),
            "question",
            "answer",
            json_texts(pl.col("answers")).alias("answers"),
            split=pl.lit(split),
            category=pl.coalesce(_known("question_type"), _known("answer_type"), pl.lit(_UNKNOWN)),
            record=record_texts(table.select("image_id", "question", "answer")),
        )
        for split, table in splits.items()
    ]
    return pl.concat(tables).with_row_index("index")


def _known(column: str) -> pl.Expr:
    return pl.when(pl.col(column).str.len_bytes() > 0).then(column)


def _as_choices(table: pl.DataFrame) -> pl.DataFrame:
    letters = dict(zip(_CHOICES, "AB", strict=True))
    return table.with_columns(
        pl.col("answer").replace_strict(letters),
        **{letter: pl.lit(answer) for answer, letter in letters.items()},
        index=pl.int_range(pl.len(), dtype=pl.UInt32),
    )


def _write_set(table: pl.DataFrame, images: Images, path: Path) -> tuple[str, ...]:
    """Write a set with its images, in the file as long as it stays small; return what was decided."""
    if images.kind == "none":
        _write_tables([table.drop("image_id")], path)
        return ()
    known = table.filter(pl.col("image_id").is_in(images.known()))
    gone = len(table) - len(known)
    left_out = (f"{path.name}: questions left out, as their image was not found: {gone:,}",) if gone else ()
    size = images.size(known["image_id"].unique()) if images.are_content else 0
    if images.kind == "packed" or (images.kind == "files" and size * 4 / 3 <= _MOST_EMBEDDED):
        _write_tables(_with_content(known, images), path)
        return left_out
    _write_tables([known.with_columns(image_path=images.place()).drop("image_id")], path)
    if images.kind == "addresses":
        return (*left_out, "images: addresses, which models behind an API take; others need a folder")
    return (*left_out, f"images: by path, as they take {size / 1e9:.1f} GB, which is too much for one file")


def _write_tables(tables: Iterable[pl.DataFrame], path: Path) -> None:
    """Write tables, one at least, below each other; pandas reads texts in quotation marks as they are."""
    with path.open("wb") as file:
        for number, table in enumerate(tables):
            table.write_csv(file, separator="\t", quote_style="non_numeric", include_header=number == 0)


def _with_content(table: pl.DataFrame, images: Images) -> Iterator[pl.DataFrame]:
    """Give the rows with the column image: base64 in an image's first row, and that row's index in others."""
    first = pl.col("index").first().over("image_id")
    rows = table.with_columns(first=first)
    for start in range(0, max(len(rows), 1), _ROWS_AT_ONCE):
        piece = rows.slice(start, _ROWS_AT_ONCE)
        needed = piece.filter(_IS_FIRST)["image_id"]
        pictures = images.pictures(needed)
        content = [_base64(pictures[one].content) for one in needed]
        here = piece.filter(_IS_FIRST).select("index", image=pl.Series(content, dtype=pl.String))
        joined = piece.join(here, on="index", how="left", validate="1:1", maintain_order="left")
        image = pl.coalesce("image", pl.col("first").cast(pl.String))
        yield joined.with_columns(image=image).drop("first", "image_id")


def _base64(content: bytes) -> str:
    """Return a file's content; zeros after an image's end change nothing."""
    return base64.b64encode(content.ljust(_LEAST_BYTES, b"\0")).decode("ascii")


def _notes(mark: str, names: list[str], choices: list[str]) -> list[str]:
    notes = [] if mark else ["question_id: as it is, for some begin with a q already"]
    notes.append(
        f"{' '.join(names)}: VLMEvalKit doesn't evaluate open answers to such sets; --mode infer writes them"
    )
    if choices:
        shown = " ".join(choices)
        notes.append(f"{shown}: questions answered by yes (A) or no (B); VLMEvalKit evaluates them")
    return notes


def _run(names: list[str], choices: list[str], images: Images) -> str:
    """Return the commands; images that VLMEvalKit unpacked for another export must not be taken for these."""
    start = "(cd VLMEvalKit && python"
    end = '\\\n    --model MODEL --work-dir "$RESULTS"'
    lines = [
        "git clone https://github.com/open-compass/VLMEvalKit && pip install -e VLMEvalKit",
        f"OUT=$(realpath {{out}}); RESULTS=$PWD/{_RESULTS}; export LMUData=$(mktemp -d)",
        'ln -s "$OUT"/*.tsv "$LMUData"',
    ]
    if images.kind == "none":
        lines.append(
            "# Without images VLMEvalKit stops at open questions (KeyError 'image_path'): give --images."
        )
    lines.append(f'{start} "$OUT/{_PROGRAM}" --data {" ".join(names)} {end} --mode infer)')
    if choices:
        lines.append(f"{start} run.py --data {' '.join(choices)} {end} --judge exact_matching)")
    return "\n".join(lines)


EXPORTER = Exporter("vlmevalkit", "VLMEvalKit", write, holds_images=True)
