"""What commands that draw a question share: their options, and what they print."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shortcut_miner.cli.console import note, print_fields, print_json, warn
from shortcut_miner.cli.options import DONE, INPUTS, OUT_IS_NEEDED, OUTPUT, Shown
from shortcut_miner.errors import ConfigError

if TYPE_CHECKING:
    from shortcut_miner.datasets.pictures import Picture

ImagesGiven = Annotated[
    str | None,
    Parameter(
        name="--images",
        group=INPUTS,
        help="Folder with the images, which is looked through, or a pattern of paths such as "
        "images/{image_id:012d}.jpg. Without it, boxes are drawn on an empty page.",
    ),
]
FilesGiven = Annotated[list[Path] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())]
PictureOut = Annotated[
    Path | None,
    Parameter(
        name="--out",
        group=OUTPUT,
        help=f"PNG to write; an earlier picture is replaced, no other file. {OUT_IS_NEEDED}",
    ),
]


@contextlib.contextmanager
def target_picture(out: Path | None, *, dry_run: bool, needs_out: bool = True) -> Iterator[Path | None]:
    """Give the file to write; none in a dry run, which checks it all the same.

    Raises
    ------
    ConfigError
        There has to be a file to write and is none, and it is no dry run.
    """
    from shortcut_miner.dry_runs import rehearsed

    if out is None and not dry_run and needs_out:
        raise ConfigError(
            "--out: got none, expected a PNG's name. Give --out, or --dry-run to write nothing."
        )
    with rehearsed(out if dry_run else None):
        yield None if dry_run else out


def print_picture(picture: "Picture", out: Path | None, shown: Shown) -> int:
    """Print what a picture shows and where it lies."""
    for text in picture.notes:
        note(shown, f"note: {text}")
    for text in picture.warnings:
        warn(text)
    if shown.format == "json":
        print_json(document(picture, out))
    else:
        print_fields({**picture.fields, "written": written(picture, out)})
    return DONE


def document(picture: "Picture", out: Path | None) -> dict[str, object]:
    """Return what a picture shows as one JSON object."""
    return {
        **picture.fields,
        "out": None if out is None else str(out),
        "size": len(picture.png),
        "notes": list(picture.notes),
        "warnings": list(picture.warnings),
    }


def written(picture: "Picture", out: Path | None) -> str:
    """Return where a picture lies, in words."""
    return "nothing (dry run)" if out is None else f"{out} ({len(picture.png):,} bytes)"
