"""The official files of VQA v2: questions and annotations, a pair a split."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter, scored
from shortcut_miner.exports.numbered import MOST_64, are_numbers
from shortcut_miner.exports.records import write_records
from shortcut_miner.sources.images.image_files import Images

_RESULTS = "RESULTS.json"


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write SET_SPLIT_questions.json and SET_SPLIT_annotations.json for each split."""
    del images  # the files name images by id
    numbers = {name: are_numbers(questions.values(name), MOST_64) for name in ("question_id", "image_id")}
    for name, split, table in questions.splits():
        _write_pair(questions, table, folder, name, split, numbers)
    return Exported(
        run=_official(questions),
        read_back=scored(questions, f"NAME={_RESULTS}"),
        notes=tuple(_notes(questions, numbers)),
    )


def _write_pair(
    questions: QuestionSets,
    table: pl.DataFrame,
    folder: Path,
    name: str,
    split: str,
    numbers: Mapping[str, bool],
) -> None:
    header = {
        "info": {
            "description": f"{questions.title}, {split}; written by shortcut_miner from a folder of "
            f"{questions.command}.",
            "version": "1.0",
        },
        "license": {"name": questions.license or "that of the original questions", "url": ""},
        "data_type": name,
        "data_subtype": split,
    }
    ids = [pl.col(one).cast(pl.Int64) if is_number else pl.col(one) for one, is_number in numbers.items()]
    has_split = table["split"].null_count() < len(table)
    asked = table.select(*ids, "question", *(["split"] if has_split else []))
    annotated = table.select(
        *ids, "question_type", "answer_type", multiple_choice_answer="answer", answers=_answer_records(table)
    )
    stem = f"{name}_{split}"
    _write_file(folder / f"{stem}_questions.json", header | {"task_type": "Open-Ended"}, "questions", asked)
    _write_file(folder / f"{stem}_annotations.json", header, "annotations", annotated)


def _answer_records(table: pl.DataFrame) -> pl.Series:
    """Return the lists of answer records: equal as a whole where the original ones were, else distinct.

    The official accuracy leaves out, for each annotator, all records that equal his: where ids that were
    distinct come out equal, scores fall without an error.
    """
    rows = table.select("answers", "answer_record_key").with_row_index()
    filled = rows.filter(pl.col("answers").list.len() > 0)
    number = pl.int_ranges(pl.col("answers").list.len(), dtype=pl.UInt32)
    keys = pl.col("answer_record_key").cast(pl.List(pl.UInt32))
    records = (
        filled.with_columns(answer_id=pl.coalesce(keys, number))
        .select("index", answer="answers", answer_id="answer_id")
        .explode("answer", "answer_id")
        .select(
            "index",
            record=pl.struct("answer", answer_confidence=pl.lit("yes"), answer_id=pl.col("answer_id") + 1),
        )
        .group_by("index", maintain_order=True)
        .agg(answers="record")
    )
    joined = rows.select("index", is_known=pl.col("answers").is_not_null()).join(
        records, on="index", how="left", validate="1:1", maintain_order="left"
    )
    none = pl.when("is_known").then(pl.lit([], dtype=records.schema["answers"]))
    return joined.select(pl.coalesce("answers", none)).to_series()


def _write_file(path: Path, header: Mapping[str, Any], key: str, table: pl.DataFrame) -> None:
    """Write a JSON object of a header and, under `key`, a record a row and a line."""
    start = json.dumps(header).removesuffix("}")
    records = table.select(pl.struct(pl.all()).struct.json_encode()).to_series()
    write_records(records, path, before=f'{start}, "{key}": ', after="}")


def _notes(questions: QuestionSets, numbers: Mapping[str, bool]) -> list[str]:
    notes = []
    if texts := [name for name, is_number in numbers.items() if not is_number]:
        notes.append(
            f"{' and '.join(texts)}: ids that are no numbers stay text, which the official evaluation refuses"
        )
    unknown = int((questions.values("answers").list.len().fill_null(0) == 0).sum())
    if unknown:
        notes.append(f"questions without any answer: {unknown:,}; the official evaluation stops at them")
    return notes


def _official(questions: QuestionSets) -> str:
    """Return how the official evaluation runs on each split; it is a checkout, for Python 2."""
    code = (
        "import sys; from vqaTools.vqa import VQA; from vqaEvaluation.vqaEval import VQAEval; "
        "annotations, questions, results = sys.argv[1:]; truth = VQA(annotations, questions); "
        "scores = VQAEval(truth, truth.loadRes(results, questions), n=2); scores.evaluate(); "
        "print(scores.accuracy)"
    )
    return (
        "git clone https://github.com/GT-Vision-Lab/VQA\n"
        f"for NAME in {' '.join(questions.by_stem())}; do\n"
        f"  PYTHONPATH=VQA/PythonHelperTools:VQA/PythonEvaluationTools python2 -c '{code}' \\\n"
        f"    {{out}}/${{NAME}}_annotations.json {{out}}/${{NAME}}_questions.json ${{NAME}}_{_RESULTS}\n"
        "done"
    )


EXPORTER = Exporter("vqa-json", "the official VQA evaluation", write)
