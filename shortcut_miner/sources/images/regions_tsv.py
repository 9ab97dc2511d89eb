"""Detections as tab-separated lines: bottom-up-attention (6 columns), LXMERT (10), and VinVL (2).

Lines hold features of a hundred kilobytes and more, so files are read line by line.
"""

import base64
import binascii
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.images.region_tables import (
    Block,
    RawRegions,
    RegionFiles,
    bad_image,
    box_rows,
    gathered,
)
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, excerpt, has_disguised
from shortcut_miner.sources.opening.reading import Problem
from shortcut_miner.sources.opening.repeated_fields import keys_inside_twice
from shortcut_miner.sources.opening.streams import Stream, file_lines, open_stream

BOTTOM_UP_TSV, LXMERT_TSV, VINVL_TSV = "bottom-up-attention TSV", "LXMERT TSV", "VinVL TSV"
OSCAR_TSV = "Oscar feature TSV"
_BOTTOM_UP_NUMBERS, _LXMERT_NUMBERS = (1, 2, 3), (1, 2, 7)  # sizes and num_boxes
_COUNT_AT = {6: 3, 10: 7}  # columns of a format -> where num_boxes is
_NOT_TOLD = -1  # dimensions of a damaged line, or of an image without regions
_BASE64 = (string.ascii_letters + string.digits + "+/").encode()
_Read = Callable[[str, Sequence[bytes]], Block]


class _FieldError(ValueError):
    """What is wrong with a column: its name, what it holds, what was expected."""


class _VinvlObject(msgspec.Struct, gc=False):
    rect: tuple[float, float, float, float]
    class_: str | None = msgspec.field(name="class", default=None)
    conf: float | None = None
    attr: list[str] | None = None


class _VinvlImage(msgspec.Struct, gc=False):
    objects: list[_VinvlObject]
    image_w: float | None = None
    image_h: float | None = None


def starts_bottom_up(start: bytes) -> bool:
    """Return whether a file starts with a line of bottom-up-attention."""
    return _has_numbers(start, 6, _BOTTOM_UP_NUMBERS)


def starts_lxmert(start: bytes) -> bool:
    """Return whether a file starts with a line of LXMERT."""
    return _has_numbers(start, 10, _LXMERT_NUMBERS)


def starts_vinvl(start: bytes) -> bool:
    """Return whether a file starts with a line of VinVL: an image and its JSON."""
    values = start.split(b"\n", maxsplit=1)[0].split(b"\t")
    return len(values) == 2 and values[1].lstrip()[:1] in (b"{", b"[")


def starts_oscar(start: bytes) -> bool:
    """Return whether a file starts with a line of features alone: image, count, base64; or image and JSON."""
    values = start.split(b"\n", maxsplit=1)[0].rstrip(b"\r").split(b"\t")
    if len(values) == 2:
        return bool(re.match(rb'\s*\{\s*"(num_boxes|features)"', values[1])) and b'"features"' in values[1]
    is_counted = len(values) == 3 and values[1].strip().isdigit() and bool(values[2])
    return is_counted and not values[2].rstrip(b"=").translate(None, _BASE64)


def refuse_oscar(files: RegionFiles) -> NoReturn:
    """Raise SourceError: these files hold features, and no boxes that could be told from them."""
    raise SourceError(
        f"{files.path}: got {OSCAR_TSV} (an image's features, without boxes), expected a detector's boxes. "
        "Give the predictions.tsv or label.tsv of the same detector."
    )


def _has_numbers(start: bytes, columns: int, numbers: Sequence[int]) -> bool:
    values = start.split(b"\n", maxsplit=1)[0].split(b"\t")
    # A line that lost its end has the columns of the next one too, and one fewer.
    is_such = len(values) >= columns and (len(values) - 1) % (columns - 1) == 0
    # One of them may be what is wrong with the file.
    return is_such and sum(values[at].strip().isdigit() for at in numbers) > 1


def bottom_up_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of a bottom-up-attention file."""
    with open_stream(files.path) as stream:
        return _gathered(stream, files, BOTTOM_UP_TSV, 6, _bottom_up), [stream.facts()]


def lxmert_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of an LXMERT file; the second file is its vocabulary, a name a line.

    Names are those of object ids, by number from 0; of synonyms (with commas between) the first.
    """
    if files.info is None:
        notes = ("object ids without names: no vocabulary given",)
        with open_stream(files.path) as stream:
            return _gathered(stream, files, LXMERT_TSV, 10, _lxmert_reader(None), notes), [stream.facts()]
    with open_stream(files.info) as vocabulary, open_stream(files.path) as stream:
        names = [line.decode("utf-8", "replace").split(",")[0].strip() for _, line in vocabulary.lines()]
        raw = _gathered(stream, files, LXMERT_TSV, 10, _lxmert_reader(names))
        return raw, [stream.facts(), vocabulary.facts()]


