"""``repeat``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import listed, note, print_fields, print_json
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.options import (
    CHECK_FAILED,
    DEFAULT_SHOWN,
    DONE,
    INPUTS,
    OUTPUT,
    MostShown,
    Out,
    Shown,
)
from shortcut_miner.cli.room import target_folder

if TYPE_CHECKING:
    from shortcut_miner.repeating import Repetition


def repeat(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    data_dir: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    out: Out = None,
    dry_run: Annotated[bool, Parameter(group=OUTPUT, negative=(), show_default=False)] = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a folder again.

    Parameters
    ----------
    folder : Path
        What a build command or vqa-ce sweep wrote; it is never changed.
    data_dir : Path, optional
        Folder to search for inputs that are not where run.json says, by size and SHA-256.
    out : Path, optional
        New folder for what is built; thrown away without it.
    dry_run : bool
        Only find the inputs: nothing is built or written.
    most : int
        Most differing files to print.
    """
    from shortcut_miner.repeating import repeat as repeat_folder

    with target_folder(out, dry_run=dry_run), watched(shown, None, ()):
        done = repeat_folder(folder, data_dir=data_dir, out=out, dry_run=dry_run)
    for text in done.notes:
        note(shown, f"note: {text}")
    if shown.format == "json":
        print_json(document(done))
    else:
        print_fields(in_words(done, most))
    return DONE if done.agrees else CHECK_FAILED


def document(done: "Repetition") -> dict[str, Any]:
    """Return everything as one JSON object."""
    return {
        "folder": done.folder,
        "command": done.command,
        "inputs": done.inputs,
        "out": done.out,
        "files": done.files,
        "agrees": done.agrees,
        "notes": done.notes,
    }


def in_words(done: "Repetition", most: int) -> dict[str, str]:
    """Return what was read and whether the bytes agree, as the console prints it."""
    fields = {"repeated": f"{done.command}, {done.folder}"}
    fields |= {
        f"  {role}": found if isinstance(found, str) else ", ".join(found)
        for role, found in done.inputs.items()
    }
    if not done.files:
        return fields | {"agree": "not known (dry run)"}
    fields["agree"] = f"{len(done.files) - len(done.differing)} of {len(done.files)} files, byte for byte"
    fields |= listed(done.differing, most)
    return fields | ({} if done.out is None else {"written": str(done.out)})
