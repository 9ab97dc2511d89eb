"""Reading what POPE needs: the objects of images, in order, and what else is there."""

from dataclasses import dataclass

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.pope.config import PopeConfig, PopeFiles
from shortcut_miner.diagnostics.pope.objects import read_objects
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.opening.reading import Reading


@dataclass(frozen=True, slots=True)
class PopeInputs:
    """The objects of images.

    Attributes
    ----------
    objects : dict of str to list of str
        image_id -> its objects, each once, in the order of the file.
    also_present : dict of str to set of str
        image_id -> further objects that must not be asked as absent.
    images : dict of str to str
        image_id -> the image's name in the file.
    crowds : set of (str, str)
        Images and objects that are annotated as crowds alone.
    facts : InputFacts
        Records, drops and notes.
    unknown : int
        Images left out because their objects are null.
    """

    objects: dict[str, list[str]]
    also_present: dict[str, set[str]]
    images: dict[str, str]
    crowds: set[tuple[str, str]]
    facts: InputFacts
    unknown: int


def read_inputs(files: PopeFiles, config: PopeConfig, limit: int | None = None) -> PopeInputs:
    """Return the objects of a build; `limit` keeps the first images.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit; no image in common.
    ConfigError
        Two images of one name.
    """
    found = read_objects(files.objects, config.on_bad_row, info=files.detections_info)
    readings: dict[str, Reading] = {"objects": found.reading}
    rows, warning = found.reading.table, None
    first = rows.select("image_id", "image").unique("image_id", keep="first", maintain_order=True)
    first = first if limit is None else first.head(limit)
    rows = rows.filter(pl.col("image_id").is_in(first["image_id"].implode()), pl.col("object").is_not_null())
    is_sure = pl.col("score").fill_null(1.0) >= config.score_threshold
    also = rows.filter(~is_sure).select("image_id", "object")
    if files.also_present is not None:
        beside = read_objects(files.also_present, config.on_bad_row)
        readings["also_present"] = beside.reading
        warning = check_image_join(
            first["image_id"], beside.reading.table["image_id"], left="images", right="also_present",
            readings=(found.reading, beside.reading),
        )  # fmt: skip
        also = pl.concat([also, beside.reading.table.select("image_id", "object").drop_nulls()])
    sure = rows.filter(is_sure)
    crowds = sure.group_by("image_id", "object").agg(pl.col("is_crowd").all()).filter("is_crowd")
    return PopeInputs(
        objects=_by_image(first["image_id"], sure),
        also_present={image_id: {*names} for image_id, names in _by_image(None, also).items()},
        images=_names(first, config),
        crowds={*crowds.select("image_id", "object").iter_rows()},
        facts=InputFacts.of(readings, (warning,)),
        unknown=found.unknown,
    )


def _by_image(images: pl.Series | None, rows: pl.DataFrame) -> dict[str, list[str]]:
    """Return the objects of each image, each once, in order; with `images` also of those that have none."""
    found: dict[str, dict[str, None]] = {one: {} for one in ([] if images is None else images)}
    for image_id, name in rows.select("image_id", "object").iter_rows():
        found.setdefault(image_id, {}).setdefault(name)
    return {image_id: [*names] for image_id, names in found.items()}


def _names(images: pl.DataFrame, config: PopeConfig) -> dict[str, str]:
    """Return each image's name as the questions have it."""
    names = {image_id: config.image_names.format(name) for image_id, name in images.iter_rows()}
    if len({*names.values()}) < len(names):
        every = pl.Series([*names.values()])
        same = every.filter(every.is_duplicated()).unique().sort()
        raise ConfigError(
            f"image_names: got the same name for several images: "
            f"{examples(same)}, expected one of each. Change --image-names."
        )
    return names
