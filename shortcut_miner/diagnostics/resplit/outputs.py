"""What a resplit folder holds: its tables, the files of each side, its figures; and reading it back."""

import dataclasses
from collections.abc import Callable, Mapping
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
from shortcut_miner.diagnostics.resplit.config import ResplitConfig
from shortcut_miner.diagnostics.resplit.inputs import ResplitInputs
from shortcut_miner.diagnostics.resplit.rule_groups import SHORTCUTS
from shortcut_miner.diagnostics.resplit.split import OOD, SIDES, Split
from shortcut_miner.schemas import Questions, Resplit, ResplitOod, validated
from shortcut_miner.storage import Provenance

COMMAND = "resplit build"
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {"questions": pl.len(), "images": pl.col("image_id").n_unique()},
    "split": {
        **{side: (pl.col("subset") == side).sum() for side in SIDES},
        **{f"ood_{name}": pl.col(OOD).list.contains(name).sum() for name in SHORTCUTS},
    },
    "groups": {
        "groups": pl.len(),
        "test_groups": (pl.col("subset") == "test").sum(),
        "cover_groups": (pl.col("reason") == "cover").sum(),
        "kept_groups": pl.col("is_kept").sum(),
    },
    "shift": {"question_types": pl.len()},
}
_DESCRIPTION = "Questions split anew by shortcut_miner"


def file_names(config: ResplitConfig) -> list[str]:
    """Return what a build writes beside its records."""
    del config  # all write the same
    tables = [f"{name}.parquet" for name in ("questions", "split", "groups", "shift")]
    return [*tables, *(f"{side}_{what}.json" for side in SIDES for what in ("questions", "annotations"))]


def make_tables(inputs: ResplitInputs, made: Split) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    schema = ResplitOod if OOD in made.split.columns else Resplit
    return {
        "questions": lambda: inputs.questions,
        "split": lambda: validated(made.split, schema, "split"),
        "groups": lambda: made.groups,
        "shift": lambda: made.shift,
    }


def describe(
    inputs: ResplitInputs, made: Split, config: ResplitConfig, limit: int | None
) -> tuple[Provenance, dict[str, Any]]:
    """Return the provenance of a build, and its figures."""
    sides = dict(made.split["subset"].value_counts().iter_rows())
    images = {side: set(inputs.questions.filter(made.split["subset"] == side)["image_id"]) for side in SIDES}
    counts = {
        "questions": len(inputs.questions),
        "images": inputs.questions["image_id"].n_unique(),
        **{side: sides.get(side, 0) for side in SIDES},
        "groups": len(made.groups),
    }
    if config.method == "vqa-cp":
        counts |= {
            "test_groups": int((made.groups["subset"] == "test").sum()),
            "cover_groups": int((made.groups["reason"] == "cover").sum()),
        }
    else:
        counts |= {"kept_groups": int(made.groups["is_kept"].sum())}
        counts |= {f"ood_{name}": int(made.split[OOD].list.contains(name).sum()) for name in SHORTCUTS}
    counts["question_types"] = len(made.shift)
    figures = made.figures | {
        "images_by_side": {side: len(some) for side, some in images.items()},
        "images_in_train_and_test": len((images["train"] | images["val"]) & images["test"]),
    }
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=inputs.facts.records,
        counts=counts,
        dropped=inputs.facts.dropped,
    )
    return provenance, figures


def in_words(provenance: Provenance, figures: Mapping[str, Any]) -> dict[str, str]:
    """Return what a build read and found, as the console prints it."""
    counts = provenance.counts
    words = {"questions": f"{counts['questions']:,} about {counts['images']:,} images"}
    if "test_groups" in counts:
        words["groups"] = (
            f"{counts['groups']:,} by {provenance.config['group_by']}: {counts['test_groups']:,} tested, "
            f"{counts['cover_groups']:,} trained on to cover these, the rest trained on"
        )
    else:
        words["groups"] = f"{counts['groups']:,} of nine shortcuts, {counts['kept_groups']:,} of them uneven"
    words["train"] = f"{counts['train']:,} questions"
    words["val"] = f"{counts['val']:,}, of the training's kind, about images of their own"
    share = counts["test"] / counts["questions"]
    words["test"] = f"{counts['test']:,} ({share:.1%}), of groups that training lacks"
    if "test_groups" not in counts:
        words["test"] = f"{counts['test']:,} ({share:.1%}), drawn by image"
        tails = (f"{counts[f'ood_{name}']:,} {name}" for name in SHORTCUTS)
        words["rare in the test"] = ", ".join(tails)
    both = figures["images_in_train_and_test"]
    words["images"] = f"{both:,} have questions in the test and outside it"
    if "test_concepts" in figures:
        rows = figures["test_concept_rows"]
        words["concepts"] = (
            f"{figures['covered_concepts']:,} of the test's {figures['test_concepts']:,} are in training "
            f"({figures['covered_concept_rows'] / rows if rows else 0:.1%} weighted by questions)"
        )
    shift = figures["shift"]
    words["shift"] = f"{shift['js_bits']:.3f} bits between all answers, {counts['question_types']:,} types"
    return words


