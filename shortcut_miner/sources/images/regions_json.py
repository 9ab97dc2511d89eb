"""Detections as JSON: Hugging Face pipeline results line by line, and COCO results with a categories file."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.images.region_tables import (
    Block,
    RawRegions,
    RegionFiles,
    bad_image,
    box_rows,
    empty_column,
    gathered,
)
from shortcut_miner.sources.opening.files import FileFacts, open_source
from shortcut_miner.sources.opening.ids import (
    ID_EXPECTED,
    AnyId,
    find_floats,
    id_text,
    is_no_id,
    with_whole_ids,
)
from shortcut_miner.sources.opening.json_records import Chunk, decode_chunks, paused_gc, record_columns
from shortcut_miner.sources.opening.json_text import (
    DECODE_ERRORS,
    excerpt,
    keys_twice,
    parse_json,
    records_under,
)
from shortcut_miner.sources.opening.reading import Problem
from shortcut_miner.sources.opening.repeated_fields import check_keys_once, objects_twice
from shortcut_miner.sources.opening.streams import open_stream

# A text with a colon after it is a key; other texts are matched so that brackets in them don't count.
_KEYS_AND_BRACKETS = re.compile(rb'"(?P<key>(?:[^"\\]|\\.)*)"\s*:|"(?:[^"\\]|\\.)*"|[\[\]{}]')
_IN_RECORD = 2  # brackets: the list's and the record's

PIPELINE_JSONL, COCO_RESULTS = "object detection JSONL", "COCO results JSON"


class _Corners(msgspec.Struct, gc=False):
    xmin: float
    ymin: float
    xmax: float
    ymax: float


class _Detection(msgspec.Struct, gc=False):
    box: _Corners
    score: float | None = None
    label: str | None = None
    attributes: list[str] | None = None


class _Line(msgspec.Struct, gc=False):
    image_id: AnyId
    detections: list[_Detection]
    width: float | None = None
    height: float | None = None


class _Result(msgspec.Struct, gc=False):
    image_id: AnyId
    category_id: AnyId
    bbox: tuple[float, float, float, float]
    score: float | None = None


class _Category(msgspec.Struct, gc=False):
    id: AnyId
    name: str


def starts_pipeline(start: bytes) -> bool:
    """Return whether a file starts with a line of a pipeline's results; it may be longer than the start."""
    line = start.lstrip().split(b"\n", maxsplit=1)[0]
    return line.startswith(b"{") and b'"detections"' in line and b'"image_id"' in line


def pipeline_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of lines ``{image_id, detections: [{score, label, box: {xmin, ymin, xmax, ymax}}]}``.

    Each detection is what Hugging Face's object detection pipelines give; a line may also have the image's
    width and height, a detection also attributes.
    """
    decoder = msgspec.json.Decoder(_Line)
    numbers: list[int] = []

    def blocks(lines: Iterator[tuple[int, bytes]]) -> Iterator[Block]:
        for number, line in lines:
            numbers.append(number)
            try:
                one = decoder.decode(line)
            except DECODE_ERRORS as error:
                yield bad_image(
                    f"line {number}", "line", f"{excerpt(line)} ({error})", "image_id and detections"
                )
                continue
            if keys_twice(line) or objects_twice(
                [line], [0], [len(one.detections)], ("box", "label", "score")
            ):
                yield bad_image(
                    f"line {number}", "line", f"{excerpt(line)} with a key twice", "each key once"
                )
                continue
            if is_no_id(one.image_id):  # not one that is not wanted
                yield bad_image(f"line {number}", "image_id", repr(one.image_id), ID_EXPECTED)
                continue
            if not files.wants(one.image_id):
                numbers.pop()
                continue
            yield _line_block(one)

    with open_stream(files.path) as stream:
        raw = gathered(PIPELINE_JSONL, blocks(stream.lines()), lambda record: f"line {numbers[record]}")
        return raw, [stream.facts()]


def _line_block(line: _Line) -> Block:
    found = line.detections
    boxes = [(one.box.xmin, one.box.ymin, one.box.xmax, one.box.ymax) for one in found]
    has_attributes = any(one.attributes is not None for one in found)
    return Block(
        image_ids=[str(line.image_id)],
        widths=[np.nan if line.width is None else line.width],
        heights=[np.nan if line.height is None else line.height],
        counts=[len(found)],
        rows=[len(found)],
        boxes=box_rows(boxes),
        scores=[one.score for one in found],
        labels=[one.label for one in found],
        attributes=[one.attributes or [] for one in found] if has_attributes else None,
    )


def starts_coco_results(start: bytes) -> bool:
    """Return whether a file starts with a list whose first record is a COCO result; it may be cut off."""
    return _first_keys(start) >= {"image_id", "category_id", "bbox"}


def _first_keys(start: bytes) -> set[str]:
    """Return the keys of a list's first record as far as they are seen, without those of objects in it."""
    if not re.match(rb"\s*\[\s*\{", start):
        return set()
    keys, depth = set(), 0
    for token in _KEYS_AND_BRACKETS.finditer(start):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        if depth == _IN_RECORD and token["key"] is not None:
            keys.add(token["key"].decode("utf-8", "replace"))
        elif depth < _IN_RECORD and keys:
            break
    return keys


