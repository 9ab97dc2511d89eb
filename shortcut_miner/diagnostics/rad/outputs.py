"""Writing a RAD folder: tables, the official VQA files, manifest and run record."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.diagnostics.rad.augment import Augmented
from shortcut_miner.diagnostics.rad.config import TYPES, RadConfig, RadFiles
from shortcut_miner.diagnostics.rad.inputs import RadInputs
from shortcut_miner.diagnostics.rad.language import inflect_version
from shortcut_miner.storage import (
    MANIFEST,
    RUN_RECORD,
    Provenance,
    staged_folder,
    write_json,
    write_parquet,
)
from shortcut_miner.timing import StageCost

COMMAND = "rad build"
ANNOTATORS = 10
_INFO = {
    "description": "Yes/no questions made from other questions by the templates of Rosenberg et al. "
    "(ACL 2021), written by shortcut_miner.",
    "url": "https://aclanthology.org/2021.acl-short.10",
    "version": "1.0",
}
_LICENSE = {"name": "that of the original questions", "url": ""}


def describe(
    inputs: RadInputs, made: Augmented, config: RadConfig, limit: int | None
) -> tuple[Provenance, dict[str, Any]]:
    """Return the provenance of a build, and its figures by type, form and reason."""
    rows, skipped = made.augmentations, made.skipped
    counts = {
        "questions": len(inputs.questions),
        "images": inputs.questions["image_id"].n_unique(),
        "augmentations": len(rows),
        "skipped": len(skipped),
        **{
            f"augmentations_{name}": int((rows["augmentation"] == name).sum()) for name in config.chosen_types
        },
        "yes": int((rows["answer"] == "yes").sum()),
    }
    if limit is not None:
        counts["limit"] = limit
    provenance = Provenance(
        command=COMMAND,
        config=dataclasses.asdict(config),
        inputs=inputs.records,
        counts=counts,
        dropped=dict(inputs.dropped) | _counts_of(skipped, "reason"),
    )
    return provenance, _figures(inputs, made, config)


def _figures(inputs: RadInputs, made: Augmented, config: RadConfig) -> dict[str, Any]:
    rows, skipped = made.augmentations, made.skipped
    by_type = {}
    for name in config.chosen_types:
        own = rows.filter(pl.col("augmentation") == name)
        reasons = skipped.filter(pl.col("augmentation") == name)
        by_type[name] = {
            "openings": len(own) + len(reasons),
            "augmentations": len(own),
            "share_of_questions": len(own) / len(inputs.questions) if len(inputs.questions) else None,
            "yes": int((own["answer"] == "yes").sum()),
            "no": int((own["answer"] == "no").sum()),
            "forms": _counts_of(own, "form"),
            "skipped": _counts_of(reasons, "reason"),
            "distinct_answers": made.pools.filter(pl.col("augmentation") == name)["substitute"].n_unique(),
        }
    tagger = made.tagger
    return {
        "by_type": by_type,
        "skipped_before_any_type": _counts_of(skipped.filter(pl.col("augmentation").is_null()), "reason"),
        "spacy_model": {"name": tagger.name, "version": tagger.version} if tagger else None,
        "inflect_version": inflect_version(),
    }


def _counts_of(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame[column].value_counts().sort(column).rows())


def write(
    out: Path, inputs: RadInputs, made: Augmented, provenance: Provenance, figures: dict[str, Any]
) -> None:
    """Write the whole folder; every file gets its final name only when all are complete.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    with staged_folder(out) as folder:
        write_parquet(made.augmentations, folder / "augmentations.parquet", provenance)
        write_parquet(made.skipped, folder / "skipped.parquet", provenance)
        write_parquet(made.pools, folder / "pools.parquet", provenance)
        write_parquet(inputs.questions.sort("question_id"), folder / "questions.parquet", provenance)
        for name in TYPES:
            own = made.augmentations.filter(pl.col("augmentation") == name)
            for (split,), rows in own.group_by("split", maintain_order=True):
                write_official(rows, folder, name, str(split))
        write_json(provenance.for_manifest() | {"figures": figures}, folder / MANIFEST)


def write_official(rows: pl.DataFrame, folder: Path, name: str, split: str) -> None:
    """Write the questions and annotations of one type and split as VQA's own programs read them."""
    ids, images = (_release_ids(rows[column]) for column in ("question_id", "image_id"))
    records = list(zip(ids, images, rows["question"], rows["answer"], rows["question_type"], strict=True))
    stem = f"yes-no_from_{name}_{split}"
    shared = {"info": _INFO, "license": _LICENSE, "data_type": name, "data_subtype": split}
    questions = [
        {"image_id": image_id, "question": text, "question_id": question_id}
        for question_id, image_id, text, _, _ in records
    ]
    _write_bytes(
        folder / f"{stem}_questions.json", shared | {"task_type": "Open-Ended", "questions": questions}
    )
    answers = {answer: _ten_answers(answer) for answer in ("yes", "no")}
    annotations = [
        {
            "question_type": question_type,
            "multiple_choice_answer": answer,
            "answers": answers[answer],
            "image_id": image_id,
            "answer_type": "yes/no",
            "question_id": question_id,
        }
        for question_id, image_id, _, answer, question_type in records
    ]
    _write_bytes(folder / f"{stem}_annotations.json", shared | {"annotations": annotations})


def _ten_answers(answer: str) -> list[dict[str, Any]]:
    return [
        {"answer": answer, "answer_confidence": "yes", "answer_id": number}
        for number in range(1, ANNOTATORS + 1)
    ]


def _write_bytes(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.encode(value) + b"\n")


def _release_ids(ids: pl.Series) -> list[int | str]:
    """Return ids as VQA writes them: numbers where all are numbers."""
    if ids.str.contains(r"^(0|[1-9][0-9]{0,17})$").all():
        return ids.cast(pl.Int64).to_list()
    return ids.to_list()


def write_run_record(out: Path, files: RadFiles, costs: list[StageCost], inputs: RadInputs) -> None:
    """Write ``run.json``: paths and costs, which don't change the result."""
    record = {
        "out": str(out.resolve()),
        "files": {role: str(path.resolve()) for role, path in dataclasses.asdict(files).items() if path},
        "stages": [dataclasses.asdict(cost) for cost in costs],
        "notes": list(inputs.notes),
    }
    with staged_folder(out) as folder:
        write_json(record, folder / RUN_RECORD)