def _gathered(
    stream: Stream, files: RegionFiles, kind: str, columns: int, read: _Read, notes: tuple[str, ...] = ()
) -> RawRegions:
    lines: list[int] = []
    dimensions: list[int] = []  # of each image's features; see _NOT_TOLD

    def blocks() -> Iterator[Block]:
        for number, line in stream.lines():
            values = line.split(b"\t")
            name = values[0].decode("utf-8", "backslashreplace").strip()
            is_wanted = files.wants(name) or not values[0].isdigit()
            # A line that lost its end holds the next image too, so the lines of other images are measured.
            if not is_wanted and _fits(values, columns):
                continue
            lines.append(number)
            dimensions.append(_NOT_TOLD)
            if len(values) != columns:
                yield bad_image(name, "line", _columns_in_words(len(values), columns), f"{columns} columns")
                continue
            try:
                block = read(name, values)
                found = _feature_dimensions(values[-1], block.counts[0])
                dimensions[-1] = found if block.counts[0] else _NOT_TOLD
            except _FieldError as error:
                yield bad_image(name, *error.args)
            else:
                yield block

    raw = gathered(kind, blocks(), lambda record: f"line {lines[record]}", notes)
    raw.problems.extend(_odd_dimensions(dimensions))
    return raw


def _columns_in_words(found: int, wanted: int) -> str:
    return f"{found} columns" + (", as if a line end was lost" if found > wanted else "")


def _fits(values: Sequence[bytes], columns: int) -> bool:
    """Return whether a line has its columns, and its features the length for its regions."""
    count = values[_COUNT_AT[columns]] if len(values) == columns else b""
    return count.strip().isdigit() and _dimensions(values[-1], int(count)) is not None


def _dimensions(features: bytes, count: int) -> int | None:
    """Return how many float32 of a base64 text each region has; None if it is no whole number."""
    size = len(features) // 4 * 3 - features[-2:].count(b"=")
    if len(features) % 4 or (size % (4 * count) if count else size):
        return None
    return size // (4 * count) if count else 0


def _feature_dimensions(features: bytes, count: int) -> int:
    """Return the features of each region; their bytes are looked at, not decoded."""
    if features.rstrip(b"=").translate(None, _BASE64) or b"=" in features[:-2]:
        raise _FieldError("features", f"no base64: {excerpt(features)}", "intact base64")
    found = _dimensions(features, count)
    if found is None:
        got = f"{len(features):,} characters of base64"
        raise _FieldError("features", got, "as many float32 for each of num_boxes regions")
    return found


def _odd_dimensions(dimensions: Sequence[int]) -> list[Problem]:
    """Find images whose features have another length a region than most images'."""
    known = [one for one in dimensions if one > 0]
    usual = Counter(known).most_common(1)[0][0] if known else 0
    return [
        Problem((record,), "features", f"{one:,} dimensions", f"{usual:,}, as most lines have")
        for record, one in enumerate(dimensions)
        if one not in (_NOT_TOLD, usual)
    ]


def _bottom_up(name: str, values: Sequence[bytes]) -> Block:
    count = _whole(values[3], "num_boxes")
    boxes = _array(values[4], np.dtype("<f4"), count * 4, "boxes").reshape(-1, 4)
    width, height = _size(values[1], "image_w"), _size(values[2], "image_h")
    return Block(
        image_ids=[name], widths=[width], heights=[height], counts=[count], rows=[count], boxes=boxes
    )


