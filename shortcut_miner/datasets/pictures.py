"""Pictures of questions: the image, the boxes that the build read, and the file that shows them."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shortcut_miner.drawing.pillow import check_pillow
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import PathTexts, as_path_tuple, option_name
from shortcut_miner.single_files import Kind, check_file_target, start_of, write_file
from shortcut_miner.sources.images.image_files import find_images
from shortcut_miner.storage import RUN_RECORD, read_json_file

if TYPE_CHECKING:
    from shortcut_miner.drawing.photos import Photo
    from shortcut_miner.drawing.sheets import Sheet
    from shortcut_miner.sources.opening.reading import Reading

_START = 256  # bytes of a PNG before its pixels, in which it says what wrote it
_LARGEST_PAGE = 4096  # pixels


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A picture of one question; a notebook shows it.

    Attributes
    ----------
    png : bytes
        The file's content.
    fields : mapping of str to str
        What is shown, in words.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    """

    png: bytes
    fields: Mapping[str, str]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return what is shown, a line each."""
        return "\n".join(f"{name}: {text}" for name, text in self.fields.items())

    def _repr_png_(self) -> bytes:
        return self.png


def picture_of(
    sheet: "Sheet", fields: Mapping[str, str], notes: Sequence[str], warnings: Sequence[str], out: Path | None
) -> Picture:
    """Return a sheet as a picture, which is written if there is a file to write it to.

    Boxes without a part on their image are told in a further warning.
    """
    from shortcut_miner.drawing.sheets import outside, png_of

    told = [*warnings]
    if lost := [mark.text for mark in outside(sheet)]:
        told.append(
            f"boxes: got {len(lost):,} wholly outside their image, or empty: {examples(lost)}, expected some "
            "part on it. They are not drawn; check that boxes and images belong together"
        )
    picture = Picture(png_of(sheet), fields, tuple(dict.fromkeys(notes)), tuple(dict.fromkeys(told)))
    if out is not None:
        write_file(out, picture.png, _PNG)
    return picture


# ---- images ----


def find_files(images: str | None, ids: Sequence[str]) -> dict[str, Path]:
    """Return the file of each image; none without `images`, which leaves boxes on an empty page.

    Parameters
    ----------
    images : str, optional
        A folder, or a pattern of paths; see :func:`shortcut_miner.sources.images.image_files.find_images`.
    ids : sequence of str
        The images.

    Raises
    ------
    SourceError
        An image has no file.
    ConfigError
        No such folder, or addresses instead of files.
    """
    if images is None:
        return {}
    found = find_images(images, list(dict.fromkeys(ids)))
    if found.images.kind == "addresses":
        raise ConfigError(
            f"--images {images}: got addresses, expected files. Download the images, and give their folder."
        )
    for place in found.broken.values():
        raise SourceError(f"{place}: got no image, expected one. Check the file, or correct --images.")
    for image_id in found.missing:
        raise SourceError(
            f"--images {images}: got no file of the image {image_id!r}, expected one such as {image_id}.jpg "
            f"or COCO_val2014_{image_id:0>12}.jpg. Give the folder that holds it, or leave --images out to "
            "see the boxes alone."
        )
    return {image_id: Path(place) for image_id, place in found.images.places.items()}


def sizes_of(files: Mapping[str, Path]) -> pl.DataFrame:
    """Return the sizes of images, a :class:`shortcut_miner.schemas.Images`: some boxes are shares of them."""
    from shortcut_miner.drawing.photos import size_of

    sizes = {image_id: size_of(path) for image_id, path in files.items()}
    return pl.DataFrame(
        {
            "image_id": list(sizes),
            "width": [float(width) for width, _ in sizes.values()],
            "height": [float(height) for _, height in sizes.values()],
        },
        schema={"image_id": pl.String, "width": pl.Float64, "height": pl.Float64},
    ).with_columns(region_count=pl.lit(None, pl.UInt32))


def photo_of(path: Path | None, boxes: pl.DataFrame, images: pl.DataFrame, image_id: str) -> "Photo":
    """Return an image for boxes; without a file, an empty page of its size.

    Parameters
    ----------
    path : Path, optional
        Its file.
    boxes : pl.DataFrame
        Columns x1, y1, x2, y2: where nothing says how large the image is, a page holds these.
    images : pl.DataFrame
        A :class:`shortcut_miner.schemas.Images`, from the file of the boxes.
    image_id : str
        The image.

    Raises
    ------
    SourceError
        The file can't be read, or is of another shape than the boxes' image.
    """
    from shortcut_miner.drawing.photos import blank_photo, read_photo

    known = images.filter(pl.col("image_id") == image_id, pl.col("width") >= 1, pl.col("height") >= 1)
    size = None if known.is_empty() else (round(known["width"][0]), round(known["height"][0]))
    if path is not None:
        return read_photo(path, size)
    # Boxes may reach past any page that could be drawn.
    ends = (boxes[name].cast(pl.Float64).append(pl.Series([1.0])).max() for name in ("x2", "y2"))
    width, height = (min(round(float(one)), _LARGEST_PAGE) for one in ends)  # type: ignore[arg-type]
    return blank_photo(size or (width, height))


def scaled(boxes: pl.DataFrame, photo: "Photo") -> pl.DataFrame:
    """Return boxes in an image's own pixels."""
    across, down = photo.scales
    return boxes.with_columns(pl.col("x1", "x2") * across, pl.col("y1", "y2") * down)