def coco_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of COCO's result format, as Detectron2 writes it; box is x, y, width, height.

    Images without any detection don't occur in this format: they are not known. Categories are COCO instances
    JSON, a list of {id, name}, or {id: name}.

    Raises
    ------
    ConfigError
        No categories file.
    """
    categories = files.info
    if categories is None:
        raise ConfigError(
            f"{files.path}: got {COCO_RESULTS} without category names, expected a file that has them. "
            "Name COCO's instances JSON, or {id: name}, with --detections-info."
        )
    source = open_source(files.path)
    parsed = parse_json(source)
    assert isinstance(parsed.top, list)
    names, facts = _category_names(categories)
    frames, problems = [], []
    with paused_gc():
        for chunk in decode_chunks(parsed.top, _Result):
            frames.append(_result_rows(chunk))
            problems += chunk.problems
    table, notes = with_whole_ids(pl.concat(frames), "image_id", "category_id")
    problems += find_floats(table, "image_id")
    table = files.keep_wanted(table).with_columns(
        label=pl.col("category_id").replace_strict(names, default=None)
    )
    problems += [
        Problem((record,), "category_id", repr(one), f"an id in {categories.name}")
        for record, one in table.filter(pl.col("label").is_null()).select("record", "category_id").iter_rows()
    ]
    return _by_image(table, problems, parsed.notes + notes), [source.facts(), facts]


def _result_rows(chunk: Chunk[_Result]) -> pl.DataFrame:
    corners = np.array([one.bbox for one in chunk.records], np.float64).reshape(-1, 4)
    with np.errstate(over="ignore", invalid="ignore"):
        corners[:, 2:] += corners[:, :2]
    columns = record_columns(chunk, _Result, "image_id", "category_id", "score")
    return pl.DataFrame(columns | {"box": pl.Series(box_rows(corners), dtype=pl.Array(pl.Float32, 4))})


def _by_image(table: pl.DataFrame, problems: list[Problem], notes: tuple[str, ...]) -> RawRegions:
    """Return rows of single detections grouped by image; an image is named by its first record.

    Problems are of single records in the file, so they are given images of their own at the end.
    """
    bad = sorted({record for problem in problems for record in problem.records})
    table = table.filter(~pl.col("record").is_in(bad))
    sizes = table.group_by("image_id", maintain_order=True).len()
    order = table.join(
        sizes.with_row_index("place").select("image_id", "place"), on="image_id", how="left", validate="m:1"
    ).sort("place", "record")
    rows = np.concatenate([sizes["len"].to_numpy().astype(np.int64), np.zeros(len(bad), np.int64)])
    good_images = len(sizes)
    places = {record: good_images + at for at, record in enumerate(bad)}
    moved = [
        Problem(tuple(places[one] for one in problem.records), problem.field, problem.got, problem.expected)
        for problem in problems
    ]
    ids = sizes["image_id"].to_list()
    return RawRegions(
        kind=COCO_RESULTS,
        image_ids=[*ids, *(f"record {record}" for record in bad)],
        widths=np.full(len(rows), np.nan),
        heights=np.full(len(rows), np.nan),
        counts=rows,
        rows=rows,
        boxes=order["box"].to_numpy().reshape(-1, 4).astype(np.float32),
        scores=order["score"],
        labels=order["label"],
        attributes=empty_column("attributes", pl.List(pl.String), len(order)),
        image_name=lambda at: (
            f"record {bad[at - good_images]}" if at >= good_images else f"image {ids[at]!r}"
        ),
        problems=moved,
        notes=notes,
    )


def _category_names(path: Path) -> tuple[Mapping[str, str], FileFacts]:
    source = open_source(path)
    top = parse_json(source).top
    for raw in top if isinstance(top, list) else [source.content]:
        check_keys_once(source.path, raw, 1)
    try:
        if isinstance(top, list) or "categories" in top:
            raws = top if isinstance(top, list) else records_under(source, top, "categories")
            listed = [msgspec.json.decode(raw, type=_Category) for raw in raws]
            return {id_text(one.id): one.name for one in listed}, source.facts()
        return {key: msgspec.json.decode(raw, type=str) for key, raw in top.items()}, source.facts()
    except DECODE_ERRORS as error:
        raise SourceError(
            f"{path}: got JSON that holds no category names ({error}), expected COCO instances, a list of "
            "{id, name}, or {id: name}. Check that this is the right file."
        ) from error
