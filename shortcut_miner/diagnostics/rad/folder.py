"""Reading a RAD folder back: what score and others need is in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.diagnostics.rad.outputs import ANNOTATORS, COMMAND
from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import Augmentations, validated
from shortcut_miner.storage import MANIFEST, read_json_file, read_provenance


@dataclass(frozen=True, slots=True)
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

    def pairs(self) -> pl.DataFrame:
        """Return schemas.AugmentationPairs: an augmentation keeps the id of its original."""
        return self.augmentations.select(
            original_id="question_id", augmented_id="question_id", augmentation="augmentation"
        )


def read_folder(path: Path) -> RadFolder:
    """Return the tables of a RAD folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    if not (path / MANIFEST).is_file():
        what = (
            "a file" if path.is_file() else "no such folder" if not path.exists() else f"no {MANIFEST} in it"
        )
        raise SourceError(f"{path}: got {what}, expected a folder that {COMMAND} wrote. Give that folder.")
    manifest = read_json_file(path / MANIFEST)
    if manifest.get("command") != COMMAND:
        raise SourceError(
            f"{path}: got the output of {manifest.get('command')!r}, expected that of {COMMAND}. "
            f"Give the folder of a {COMMAND}."
        )
    augmentations = _read_table(path / "augmentations.parquet", manifest)
    return RadFolder(
        path=path,
        questions=_read_table(path / "questions.parquet", manifest),
        augmentations=validated(augmentations, Augmentations, str(path / "augmentations.parquet")),
        manifest=manifest,
    )


def _read_table(path: Path, manifest: dict[str, Any]) -> pl.DataFrame:
    try:
        provenance = read_provenance(path)
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: got {error}, expected a table that {COMMAND} wrote. Run the build again."
        ) from error
    if any(provenance.get(key) != manifest.get(key) for key in ("version", "config", "counts")):
        raise SourceError(
            f"{path}: got a table of another build than {MANIFEST} describes, expected files of one build. "
            "The last build was interrupted while it replaced an older one: run it again."
        )
    return table
