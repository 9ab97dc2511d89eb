"""A folder of drawn images as questions for evaluators: one an image, which its id names."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.drawn_images import FILES
from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.images.packed_images import packed_images
from shortcut_miner.storage import RUN_RECORD, read_json_file

_NOWHERE = "BUILD"  # where the record of the run doesn't say what was drawn from
_NEEDED = ("id", "question_id", "image_id", "question", "answer")
_OF_FILES = ("id", "file", "shard", "source_sha256")


def drawn_question_sets(
    folder: BuiltFolder,
    *,
    title: str,
    sets: Callable[[pl.DataFrame], Mapping[str, Mapping[str, pl.DataFrame]]],
    read_back: Callable[[str], str],
    citation: str,
) -> QuestionSets:
    """Return the questions of drawn images, in the order of the files, with the images themselves.

    Parameters
    ----------
    folder : BuiltFolder
        What a room's command for images wrote.
    title : str
        What the sets are, in a few words.
    sets : callable
        Takes a table with the columns of Questions, whose question_id and image_id are the id of the drawn
        image, with source_question_id, source_image_id and the further columns of images.parquet; returns
        set -> split -> rows.
    read_back : callable
        Takes the build that was drawn from, as a shell takes it; returns QuestionSets' `read_back`.
    citation : str
        Of the method's article.

    Raises
    ------
    SourceError
        A missing or damaged file, or a table that names other images than there are.
    """
    path = folder.path
    table = folder.table("images")
    if lacking := [name for name in _NEEDED if name not in table.columns]:
        raise SourceError(
            f"{path / FILES[0]}: got no column {', '.join(lacking)}, expected a row an image. "
            "Draw the images again."
        )
    images = packed_images(sorted(path.glob(FILES[1])))
    lost = table.filter(~pl.col("id").is_in(images.known()))
    if len(lost) or images.count != len(table):
        raise SourceError(
            f"{path}: got {images.count:,} images in {FILES[1]} and {len(table):,} in {FILES[0]}, expected "
            "the same ones. Draw the images again."
        )
    renamed = table.rename({"question_id": "source_question_id", "image_id": "source_image_id"})
    known = renamed.with_columns(question_id="id", image_id="id")
    missing = [name for name in Questions.column_names() if name not in known.columns]
    empty = Questions.create_empty()
    asked = known.with_columns(pl.lit(None, empty.schema[name]).alias(name) for name in missing)
    first = Questions.column_names()
    return question_sets_of(
        path,
        command=folder.command,
        title=title,
        sets=sets(asked.select(*first, pl.all().exclude(*_OF_FILES, *first))),
        read_back=read_back(_build_of(path)),
        citation=citation,
        images=images,
    )


def _build_of(path: Path) -> str:
    """Return the folder that images were drawn from, where the record of that run says so."""
    try:
        return quoted(Path(read_json_file(path / RUN_RECORD)["files"]["folder"]))
    except (SourceError, KeyError, TypeError):
        return _NOWHERE
