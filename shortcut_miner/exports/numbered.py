"""Ids of questions for programs that keep them as integers of 32 or 64 bits."""

import dataclasses
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import scored
from shortcut_miner.exports.records import write_value

MOST_64, MOST_32 = (1 << 63) - 1, (1 << 31) - 1
SOURCE_ID = "source_id"
_MAP, _SCRIPT = "question_ids.json", "restore_ids.py"
# A number as programs write it back: 007 would come back as 7. More digits don't fit into 64 bits.
_NUMBER = r"^(?:0|[1-9][0-9]{0,18})$"
_RESTORE = f'''\
"""Prints a JSON list of answers with the ids of the original questions.

Usage: python {_SCRIPT} ANSWERS.json > RESTORED.json
"""

import json
import pathlib
import sys

names = json.loads((pathlib.Path(__file__).parent / "{_MAP}").read_text(encoding="ascii"))
answers = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
print(json.dumps([{{**one, "question_id": names[str(one["question_id"])]}} for one in answers]))
'''


@dataclasses.dataclass(frozen=True, slots=True)
class Numbers:
    """Integers for questions.

    Attributes
    ----------
    pairs : pl.DataFrame or None
        question_id (String), number (Int64), by id; None where ids are such integers as they are.
    """

    pairs: pl.DataFrame | None

    def put_into(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table with integers as question_id, and with a source_id where they are not the ids."""
        if self.pairs is None:
            return table.with_columns(pl.col("question_id").cast(pl.Int64))
        joined = table.join(self.pairs, on="question_id", how="left", validate="m:1", maintain_order="left")
        return joined.rename({"question_id": SOURCE_ID, "number": "question_id"})

    def write(self, folder: Path) -> None:
        """Write the map to the ids and the program that restores them, where ids are others."""
        if self.pairs is not None:
            write_value({str(number): one for one, number in self.pairs.iter_rows()}, folder / _MAP)
            (folder / _SCRIPT).write_text(_RESTORE, encoding="ascii", newline="\n")

    def notes(self, consumer: str, bits: int) -> tuple[str, ...]:
        """Return what to tell."""
        if self.pairs is None:
            return ()
        return (
            f"question ids: numbered from 1 to {len(self.pairs):,}, as {consumer} keeps ids as numbers of "
            f"{bits} bits and not all of these are; {_MAP} has the ids, {_SCRIPT} puts them back",
        )

    def scored(self, questions: QuestionSets, files: str) -> str:
        """Return the commands that restore ids in files of answers (a shell's pattern) and score them."""
        if self.pairs is None:
            return scored(questions, f"MODEL=$(ls {files} | paste -sd, -)")
        put_back = f"n=$((n + 1)); python {{out}}/{_SCRIPT} $file > $restored/$n.json"
        last = scored(questions, "MODEL=$(ls $restored/*.json | paste -sd, -)")
        return f"restored=$(mktemp -d); n=0\nfor file in {files}; do {put_back}; done\n{last}"


def are_numbers(ids: pl.Series, most: int) -> bool:
    """Return whether all ids are integers from 0 to `most`, and written as programs write these.

    >>> [are_numbers(pl.Series([one]), MOST_32) for one in ("42", "042", "2147483648")]
    [True, False, False]
    """
    number = ids.cast(pl.Int64, strict=False)
    return bool(ids.str.contains(_NUMBER).all() and number.is_not_null().all() and (number <= most).all())


def number_questions(questions: QuestionSets, most: int) -> Numbers:
    """Return the ids as integers up to `most`, or numbers from 1 in their order where one is no such integer.

    >>> from shortcut_miner.exports.numbered import Numbers
    >>> Numbers(None).put_into(pl.DataFrame({"question_id": ["7"]}))["question_id"].to_list()
    [7]
    """
    ids = questions.values("question_id").unique().sort()
    if are_numbers(ids, most):
        return Numbers(None)
    return Numbers(pl.DataFrame({"question_id": ids, "number": pl.int_range(1, len(ids) + 1, eager=True)}))
