"""Object labels of images: image-to-detection JSON, COCO instances, or our own Parquet table."""

from pathlib import Path

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow, PathTexts, as_path_tuple
from shortcut_miner.sources.images.coco import COCO_INSTANCES
from shortcut_miner.sources.images.formats import LABELS
from shortcut_miner.sources.images.image_labels import IMAGE_LABELS, LABELS_PARQUET
from shortcut_miner.sources.images.several import all_files, joined
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content, find_format
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row
from shortcut_miner.sources.recognise import known_format

_EXPECTED = f"{IMAGE_LABELS} ({{image: {{classes, scores}}}}), {COCO_INSTANCES} or {LABELS_PARQUET}"


def read_labels(path: PathTexts, *, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the object labels of images, one row a detection, in file order.

    Reads detect-shortcuts' ``{image: {"classes": [...], "scores": [...]}}``, COCO instances JSON and a
    Parquet table with the columns image_id, label and, optionally, score. An image with an empty list
    gives one row without label: known, none found.

    Parameters
    ----------
    path : path-like, or a list of them
        A plain, .gz or .zst file, a zip with one member, ``archive.zip/member``, or a folder; several of
        these are read as one. In a folder, files of another format are left out.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Labels`: image_id, label (String), score (Float64; null for
        ground truth). COCO adds iscrowd (Boolean).

    Raises
    ------
    SourceError
        A file can't be read, is of another format, or has bad records; files differ about an image. With
        ``on_bad_row="skip"`` a bad record is left out as a whole: an image of the JSON format, an annotation
        of COCO, a row.
    """
    check_on_bad_row(on_bad_row)
    files, notes = all_files(as_path_tuple("path", path), _has_labels, "object labels")
    return joined([_read_one(file, on_bad_row) for file in files], files, on_bad_row, notes)


def _read_one(path: Path, on_bad_row: OnBadRow) -> Reading:
    content = Content(open_source(path, keep_workbooks=True))
    reading: Reading = known_format(content, LABELS, _EXPECTED).read(content, on_bad_row)
    return reading


def _has_labels(file: Path) -> bool:
    try:
        return find_format(Content(open_source(file)), LABELS) is not None
    except SourceError:
        return False
