"""Images that lie in Parquet files, as a command that draws them writes them: by their ids, a row each."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.drafts import literal
from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.sources.images.image_files import Images, Picture, Place

_COLUMNS = {"id": pa.string(), "image": pa.struct([("bytes", pa.binary()), ("path", pa.string())])}

_PNG = b"\x89PNG\r\n\x1a\n"


def packed_images(shards: Sequence[Path]) -> Images:
    """Return the images of Parquet files with columns id and image ({bytes, path}); only ids are read.

    Raises
    ------
    SourceError
        A file that can't be read or has other columns, or an id twice.
    """
    places: dict[str, Place] = {}
    for shard in shards:
        for group, ids in enumerate(_columns(shard, ("id",))):
            for one in ids["id"].to_pylist():
                if one in places:
                    raise SourceError(
                        f"{shard}: got the image {one!r} twice, expected each once. Draw the images again."
                    )
                places[one] = Place(shard, group)
    return Images(kind="packed", packed=places, read_packed=_read)


def _read(places: Iterable[tuple[str, Place]]) -> Iterator[tuple[str, Picture]]:
    """Give images by id, a group of rows in memory at a time."""
    wanted: dict[Place, list[str]] = {}
    for one, place in places:
        wanted.setdefault(place, []).append(one)
    for place, ids in wanted.items():
        (rows,) = _columns(place.file, ("id", "image"), (place.part,))
        row_of = {one: row for row, one in enumerate(rows["id"].to_pylist())}
        for one in ids:
            image = rows["image"][row_of[one]].as_py() or {"bytes": None}
            if not image["bytes"] or not _is_whole(image["bytes"]):
                raise SourceError(
                    f"{place.file}: got no image or a damaged one of {one!r}, expected a PNG as it was "
                    "written. Draw the images again."
                )
            yield one, Picture(name=image["path"], content=image["bytes"])


def _is_whole(png: bytes) -> bool:
    """Return whether all chunks of a PNG are as its checksums say, to the last one."""
    at, content = len(_PNG), memoryview(png)
    while png.startswith(_PNG) and at + 12 <= len(png):
        end = at + 8 + int.from_bytes(content[at : at + 4])
        if zlib.crc32(content[at + 4 : end]) != int.from_bytes(content[end : end + 4]):
            return False
        if png[at + 4 : at + 8] == b"IEND":
            return end + 4 == len(png)
        at = end + 4
    return False


def _columns(path: Path, names: Sequence[str], groups: Sequence[int] | None = None) -> Iterator[pa.Table]:
    try:
        file: Any = pq.ParquetFile(literal(path))
        schema = file.schema_arrow
        if any(name not in schema.names or schema.field(name).type != _COLUMNS[name] for name in _COLUMNS):
            raise SourceError(f"{path}: got other columns, expected id and image. Draw the images again.")
        for group in range(file.num_row_groups) if groups is None else groups:
            yield file.read_row_group(group, columns=[*names])
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{path}: got {reason_of(error)}, expected images as they were written. Draw the images again."
        ) from error
