"""What a GQA-OOD folder holds: its tables, the subsets as JSON, its figures; and reading it back."""

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
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.gqa_ood.config import GqaOodConfig
from shortcut_miner.diagnostics.gqa_ood.inputs import WITHOUT_GROUP, GqaOodInputs
from shortcut_miner.diagnostics.gqa_ood.schemas import OodGroups, OodQuestions, OodSplit
from shortcut_miner.diagnostics.gqa_ood.subsets import HEAD, TAIL, tail_sizes
from shortcut_miner.scoring.head_tail import Cut
from shortcut_miner.storage import Provenance

COMMAND = "gqa-ood build"
TABLES = ("questions", "groups", "split")
SUBSETS = (HEAD, TAIL, "all")
FILE_NAMES = [*(f"{name}.parquet" for name in TABLES), *(f"{name}.json" for name in SUBSETS)]
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {
        "questions": pl.len(),
        "images": pl.col("image_id").n_unique(),
        "balanced": pl.col("is_balanced").sum(),
    },
    "groups": {"groups": pl.len(), "groups_kept": pl.col("is_kept").sum()},
    "split": {name: (pl.col("subset") == name).sum() for name in (HEAD, TAIL)},
    "sweep": {"models": pl.col("model").n_unique()},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What a build read and found: the inputs, its tables of groups and of questions, and the cut."""

    inputs: GqaOodInputs
    groups: pl.DataFrame
    split: pl.DataFrame
    cut: Cut


def facts_of(found: Found, config: GqaOodConfig) -> InputFacts:
    """Return what is known about the inputs, with warnings about what the build found in them."""
    facts = found.inputs.facts
    warnings = []
    if config.entropy_cut == "mean-std" and len(found.groups) < 2:
        warnings.append(
            "groups: got 1, expected several: nothing is cut off, and head and tail are those of the whole. "
            "Choose another --group."
        )
    if not found.groups["is_kept"].any():
        warnings.append(
            f"groups kept: got none of {len(found.groups):,}, expected at least one: none has an entropy of "
            f"at most {found.cut.threshold:.3f}, so head and tail are empty. Try --entropy-cut none."
        )
    return dataclasses.replace(facts, warnings=(*facts.warnings, *warnings))


def describe(found: Found, config: GqaOodConfig, limit: int | None) -> tuple[Provenance, dict[str, Any]]:
    """Return the provenance of a build, and its figures: entropies, the cut, and the tails of the sweep."""
    questions, groups, split = found.inputs.questions, found.groups, found.split
    counts = {
        "questions": len(questions),
        "images": questions["image_id"].n_unique(),
        "balanced": int(questions["is_balanced"].sum()),
        "groups": len(groups),
        "groups_kept": int(groups["is_kept"].sum()),
        **{name: int((split["subset"] == name).sum()) for name in (HEAD, TAIL)},
    }
    without = found.inputs.without_group
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=found.inputs.facts.records,
        counts=counts,
        dropped=dict(found.inputs.facts.dropped) | ({WITHOUT_GROUP: without} if without else {}),
    )
    figures = {
        "entropy_mean": found.cut.mean,
        "entropy_std": found.cut.std,
        "entropy_threshold": found.cut.threshold,
        "one_answer_groups": int((groups["answer_count"] == 1).sum()),
        "tail_sizes": tail_sizes(split),
    }
    return provenance, figures


def in_words(provenance: Provenance, figures: Mapping[str, Any]) -> dict[str, str]:
    """Return what a build read and found, as the console prints it."""
    counts, config = provenance.counts, provenance.config
    images = f"{counts['questions']:,} about {counts['images']:,} images"
    words = {"questions": f"{images}, in {counts['groups']:,} groups"}
    if dropped := "; ".join(f"{count:,} x {reason}" for reason, count in provenance.dropped.items()):
        words["left out"] = dropped
    kept = f"{counts['groups_kept']:,} of {counts['groups']:,}"
    words["groups kept"] = (
        f"{kept}: entropy at most {figures['entropy_threshold']:.3f} "
        f"(mean {figures['entropy_mean']:.3f} - standard deviation {figures['entropy_std']:.3f})"
        if config["entropy_cut"] == "mean-std"
        else f"{kept}: no cut"
    )
    both = counts[HEAD] + counts[TAIL]
    words["head"] = f"{counts[HEAD]:,} questions, whose answers are frequent in their groups"
    words["tail"] = f"{counts[TAIL]:,} questions, whose answers are rare there (alpha {config['alpha']:g})"
    words["all"] = f"{both:,} questions; {counts['questions'] - both:,} are in groups that are not kept"
    return words


def make_tables(found: Found) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    return {
        "questions": partial(found.inputs.questions.sort, "question_id"),
        "groups": lambda: found.groups,
        "split": lambda: found.split,
    }


def write(
    folder: Path,
    tables: Mapping[str, Callable[[], pl.DataFrame]],
    provenance: Provenance,
    figures: dict[str, Any],
    records: Mapping[str, bytes] | None = None,
) -> None:
    """Write the tables, the subsets as lists of ids or as GQA questions, and the manifest into a folder."""
    made = {name: make() for name, make in tables.items()}
    write_tables(folder, provenance, made)
    split = made["split"]
    ids = dict(zip(split["question_id"], release_ids(split["question_id"]), strict=True))
    for name in SUBSETS:
        is_in = pl.col("subset").is_not_null() if name == "all" else pl.col("subset") == name
        chosen = split.filter(is_in)["question_id"].to_list()
        content: object = (
            [ids[one] for one in chosen]
            if records is None
            else {one: msgspec.Raw(records[one]) for one in chosen}
        )
        (folder / f"{name}.json").write_bytes(msgspec.json.encode(content) + b"\n")
    write_manifest(folder, provenance, figures)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``gqa-ood build`` did."""

    @property
    def questions(self) -> pl.DataFrame:
        """The questions with their groups: schemas.OodQuestions of the room, sorted by question_id."""
        return self._table("questions")

    @property
    def groups(self) -> pl.DataFrame:
        """group, row_count, answer_count, entropy, is_kept; sorted by group."""
        return self._table("groups")

    @property
    def split(self) -> pl.DataFrame:
        """question_id, subset, group, answer_share, tail_alpha; sorted by question_id."""
        return self._table("split")


@dataclasses.dataclass(frozen=True, slots=True)
class GqaOodFolder:
    """What ``gqa-ood build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions, groups, split : pl.DataFrame
        As of :class:`BuildReport`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    groups: pl.DataFrame
    split: pl.DataFrame
    manifest: dict[str, Any]

    def asked(self) -> pl.DataFrame:
        """Return the questions that are scored, with subset, answer_share and tail_alpha.

        Those of head and tail that GQA's balanced set has, in the order of ids.
        """
        added = self.split.filter(pl.col("subset").is_not_null()).drop("group")
        both = self.questions.join(
            added, on="question_id", how="inner", validate="1:1", maintain_order="left"
        )
        return both.filter("is_balanced")


def read_folder(path: Path) -> GqaOodFolder:
    """Return the tables of a GQA-OOD folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    return GqaOodFolder(
        path=path,
        questions=folder.table("questions", OodQuestions),
        groups=folder.table("groups", OodGroups),
        split=folder.table("split", OodSplit),
        manifest=folder.manifest,
    )
