"""What a RAD folder holds: its tables, the official VQA files, its figures; and reading it back."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import (
    open_folder,
    options_of,
    release_ids,
    write_manifest,
    write_tables,
)
from shortcut_miner.diagnostics.rad.augment import Augmented
from shortcut_miner.diagnostics.rad.config import TYPES, RadConfig
from shortcut_miner.diagnostics.rad.inputs import RadInputs
from shortcut_miner.diagnostics.rad.language import inflect_version
from shortcut_miner.schemas import Augmentations, Questions
from shortcut_miner.scoring.leak import Prior, leak_check, leak_record, leak_text
from shortcut_miner.storage import LEAK_RECORD, Provenance, write_json

COMMAND = "rad build"
ANNOTATORS = 10
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {"questions": pl.len(), "images": pl.col("image_id").n_unique()},
    "augmentations": {
        "augmentations": pl.len(),
        **{f"augmentations_{name}": (pl.col("augmentation") == name).sum() for name in TYPES},
        "yes": (pl.col("answer") == "yes").sum(),
    },
    "skipped": {"skipped": pl.len()},
    "counts": {"pairs": pl.col("pairs").first(), "models": pl.col("model").n_unique()},
}
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
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=inputs.facts.records,
        counts=counts,
        dropped=dict(inputs.facts.dropped) | _counts_of(skipped, "reason"),
    )
    return provenance, _figures(inputs, made, config)


def _figures(inputs: RadInputs, made: Augmented, config: RadConfig) -> dict[str, Any]:
    rows, skipped = made.augmentations, made.skipped
    by_type = {}
    for name in config.chosen_types:
        own = rows.filter(pl.col("augmentation") == name)
        reasons = skipped.filter(pl.col("augmentation") == name)
        by_type[name] = {
            "openings": len(own) // config.per_question + len(reasons),
            "augmentations": len(own),
            "share_of_questions": _share(len(own) // config.per_question, len(inputs.questions)),
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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _counts_of(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame[column].value_counts().sort(column).rows())


def in_words(
    provenance: Provenance, figures: Mapping[str, Any], leak: pl.DataFrame | None = None
) -> dict[str, str]:
    """Return what a build read and made, what gave nothing and why, as the console prints it."""
    counts = provenance.counts
    words = {"questions": f"{counts['questions']:,} about {counts['images']:,} images"}
    for name, found in figures["by_type"].items():
        shares = f"{found['yes']:,} yes, {found['no']:,} no"
        if provenance.config["per_question"] > 1:
            shares += f", {provenance.config['per_question']:,} of each question"
        words[name] = f"{found['augmentations']:,} of {found['openings']:,} that open so ({shares})"
    reasons = sorted(provenance.dropped.items(), key=lambda one: -one[1])
    words["no augmentation"] = "; ".join(f"{count:,} {reason}" for reason, count in reasons) or "none"
    model = figures["spacy_model"]
    words["nouns found by"] = f"{model['name']} {model['version']}" if model else "nothing to tag"
    for row in [] if leak is None else leak.iter_rows(named=True):
        words[f"leak of {row['group']}"] = leak_text(row)
    return words


def find_leak(augmentations: pl.DataFrame) -> pl.DataFrame:
    """Return how far each type's answers can be guessed from text: see :func:`.scoring.leak.leak_check`."""
    prior = Prior(context="original_question", given="original_answer", asked="substituted_answer")
    return leak_check(augmentations, by="augmentation", prior=prior)


def file_names(config: RadConfig) -> list[str]:
    """Return what a build writes beside its records; the splits' names are in the questions."""
    of_draw = ["balance"] if config.draw == "balanced" else []
    tables = [f"{name}.parquet" for name in ("augmentations", "skipped", "pools", *of_draw, "questions")]
    released = [f"yes-no_from_{name}_*.json" for name in config.chosen_types]
    return [*tables, *released]


def make_tables(inputs: RadInputs, made: Augmented) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    balance = made.balance
    return {
        "augmentations": lambda: made.augmentations,
        "skipped": lambda: made.skipped,
        "pools": lambda: made.pools,
        **({} if balance is None else {"balance": lambda: balance}),
        "questions": partial(inputs.questions.sort, "question_id"),
    }


def write(
    folder: Path,
    tables: Mapping[str, Callable[[], pl.DataFrame]],
    provenance: Provenance,
    figures: dict[str, Any],
    leak: pl.DataFrame | None = None,
) -> None:
    """Write the tables, the official files, the manifest and maybe leak.json into a folder."""
    made = {name: make() for name, make in tables.items()}
    write_tables(folder, provenance, made)
    for name in TYPES:
        own = made["augmentations"].filter(pl.col("augmentation") == name)
        for (split,), rows in own.group_by("split", maintain_order=True):
            write_official(rows, folder, name, str(split))
    write_manifest(folder, provenance, figures)
    if leak is not None:
        write_json(leak_record(leak, COMMAND), folder / LEAK_RECORD)


def write_official(rows: pl.DataFrame, folder: Path, name: str, split: str) -> None:
    """Write the questions and annotations of one type and split as VQA's own programs read them."""
    ids, images = (release_ids(rows[column]) for column in ("question_id", "image_id"))
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


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``rad build`` did.

    Attributes
    ----------
    leak : pl.DataFrame or None
        With a leak check: group (the type), rows, accuracy, majority.
    """

    leak: pl.DataFrame | None = None

    @property
    def augmentations(self) -> pl.DataFrame:
        """schemas.Augmentations, sorted by question_id."""
        return self._table("augmentations")

    @property
    def skipped(self) -> pl.DataFrame:
        """schemas.SkippedSources: every other question and why, sorted by question_id."""
        return self._table("skipped")

    @property
    def pools(self) -> pl.DataFrame:
        """augmentation, pool, substitute, count: what "no" answers were drawn from."""
        return self._table("pools")

    @property
    def questions(self) -> pl.DataFrame:
        """All source questions: schemas.Questions, sorted by question_id."""
        return self._table("questions")


@dataclasses.dataclass(frozen=True, slots=True)
class RadFolder:
    """What ``rad build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        All source questions: schemas.Questions.
    augmentations : pl.DataFrame
        schemas.Augmentations.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    augmentations: pl.DataFrame
    manifest: dict[str, Any]

    def augmented_questions(self) -> pl.DataFrame:
        """Return the augmentations as schemas.Questions, with ten equal answers each."""
        return self.augmentations.select(
            "question_id",
            "image_id",
            "question",
            "question_type",
            answer_type=pl.lit("yes/no"),
            answer="answer",
            answers=pl.concat_list(*["answer"] * ANNOTATORS),
            answer_record_key=pl.lit(None, pl.List(pl.UInt8)),
            split="split",
        )

    def originals(self) -> pl.Series:
        """Return the id of each augmentation's original: its own, unless a question has several."""
        return self.augmentations["original_id" if "original_id" in self.augmentations else "question_id"]

    def pairs(self) -> pl.DataFrame:
        """Return schemas.AugmentationPairs."""
        return self.augmentations.select(
            original_id=self.originals(),
            augmented_id="question_id",
            augmentation="augmentation",
            form=pl.format("{}: {}", "augmentation", "form"),
        )


def read_folder(path: Path) -> RadFolder:
    """Return the tables of a RAD folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    return RadFolder(
        path=path,
        questions=folder.table("questions", Questions),
        augmentations=folder.table("augmentations", Augmentations),
        manifest=folder.manifest,
    )