def _lxmert_reader(vocabulary: Sequence[str] | None) -> _Read:
    names = None if vocabulary is None else np.array([*vocabulary, None], dtype=object)

    def read(name: str, values: Sequence[bytes]) -> Block:
        count = _whole(values[7], "num_boxes")
        ids = _array(values[3], np.dtype("<i8"), count, "objects_id")
        if names is not None and len(ids) and not 0 <= ids.min() <= ids.max() < len(names) - 1:
            got = str(ids.max() if ids.min() >= 0 else ids.min())
            raise _FieldError("objects_id", got, f"numbers from 0 to {len(names) - 2}, as in the vocabulary")
        _array(values[5], np.dtype("<i8"), count, "attrs_id")
        _array(values[6], np.dtype("<f4"), count, "attrs_conf")
        return Block(
            image_ids=[name],
            widths=[_size(values[2], "img_w")],
            heights=[_size(values[1], "img_h")],
            counts=[count],
            rows=[count],
            boxes=_array(values[8], np.dtype("<f4"), count * 4, "boxes").reshape(-1, 4),
            scores=_array(values[4], np.dtype("<f4"), count, "objects_conf").astype(np.float64),
            labels=None if names is None else names[ids].tolist(),
        )

    return read


def _whole(value: bytes, field: str) -> int:
    if not value.strip().isdigit():
        raise _FieldError(field, excerpt(value), "a whole number")
    return int(value)


def _size(value: bytes, field: str) -> float:
    try:
        size = float(value)
    except ValueError:
        size = np.nan
    if not 0 < size < np.inf:
        raise _FieldError(field, excerpt(value), "a number of pixels")
    return size


def _array(value: bytes, dtype: np.dtype[Any], length: int, field: str) -> NDArray[Any]:
    try:
        content = base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise _FieldError(field, f"{excerpt(value)} ({error})", "intact base64") from error
    if len(content) != length * dtype.itemsize:
        got = f"{len(content):,} bytes"
        raise _FieldError(field, got, f"{length * dtype.itemsize:,} bytes for num_boxes regions")
    return np.frombuffer(content, dtype)


def vinvl_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of VinVL's ``predictions.tsv`` or ``label.tsv``.

    If the file's ``.lineidx`` lies beside it, the number of lines must be as listed there.

    Raises
    ------
    SourceError
        The file has fewer lines than its index lists.
    """
    image, objects = msgspec.json.Decoder(_VinvlImage), msgspec.json.Decoder(list[_VinvlObject])
    lines: list[int] = []
    seen = 0

    def blocks(numbered: Iterator[tuple[int, bytes]]) -> Iterator[Block]:
        nonlocal seen
        for number, line in numbered:
            seen += 1
            key, _, text = line.partition(b"\t")
            name = key.decode("utf-8", "backslashreplace").strip()
            is_wanted = files.wants(name) or not key.isdigit()
            # A line that lost its end holds the next image too: a tab that JSON has nowhere.
            if not is_wanted and b"\t" not in text:
                continue
            lines.append(number)
            try:
                is_list = text.lstrip().startswith(b"[")
                found = _VinvlImage(objects.decode(text)) if is_list else image.decode(text)
            except DECODE_ERRORS as error:
                yield bad_image(name, "objects", f"{excerpt(text)} ({error})", "objects with rect")
                continue
            if twice := _twice_in(text, found):
                yield bad_image(name, "objects", f"{examples(twice)} twice in an object", "each key once")
                continue
            yield _vinvl_block(name, found)

    with open_stream(files.path) as stream:
        raw = gathered(VINVL_TSV, blocks(stream.lines()), lambda record: f"line {lines[record]}")
        facts = stream.facts()
    index = files.path.with_suffix(".lineidx")
    if index.is_file() and (listed := sum(1 for _ in file_lines(index))) != seen:
        raise SourceError(
            f"{files.path}: got {seen:,} lines, expected the {listed:,} that {index.name} lists. "
            "Download or copy both again: one of them was probably cut."
        )
    return raw, [facts]


def _twice_in(text: bytes, found: _VinvlImage) -> list[str]:
    """Return the keys that a line has twice, if it has one of those that are read too often."""
    of_each = dict.fromkeys(("rect", "class", "conf", "attr"), len(found.objects))
    often = of_each | dict.fromkeys(("objects", "image_h", "image_w"), 1)
    is_odd = any(text.count(f'"{name}"'.encode()) > most for name, most in often.items())
    return keys_inside_twice(text) if is_odd or has_disguised(text) else []


def _vinvl_block(name: str, found: _VinvlImage) -> Block:
    objects = found.objects
    return Block(
        image_ids=[name],
        widths=[np.nan if found.image_w is None else found.image_w],
        heights=[np.nan if found.image_h is None else found.image_h],
        counts=[len(objects)],
        rows=[len(objects)],
        boxes=box_rows([one.rect for one in objects]),
        scores=[one.conf for one in objects],
        labels=[one.class_ for one in objects],
        attributes=[one.attr or [] for one in objects],
    )
