"""Images that a room draws for models that read pixels: numbered files of Parquet, written by any process."""

import dataclasses
import hashlib
import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.cards import Config, write_card
from shortcut_miner.datasets.pictures import photo_of
from shortcut_miner.drafts import literal
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.keyed_draws import draw_words, id_keys
from shortcut_miner.mining.executors import resolve_engine
from shortcut_miner.sources.images.image_files import Found, find_images, read_image
from shortcut_miner.timing import OnStage
from shortcut_miner.version import __version__

if TYPE_CHECKING:
    from PIL.Image import Image

    from shortcut_miner.drawing.photos import Photo

NOT_FOUND = "questions whose image was not found"
NO_IMAGE = "questions whose image can't be read"
MARK = "#"  # in the id of an image, between the question's id and what was done to the image
FILES = ("images.parquet", "pixels_*.parquet")
_GROUP_BYTES = 32 << 20  # of images that are in memory before they are written
_GROUP_ROWS = 100
_COMPRESSION = 3  # of PNG: most of what more would gain, in two thirds of the time

Row = dict[str, Any]
Shard = TypeVar("Shard")


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ImagesReport(reports.BuildReport):
    """What a command that draws images did.

    Attributes
    ----------
    read_back : str
        The command that scores what a model answers.
    """

    read_back: str

    @property
    def images(self) -> pl.DataFrame:
        """A row an image, in the order of their numbers; the card says what the columns are."""
        return self._table("images")


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What one file came to: a row an image, questions left out by reason, and damaged images."""

    rows: list[Row]
    left_out: dict[str, list[str]]
    broken: list[str]


# ---- one file ----


def pixel_schema(condition: str, kind: pa.DataType) -> pa.Schema:
    """Return the columns of the files; `condition` names what is done to a question's image."""
    text = pa.string()
    return pa.schema(
        [
            *((name, text) for name in ("id", "question_id", "image_id")),
            (condition, kind),
            # As Hugging Face's library stores images.
            ("image", pa.struct([("bytes", pa.binary()), ("path", text)])),
            *((name, text) for name in ("question", "answer")),
        ]
    )


def shard_name(number: int) -> str:
    """Return the name of a file.

    >>> shard_name(3)
    'pixels_00003.parquet'
    """
    return f"pixels_{number:05d}.parquet"


def photo_and_digest(path: Path, boxes: pl.DataFrame, image_id: str) -> "tuple[Photo, str]":
    """Return an image for its boxes (with their image's width and height), and the SHA-256 of its file.

    Raises
    ------
    SourceError
        It can't be read, or is of another shape than its boxes were made for.
    """
    digest = hashlib.sha256(read_image(path)).hexdigest()
    return photo_of(path, boxes, boxes, image_id), digest


def png_of(image: "Image") -> bytes:
    """Return an image as PNG."""
    packed = io.BytesIO()
    image.save(packed, "PNG", compress_level=_COMPRESSION)
    return packed.getvalue()


def write_pixels(images: Iterator[Row], schema: pa.Schema, path: Path | None) -> None:
    """Write images to a file, a few in memory at a time; no file if there are none.

    Parameters
    ----------
    images : iterator of dict
        Rows of `schema`.
    path : Path or None
        None draws and throws away.
    """
    first = next(images, None)
    if first is None:
        return
    texts = [name for name in schema.names if name != "image"]
    with (
        pa.OSFile(os.devnull if path is None else literal(path), "wb") as file,
        pq.ParquetWriter(
            file, schema, compression={**dict.fromkeys(texts, "zstd"), "image.bytes": "none"},
            use_dictionary=texts, write_statistics=texts,
        ) as writer,
    ):  # fmt: skip
        waiting, size = [first], len(first["image"]["bytes"])
        for one in images:
            if size >= _GROUP_BYTES or len(waiting) >= _GROUP_ROWS:
                writer.write_table(pa.Table.from_pylist(waiting, schema))
                waiting, size = [], 0
            waiting.append(one)
            size += len(one["image"]["bytes"])
        writer.write_table(pa.Table.from_pylist(waiting, schema))


# ---- all files ----


