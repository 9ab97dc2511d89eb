"""What a slices folder holds: its tables and figures; and reading it back."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import open_folder, options_of, write_manifest, write_tables
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.slices.config import Outcome, SlicesConfig, scale_of
from shortcut_miner.diagnostics.slices.found import Found
from shortcut_miner.schemas import SliceCover, SlicedQuestions, Slices
from shortcut_miner.storage import Provenance

COMMAND = "slices build"
TABLES = ("slices", "cover", "items", "questions")
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {
        "questions": pl.len(),
        "images": pl.col("image_id").n_unique(),
        "rows": (~pl.col("is_held_out")).sum(),
        "outcome_total": pl.col("outcome").filter(~pl.col("is_held_out")).sum(),
    },
    "slices": {"slices": pl.len(), "redundant": pl.col("is_redundant").sum()},
    "items": {"items": pl.len()},
    "cover": {"cover": pl.len()},
}
# What the mean outcome of rows is called.
MEANS: Mapping[Outcome, str] = {
    "wrong": "wrong answers", "error": "error (100 - accuracy)", "regression": "accuracy lost",
}  # fmt: skip


def describe(facts: InputFacts, found: Found, config: SlicesConfig, limit: int | None) -> Provenance:
    """Return the provenance of a build."""
    return Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=facts.records,
        counts=found.counts,
        dropped=facts.dropped,
    )


def file_names() -> list[str]:
    """Return what a build writes beside its records."""
    return [f"{name}.parquet" for name in TABLES]


def make_tables(found: Found) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    return {name: lambda name=name: getattr(found, name) for name in TABLES}  # type: ignore[misc]


def write(folder: Path, found: Found, provenance: Provenance) -> None:
    """Write the tables and the manifest into a folder."""
    write_tables(folder, provenance, {name: getattr(found, name) for name in TABLES})
    write_manifest(folder, provenance, found.figures)


def in_words(found: Found, config: SlicesConfig) -> dict[str, str]:
    """Return what a build read and found, as the console prints it."""
    counts, figures = found.counts, found.figures
    outcome, models = figures["outcome"], figures["models"]
    about = f" about {counts['images']:,} images" if counts["images"] < counts["questions"] else ""
    whose = f" of {models[0]}" if len(models) == 1 else f" from {models[0]} to {models[-1]}" if models else ""
    if outcome != "regression" and len(models) == 2:
        whose = f" of {models[0]}, beside {models[1]}"
    words = {
        "rows": f"{counts['questions']:,}{about}",
        "outcome": f"{MEANS[outcome]}{whose}: {mean_text(figures['mean'], outcome)}",
    }
    if figures["held_out"]:
        words["held out"] = f"{figures['held_out']:,} rows, on which what is found is tested"
    least = figures["min_count"]
    words["items"] = f"{counts['items']:,} in {least:,} row{'s' * (least > 1)} or more each"
    if figures["nothing_found"]:
        return words | {"slices": f"none: {figures['nothing_found']}"}
    kept = kept_slices(found.slices, config.max_q)
    surely = f"{counts['significant']:,}" if counts["significant"] else "none"
    words["slices"] = (
        f"{counts['slices']:,} of up to {config.max_length} items; {surely} {_TESTED[config.direction]} "
        f"(q <= {config.max_q:g})" + (f", {len(kept):,} of them not redundant" if len(kept) else "")
    )
    if count := len(found.cover):
        share = f"{100 * found.cover['explained'][-1]:.1f}% of {_LOSSES[outcome]}"
        words["to read first"] = f"{count:,}, which hold{'s' * (count == 1)} {share}"
    if figures["held_out"] and len(kept):
        stays = (kept["holdout_p"] <= config.max_q).sum()
        words["on held-out rows"] = f"{stays:,} of {len(kept):,} are so again (Holm's p <= {config.max_q:g})"
    return words


_TESTED = {
    "worse": "worse than the other rows",
    "better": "better than the other rows",
    "both": "unlike the others",
}
_LOSSES = {"wrong": "the wrong answers", "error": "the error", "regression": "what was lost"}


def mean_text(mean: float, outcome: Outcome) -> str:
    """Return a mean outcome as people read it.

    >>> mean_text(0.65690, "wrong"), mean_text(-0.0312, "regression")
    ('65.7%', '-3.1 points')
    """
    return f"{100 * mean:.1f}%" if outcome == "wrong" else f"{100 * mean:.1f} points"


def slice_name(words: Sequence[str], objects: Sequence[str], attributes: Sequence[str]) -> str:
    """Return a slice in words.

    >>> slice_name(["what"], ["clock"], ["answer_type=number"])
    'word=what & object=clock & answer_type=number'
    """
    return " & ".join([*map("word={}".format, words), *map("object={}".format, objects), *attributes])


def kept_slices(slices: pl.DataFrame, max_q: float) -> pl.DataFrame:
    """Return the slices that are significant and not redundant."""
    return slices.filter(pl.col("q_value") <= max_q, ~pl.col("is_redundant"))


def with_names(slices: pl.DataFrame) -> pl.DataFrame:
    """Return slices with the column name, see :func:`slice_name`."""
    columns = (slices[kind].to_list() for kind in ("words", "objects", "attributes"))
    return slices.with_columns(name=pl.Series([*map(slice_name, *columns)], dtype=pl.String))


def to_read(slices: pl.DataFrame, cover: pl.DataFrame) -> pl.DataFrame:
    """Return a cover with name and the columns of its slices."""
    chosen = cover.join(slices, on="slice_id", how="left", validate="1:1", maintain_order="left")
    return with_names(chosen)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``slices build`` did."""

    @property
    def slices(self) -> pl.DataFrame:
        """schemas.Slices: every slice, the worst first."""
        return self._table("slices")

    @property
    def cover(self) -> pl.DataFrame:
        """schemas.SliceCover: the slices to read first."""
        return self._table("cover")

    @property
    def items(self) -> pl.DataFrame:
        """schemas.SliceItems: each item alone, the worst first."""
        return self._table("items")

    @property
    def questions(self) -> pl.DataFrame:
        """schemas.SlicedQuestions: all rows with their outcomes, sorted by question_id."""
        return self._table("questions")


@dataclasses.dataclass(frozen=True, slots=True)
class SlicesFolder:
    """What ``slices build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    slices, cover, questions : pl.DataFrame
        schemas.Slices, SliceCover and SlicedQuestions.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    slices: pl.DataFrame
    cover: pl.DataFrame
    questions: pl.DataFrame
    manifest: dict[str, Any]

    @property
    def outcome(self) -> Outcome:
        """What is looked at."""
        outcome: Outcome = self.manifest["figures"]["outcome"]
        return outcome

    @property
    def scale(self) -> int:
        """The outcome of a row whose mean is 1."""
        return scale_of(self.outcome)


def read_folder(path: Path) -> SlicesFolder:
    """Return the tables of a slices folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND, figures=("outcome", "models", "mean"))
    return SlicesFolder(
        path=path,
        slices=folder.table("slices", Slices),
        cover=folder.table("cover", SliceCover),
        questions=folder.table("questions", SlicedQuestions),
        manifest=folder.manifest,
    )
