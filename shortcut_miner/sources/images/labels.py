"""Object labels of images, out of every file that has them: labels alone, boxes with labels, scene graphs."""

from pathlib import Path

from shortcut_miner.columnar import columnar_form
from shortcut_miner.errors import BackendError, ConfigError, SourceError, examples
from shortcut_miner.options import OnBadRow, PathTexts, as_path_tuple
from shortcut_miner.sources.images import regions
from shortcut_miner.sources.images.box_labels import LABELS_INSTEAD, labels_of_boxes, labels_of_objects
from shortcut_miner.sources.images.coco import COCO_INSTANCES
from shortcut_miner.sources.images.formats import LABELS, SCENE_GRAPHS
from shortcut_miner.sources.images.image_labels import IMAGE_LABELS, read_plain
from shortcut_miner.sources.images.region_tables import RegionFiles
from shortcut_miner.sources.images.regions_flat import REGIONS_PARQUET
from shortcut_miner.sources.images.regions_tsv import LXMERT_TSV
from shortcut_miner.sources.images.scene_graphs import scene_reading
from shortcut_miner.sources.images.several import files_of, joined
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import find_file, open_source
from shortcut_miner.sources.opening.json_text import first_bytes
from shortcut_miner.sources.opening.kinds import Content, Format, find_format
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row
from shortcut_miner.sources.opening.streams import start_of

_WHAT = "object labels"
_ZIP = b"PK"  # a workbook: other archives are unpacked before their first bytes are looked at
# A file's labels; or the format of its boxes, which are read when their second file is known.
_Found = tuple[Path, Reading | Format]


