"""A model's answers to the images that ``swapmix images`` draws, in any layout that evaluators write."""

import dataclasses
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.answers import with_known_ids
from shortcut_miner.datasets.drawn_images import MARK
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.options import AnswerOptions
from shortcut_miner.sources.answers.predictions import read_answers
from shortcut_miner.sources.opening.reading import Reading

# A question's id with the perturbation after it.
_IMAGE_ID = r"(?s)^(?<question>.+)#(?<perturbation>[0-9]{1,9})$"


def read_image_answers(path: Path, known: pl.Series, options: AnswerOptions) -> Reading | None:
    """Return answers whose ids are those of images; None where none is, or the file can't be read so.

    Parameters
    ----------
    path : Path
        What :func:`shortcut_miner.sources.answers.predictions.read_predictions` reads.
    known : pl.Series
        Ids of the plan's questions.
    options : AnswerOptions
        How answers are read.

    Returns
    -------
    Reading or None
        question_id, perturbation (Int64) and answer.

    Raises
    ------
    SourceError
        Some ids are those of images, and others are not, or rows are bad or there twice.
    """
    try:
        reading = read_answers(path, options)
    except SourceError:
        if _are_of_images(path, options):
            raise
        return None
    ids = reading.table["question_id"]
    if not ids.str.contains(MARK, literal=True).any():
        return None
    strange = ids.filter(~ids.str.contains(_IMAGE_ID))
    if len(strange):
        raise SourceError(
            f"{path}: got {len(strange):,} ids that no image of a swap has ({examples(strange)}), expected a "
            f"question's id and the perturbation, such as 12{MARK}0. Give the answers to those images alone."
        )
    parts = ids.str.extract_groups(_IMAGE_ID).struct.unnest()
    table = reading.table.select("answer").with_columns(
        question_id=parts["question"], perturbation=parts["perturbation"].cast(pl.Int64)
    )
    return with_known_ids(dataclasses.replace(reading, table=table), known)


def _are_of_images(path: Path, options: AnswerOptions) -> bool:
    """Return whether a file with rows that don't fit holds answers to images, or none that fits."""
    lenient = dataclasses.replace(options, on_bad_row="skip", on_duplicate="first")
    try:
        ids = read_answers(path, lenient).table["question_id"]
    except SourceError:
        return False
    return not len(ids) or bool(ids.str.contains(MARK, literal=True).any())