# ---- the files of a build ----


def files_of_build(path: Path, role: str, given: PathTexts | None) -> tuple[Path, ...] | None:
    """Return the files that play a role: those given, or those that the build read; None if it read none.

    Parameters
    ----------
    path : Path
        The built folder.
    role : str
        Such as "detections".
    given : path or list of them, optional
        What the user gave.

    Raises
    ------
    SourceError
        The build read some that are no longer there.
    """
    if given is not None:
        return as_path_tuple(role, given)
    run = path / RUN_RECORD
    record = read_json_file(run) if run.is_file() else {}
    files = record.get("files") if isinstance(record, dict) else None
    one = files.get(role) if isinstance(files, dict) else None
    several = [text for text in (one if isinstance(one, list) else [one]) if isinstance(text, str)]
    if not several:
        return None
    lost = [text for text in several if not _is_there(Path(text))]
    if lost:
        raise SourceError(
            f"{path}: got no {examples(lost)}, which it was built from, expected it where it was. Give "
            f"{option_name(role)}."
        )
    return tuple(Path(text) for text in several)


def _is_there(path: Path) -> bool:
    return path.exists() or any(parent.is_file() for parent in path.parents)  # an archive's member


def needed(
    files: tuple[Path, ...] | None, path: Path, role: str, what: str = "the files that it was built from"
) -> tuple[Path, ...]:
    """Return files, or raise ConfigError if there are none."""
    if files is None:
        raise ConfigError(
            f"{path}: got no word of where its {role.replace('_', ' ')} are, expected {what}. Give "
            f"{option_name(role)}."
        )
    return files


def other_files(reading: "Reading", manifest: Mapping[str, Any], role: str) -> list[str]:
    """Return a warning if files are not those, byte by byte, that a build read in this role."""
    parts = reading.parts or (reading,)
    read = {one.file.sha256 for one in parts}
    recorded = [one for one in manifest["inputs"] if one["role"] == role]
    if not recorded or read <= {one["sha256"] for one in recorded}:
        return []
    names = examples([one["name"] for one in recorded])
    return [
        f"{option_name(role)}: {examples([one.file.name for one in parts])} is not what the build read "
        f"({names}): its boxes may be numbered otherwise"
    ]


# ---- the picture's file ----


def check_png_target(out: Path | None) -> None:
    """Raise now, not after the work, if a picture can't be drawn, or not be written to `out`."""
    check_pillow()
    check_file_target(out, _PNG)


def _is_ours(path: Path) -> bool:
    from shortcut_miner.drawing.sheets import is_sheet

    return not path.is_symlink() and is_sheet(start_of(path, _START))


_PNG = Kind(
    name="picture.png", thing="picture", of=" of it", writer="shortcut-miner", is_ours=_is_ours, suffix=".png"
)
