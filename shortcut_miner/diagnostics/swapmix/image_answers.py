"""A model's answers to the images that ``swapmix images`` draws, in any layout that evaluators write."""

import dataclasses
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.answers import with_known_ids
from shortcut_miner.errors import SourceError
from shortcut_miner.options import AnswerOptions
from shortcut_miner.sources.answers.predictions import read_answers
from shortcut_miner.sources.opening.reading import Reading

# A question's id with the perturbation after it.
_IMAGE_ID = r"(?s)^(?<question>.+)#(?<perturbation>\d{1,9})$"


def read_image_answers(path: Path, known: pl.Series, options: AnswerOptions) -> Reading | None:
    """Return answers whose ids are those of images; None where they are not, or the file can't be read so.

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
    """
    try:
        reading = read_answers(path, options)
    except SourceError:
        return None
    ids = reading.table["question_id"]
    if not len(ids) or not ids.str.contains(_IMAGE_ID).all():
        return None
    parts = ids.str.extract_groups(_IMAGE_ID).struct.unnest()
    table = reading.table.select("answer").with_columns(
        question_id=parts["question"], perturbation=parts["perturbation"].cast(pl.Int64)
    )
    return with_known_ids(dataclasses.replace(reading, table=table), known)