def write(
    folder: Path,
    tables: Mapping[str, Callable[[], pl.DataFrame]],
    provenance: Provenance,
    figures: dict[str, Any],
    *,
    flat: bool,
) -> None:
    """Write the tables, questions and annotations of each side, and the manifest into a folder."""
    made = {name: make() for name, make in tables.items()}
    write_tables(folder, provenance, made)
    for side in SIDES:
        rows = made["questions"].filter(made["split"]["subset"] == side)
        _write_side(folder, rows, side, flat=flat)
    write_manifest(folder, provenance, figures)


def _write_side(folder: Path, rows: pl.DataFrame, side: str, *, flat: bool) -> None:
    ids = list(zip(release_ids(rows["image_id"]), release_ids(rows["question_id"]), strict=True))
    asked = [
        {"image_id": image, "question": text, "question_id": question_id}
        for (image, question_id), text in zip(ids, rows["question"], strict=True)
    ]
    names = ("question_type", "answer_type", "answer", "answers", "answer_record_key")
    annotated = [
        {
            "question_type": kind,
            "multiple_choice_answer": answer,
            "answers": _records(answers or [answer], keys),
            "image_id": image,
            "answer_type": answer_type,
            "question_id": question_id,
        }
        for (image, question_id), (kind, answer_type, answer, answers, keys) in zip(
            ids, rows.select(names).iter_rows(), strict=True
        )
    ]
    shared = {
        "info": {"description": f"{_DESCRIPTION}, {side}."},
        "data_type": "resplit",
        "data_subtype": side,
    }
    for what, records in (("questions", asked), ("annotations", annotated)):
        value: object = records if flat else shared | {what: records}
        (folder / f"{side}_{what}.json").write_bytes(msgspec.json.encode(value) + b"\n")


def _records(answers: list[str], keys: list[int] | None) -> list[dict[str, Any]]:
    """Return answer records that are equal as a whole where the original ones were, else distinct."""
    numbers = range(len(answers)) if keys is None else keys
    return [
        {"answer": answer, "answer_confidence": "yes", "answer_id": number + 1}
        for answer, number in zip(answers, numbers, strict=True)
    ]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``resplit build`` did."""

    @property
    def split(self) -> pl.DataFrame:
        """schemas.Resplit, sorted by question_id."""
        return self._table("split")

    @property
    def groups(self) -> pl.DataFrame:
        """The groups in the order of the walk, each with its side and why; or those of each shortcut."""
        return self._table("groups")

    @property
    def shift(self) -> pl.DataFrame:
        """How answers shift from training to test, a row a type of question."""
        return self._table("shift")

    @property
    def questions(self) -> pl.DataFrame:
        """All questions: schemas.Questions, sorted by question_id."""
        return self._table("questions")


@dataclasses.dataclass(frozen=True, slots=True)
class ResplitFolder:
    """What ``resplit build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.Questions with subset and, with vqa-vs-like, ood.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    manifest: dict[str, Any]


def read_folder(path: Path) -> ResplitFolder:
    """Return the questions of a resplit folder with their sides.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    schema = ResplitOod if folder.manifest["config"].get("method") == "vqa-vs-like" else Resplit
    split = folder.table("split", schema).drop("group")
    questions = folder.table("questions", Questions)
    return ResplitFolder(
        path=path,
        questions=questions.join(split, on="question_id", how="inner", validate="1:1", maintain_order="left"),
        manifest=folder.manifest,
    )