def all_written(
    write: Callable[[Shard], Written],
    shards: Iterable[tuple[int, Shard]],
    total: int,
    processes: int,
    on_stage: OnStage | None,
) -> Iterator[Written]:
    """Give what the shards came to, in their order; few are under way at a time.

    Parameters
    ----------
    write : callable
        Draws and writes one; a function of a module, for other processes.
    shards : iterable of (int, shard)
        How many questions each has, and what it is.
    total : int
        Questions of all of them.
    processes : int
        How many draw at the same time.
    on_stage : callable, optional
        Told how many questions are done.
    """
    engine = resolve_engine(f"local[{processes}]" if processes > 1 else None)
    finished = 0
    with engine.open(Path()) as pool:
        waiting: deque[tuple[int, Future[Written]]] = deque()

        def oldest() -> Written:
            nonlocal finished
            size, future = waiting.popleft()
            if on_stage is not None:
                on_stage(f"draw: {finished:,} of {total:,} questions")
            result = future.result()
            finished += size
            return result

        for size, shard in shards:
            waiting.append((size, pool.submit(write, shard)))
            if len(waiting) > 2 * engine.workers - 1:
                yield oldest()
        while waiting:
            yield oldest()


def drawn_sample(questions: pl.DataFrame, sample: int | None, seed: int, kind: str) -> pl.DataFrame:
    """Return so many questions, drawn by their question_id, in the order in which they come."""
    if sample is None or sample >= len(questions):
        return questions
    words = draw_words(id_keys(questions["question_id"], seed, kind), 0)
    return questions[np.sort(np.argsort(words, kind="stable")[:sample])]


def found_images(given: str, ids: Sequence[str], option: str = "--images") -> Found:
    """Return where the images of questions are.

    Raises
    ------
    ConfigError
        No folder, or addresses instead of files.
    SourceError
        None of them is there.
    """
    found = find_images(given, ids)
    if found.images.kind == "addresses":
        raise ConfigError(
            f"{option} {given}: got addresses, expected files. Download the images, and give their folder."
        )
    if not found.images.places:
        raise SourceError(
            f"{option} {given}: got none of the {len(found.missing):,} images of these questions "
            f"({examples(found.missing)}), expected them. Give the folder that holds them."
        )
    return found


def image_warnings(found: Found, done: Iterable[Written], what: str = "") -> tuple[str, ...]:
    """Return a warning for images that were not found, and one for each that can't be read."""
    told = []
    absent = [one for one in found.missing if one not in found.broken]
    for kind, ids in (("images not found", absent), ("files that are no images", [*found.broken.values()])):
        told += [f"{what}{kind}: {len(ids):,} ({examples(ids)}); their questions are left out"] if ids else []
    return (*told, *dict.fromkeys(text for one in done for text in one.broken))


def questions_left_out(
    done: Sequence[Written], missing: Sequence[str], reasons: Iterable[str]
) -> dict[str, list[str]]:
    """Return the questions that are left out, by reason; those of `missing` have no image."""
    found = {NOT_FOUND: [*missing]}
    for reason in reasons:
        found[reason] = [question for one in done for question in one.left_out.get(reason, ())]
    return {reason: questions for reason, questions in found.items() if questions}


def left_out_words(left_out: Mapping[str, Sequence[str]]) -> str:
    """Return how many questions are left out, and why."""
    return "; ".join(f"{len(questions):,} {reason}" for reason, questions in left_out.items()) or "none"


def describe_images(target: Path, command: str, schema: pa.Schema) -> None:
    """Write README.md, with which the images open as one data set."""
    configs = []
    for name, paths in (
        ("images", [target / "images.parquet"]),
        ("pixels", sorted(target.glob("pixels_*.parquet"))),
    ):
        read = [pq.ParquetFile(literal(path)) for path in paths]
        rows = sum(one.metadata.num_rows for one in read)
        columns = read[0].schema_arrow if read else schema
        files, shown = {"train": [path.name for path in paths]}, ("image",) if name == "pixels" else ()
        if rows:
            configs.append(Config(name=name, files=files, rows={"train": rows}, schema=columns, images=shown))
    text = (
        f"# {command}\n\nWritten by shortcut_miner {__version__}. "
        '`datasets.load_dataset(FOLDER, "pixels")["train"]` has the images; `images` says what each is.\n'
    )
    if configs:
        write_card(target, configs, text, default="images")
