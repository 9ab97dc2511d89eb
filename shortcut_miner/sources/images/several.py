"""Several files of images read as one: the files of a folder, and images that more than one file has."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.opening.files import facts_of_all
from shortcut_miner.sources.opening.reading import Reading

_FILE, _COPIES = "file", "copies"
_BETWEEN = "\x1f"
OneReading = TypeVar("OneReading", bound=Reading)


def files_of(place: Path, is_such: Callable[[Path], bool], what: str) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files of a folder that fit, by name, and a note on the others.

    Raises
    ------
    SourceError
        None of them fits.
    """
    present = sorted(one for one in place.iterdir() if not one.name.startswith("."))
    chosen = [one for one in present if one.is_file() and is_such(one)]
    if not chosen:
        raise SourceError(
            f"{place}: got a folder without {what} (it has "
            f"{examples([one.name for one in present]) or 'no files'}), expected at least one such file. "
            "Give a file, or the folder that holds them."
        )
    others = [one.name for one in present if one.is_file() and one not in chosen]
    folders = [one.name for one in present if one.is_dir()]
    left_out = {"files of another format": others, "folders in this folder": folders}
    return chosen, tuple(f"{kind} left out: {examples(names)}" for kind, names in left_out.items() if names)


def all_files(
    places: Sequence[Path], is_such: Callable[[Path], bool], what: str
) -> tuple[list[Path], tuple[str, ...]]:
    """Return files, and in the place of folders the files in them that fit, with notes on the others."""
    found: list[Path] = []
    told: tuple[str, ...] = ()
    for place in places:
        files, notes = files_of(place, is_such, what) if place.is_dir() else ([place], ())
        found += files
        told += notes
    return found, told


def joined(
    readings: Sequence[OneReading], paths: Sequence[Path], on_bad_row: OnBadRow, notes: tuple[str, ...] = ()
) -> OneReading:
    """Return readings of several files as one; an image that some files have alike is kept once.

    Parameters
    ----------
    readings : sequence of Reading
        Each with a table that has image_id, and for some kinds ``images``: one row an image.
    paths : sequence of Path
        Where each is from.
    on_bad_row : {"error", "skip"}
        Raise where files differ about an image, or skip it and count it.
    notes : tuple of str
        Of the folders that were looked through.

    Raises
    ------
    SourceError
        Files differ about an image.
    """
    if len(readings) == 1:
        return dataclasses.replace(readings[0], notes=(*notes, *readings[0].notes))
    rows = _numbered([one.table for one in readings])
    images = _numbered([_images(one) for one in readings])
    if "region_count" in images.columns:
        images = _known_first(images)
        rows = rows.join(
            images.select(_FILE, "image_id"), on=(_FILE, "image_id"), how="semi", maintain_order="left"
        )
    dropped = Counter({reason: 0 for one in readings for reason in one.dropped})
    for one in readings:
        dropped.update(one.dropped)
    repeated = images.filter(pl.col("image_id").is_duplicated())
    differing = _differing(repeated, rows)
    if len(differing) and on_bad_row == "error":
        raise _told(repeated, differing, paths)
    if len(differing):
        dropped["image: expected the same in every file that has it"] = len(differing)
    alike = repeated["image_id"].n_unique() - len(differing)
    first = images.filter(~pl.col("image_id").is_in(differing.implode())).unique(
        "image_id", keep="first", maintain_order=True
    )
    table = rows.join(
        first.select(_FILE, "image_id"), on=(_FILE, "image_id"), how="semi", maintain_order="left"
    ).drop(_FILE)
    told = [f"{one.file.name}: {note}" for one in readings for note in one.notes]
    once = [f"images that several files have alike, kept once: {alike:,}"] if alike else []
    more: dict[str, Any] = {}
    if hasattr(readings[0], "images"):
        more["images"] = first.drop(_FILE)
    if hasattr(readings[0], "files"):
        more["files"] = tuple(file for one in readings for file in getattr(one, "files", ()))
    return dataclasses.replace(
        readings[0],
        table=table,
        kind=", ".join(dict.fromkeys(one.kind for one in readings)),
        file=facts_of_all(f"{len(readings)} files", [one.file for one in readings]),
        dropped=dict(dropped),
        notes=(*notes, *told, *once),
        parts=tuple(readings),
        **more,
    )


def _numbered(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    numbered = [table.with_columns(pl.lit(at, pl.UInt32).alias(_FILE)) for at, table in enumerate(tables)]
    return pl.concat(numbered, how="diagonal")


def _images(reading: Reading) -> pl.DataFrame:
    images: pl.DataFrame | None = getattr(reading, "images", None)
    return reading.table.select("image_id").unique(maintain_order=True) if images is None else images


def _known_first(images: pl.DataFrame) -> pl.DataFrame:
    """Drop what a file does not know of an image that another one knows."""
    is_known = pl.col("region_count").is_not_null()
    return images.filter(is_known | ~is_known.any().over("image_id"))


def _differing(repeated: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    """Return the images that have other rows, or other sizes and counts, in one file than in another."""
    copies = repeated.group_by("image_id").agg(pl.len().alias(_COPIES))
    sizes = repeated.drop(_FILE).unique().filter(pl.col("image_id").is_duplicated())["image_id"]
    lists = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.List)]
    flat = rows.join(copies, on="image_id", how="inner", validate="m:1").with_columns(
        pl.col(name).list.join(_BETWEEN, ignore_nulls=False) for name in lists
    )
    values = [name for name in flat.columns if name != _FILE]
    alike = (
        flat.group_by(_FILE, *values)
        .agg(pl.len().alias("times"))
        .group_by(*values, "times")
        .agg(pl.len().alias("files"))
    )
    other_rows = alike.filter(pl.col("files") != pl.col(_COPIES))["image_id"]
    return pl.concat([sizes, other_rows]).unique().sort()


def _told(repeated: pl.DataFrame, differing: pl.Series, paths: Sequence[Path]) -> SourceError:
    numbers = repeated.filter(pl.col("image_id") == differing[0])[_FILE].to_list()
    names = " and ".join(str(paths[number]) for number in numbers)
    return SourceError(
        f"{names}: got {len(differing):,} images that files describe differently ({examples(differing)}), "
        "expected each in one file, or the same in all. Leave one of the files out, or skip these images "
        "with --on-bad-row skip."
    )