def read_labels(path: PathTexts, *, info: PathTexts | None = None, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the object labels of images, one row a detection, in file order.

    Reads detect-shortcuts' ``{image: {"classes": [...], "scores": [...]}}``, COCO instances JSON, a table
    (Parquet, Arrow, CSV, JSONL, JSON, xlsx) with image_id and label or labels and, optionally, score or
    scores; the names in scene graphs (GQA, Visual Genome); and the labels of boxes in every format of
    :func:`~shortcut_miner.sources.images.regions.read_regions` that has them. An image with an empty list
    gives one row without label: known, none found.

    Parameters
    ----------
    path : path-like, or a list of them
        A plain, .gz or .zst file, a zip with one member, ``archive.zip/member``, or a folder; several of
        these are read as one. In a folder, files of another format are left out.
    info : path-like, or a list of them, optional
        The second file that a format of boxes needs, as for ``read_regions``: the categories of COCO results,
        LXMERT's vocabulary, Open Images' class descriptions. One for all of `path`, or one each.
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
        A file can't be read, is of another format or has boxes without labels, or has bad records; files
        differ about an image. With ``on_bad_row="skip"`` a bad record is left out as a whole: an image of the
        JSON format or of scene graphs, an annotation of COCO, a row, a region.
    ConfigError
        A second file that a format needs is missing, or one is too many.
    """
    check_on_bad_row(on_bad_row)
    paths, infos = as_path_tuple("path", path), () if info is None else as_path_tuple("info", info)
    regions.check_infos(paths, infos)
    places = [_in_place(one, on_bad_row) for one in paths]
    notes = tuple(note for _, told in places for note in told)
    found = regions.with_infos([files for files, _ in places], infos, _takes_info)
    readings = [_labels(*file, second, on_bad_row) for file, second in found]
    return joined(readings, [file for (file, _), _ in found], on_bad_row, notes)


def _in_place(place: Path, on_bad_row: OnBadRow) -> tuple[list[_Found], tuple[str, ...]]:
    """Return a file, or those of a folder that have labels, with notes on the others."""
    if not place.is_dir():
        return [(place, _look(place, on_bad_row))], ()
    seen: dict[Path, Reading | Format] = {}

    def has_boxes_or_labels(file: Path) -> bool:
        if (found := _look_in_folder(file, on_bad_row)) is not None:
            seen[file] = found
        return found is not None

    _, notes = files_of(place, has_boxes_or_labels, _WHAT)
    labelled = [pair for pair in seen.items() if not _is_unlabelled(pair[1])]
    if not labelled:
        return [*seen.items()], notes  # told when they are read
    bare = [file.name for file, found in seen.items() if _is_unlabelled(found)]
    return labelled, (*notes, *([f"boxes without labels left out: {examples(bare)}"] if bare else []))


def _look(path: Path, on_bad_row: OnBadRow) -> Reading | Format:
    """Return a file's labels, or the format of its boxes; what is no box file is read once, and whole."""
    if found := _boxes_by_start(path):
        return found
    content = Content(open_source(path, keep_workbooks=True))
    plain = read_plain(content, _formats(), on_bad_row)
    return plain or _of_content(content, known_format(content, _formats(), _expected()), on_bad_row)


def _look_in_folder(file: Path, on_bad_row: OnBadRow) -> Reading | Format | None:
    """Return :func:`_look` of a file that may be anything; None for what has neither labels nor boxes."""
    try:
        if boxes := _boxes_by_start(file):
            return boxes if boxes in regions.FORMATS else None
        if not _may_have_labels(start_of(file)):
            return None
        content = Content(open_source(file, keep_workbooks=True))
        found = find_format(content, _formats())
    except (SourceError, BackendError):
        return None
    return None if found is None else _of_content(content, found, on_bad_row)


def _boxes_by_start(path: Path) -> Format | None:
    """Return the format of boxes that a file starts with; a pipe's start can't be read twice."""
    if find_file(path)[0].is_file() and (found := regions.region_format(path)):
        # Tables of labels and of other things start as Parquet too.
        return found if found.kind != REGIONS_PARQUET or regions.has_region_columns(path) else None
    return None


def _may_have_labels(start: bytes) -> bool:
    """Return whether a file of a folder is worth reading as a whole by its first bytes; images are not."""
    if columnar_form(start) or start.startswith(_ZIP) or first_bytes(start) in (b"{", b"["):
        return True
    return b"image_id" in start.split(b"\n", maxsplit=1)[0]


def _formats() -> tuple[Format, ...]:
    return (*LABELS, *SCENE_GRAPHS, *regions.FORMATS)


def _expected() -> str:
    boxes = (one.kind for one in regions.FORMATS if not _is_unlabelled(one))
    return (
        f"{IMAGE_LABELS} ({{image: {{classes, scores}}}}), {COCO_INSTANCES}, a table with image_id and label "
        f"or labels, scene graphs, or boxes with labels ({', '.join(boxes)})"
    )


def _is_unlabelled(found: Reading | Format) -> bool:
    return isinstance(found, Format) and found in regions.WITHOUT_LABELS


def _takes_info(file: _Found) -> bool:
    found = file[1]
    return isinstance(found, Format) and found.takes_info


def _of_content(content: Content, found: Format, on_bad_row: OnBadRow) -> Reading | Format:
    if found in regions.FORMATS:
        return found
    if found in SCENE_GRAPHS:
        return labels_of_objects(scene_reading(content, found, on_bad_row))
    reading: Reading = found.read(content, on_bad_row)
    return reading


def _labels(path: Path, found: Reading | Format, info: Path | None, on_bad_row: OnBadRow) -> Reading:
    if isinstance(found, Reading):
        if info is not None:
            raise regions.info_too_many(path, found.kind, info)
        return found
    if _is_unlabelled(found):
        raise SourceError(
            f"{path}: got {found.kind} (boxes without labels), expected object labels. {LABELS_INSTEAD}."
        )
    if found.kind == LXMERT_TSV and info is None:
        raise ConfigError(
            f"{path}: got {LXMERT_TSV} without the names of its object ids, expected a file that has them. "
            "Name the vocabulary, a name a line, with --detections-info."
        )
    files = RegionFiles(path=path, info=info, needs_pixels=False)
    return labels_of_boxes(regions.read_boxes(files, on_bad_row), str(path), on_bad_row)
