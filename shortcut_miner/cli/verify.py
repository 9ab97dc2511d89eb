"""``verify``."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import listed, print_fields, print_json, progress
from shortcut_miner.cli.options import (
    CHECK_FAILED,
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    MostShown,
    Shown,
)

if TYPE_CHECKING:
    from shortcut_miner.verifying import Verification


def verify(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    data_dir: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Verify a folder.

    Parameters
    ----------
    folder : Path
        What any command wrote.
    data_dir : Path, optional
        Folder to search for the inputs, by size and SHA-256; without it they are not looked for. Exit code 3
        says that some are not there.
    most : int
        Most differing files, counts and inputs to print of each.
    """
    started = time.perf_counter()
    with progress(shown) as on_stage:
        if on_stage is not None:
            on_stage(f"verify {folder}")
        from shortcut_miner.verifying import verify as verify_folder

        found = verify_folder(folder, data_dir=data_dir, on_stage=on_stage)
    if shown.format == "json":
        print_json(document(found))
    else:
        print_fields(in_words(found, most, time.perf_counter() - started))
    if not found.agrees:
        return CHECK_FAILED
    return DONE if found.is_complete else INCOMPLETE


def document(found: "Verification") -> dict[str, Any]:
    """Return everything as one JSON object."""
    return {
        "folder": found.folder,
        "command": found.command,
        "agrees": found.agrees,
        "is_complete": found.is_complete,
        "files": found.files,
        "counts": {
            name: {"manifest": said, "tables": counted} for name, (said, counted) in found.counts.items()
        },
        "inputs": [{"role": role, "name": name, "state": state} for role, name, state in found.inputs],
        "others": found.others,
    }


def in_words(found: "Verification", most: int, seconds: float) -> dict[str, str]:
    """Return what agrees, and what does not by its name, as the console prints it."""
    wrong_files = {name: state for name, state in found.files.items() if state != "same"}
    known = {name: pair for name, pair in found.counts.items() if pair[1] is not None}
    wrong_counts = {
        name: f"{said:,} in the manifest, {counted:,} in the tables"
        for name, (said, counted) in known.items()
        if counted != said
    }
    looked_for = [one for one in found.inputs if one[2] != "not looked for"]
    wrong_inputs = {f"{role} {name}": state for role, name, state in looked_for if state != "same"}
    fields = {"verified": f"{found.command}, {found.folder}"}
    fields["files"] = f"{len(found.files) - len(wrong_files)} of {len(found.files)} as they were written"
    fields |= listed(wrong_files, most, " files")
    fields["counts"] = (
        f"{len(known) - len(wrong_counts)} of {len(known)} derived from the tables agree; "
        f"{len(found.counts) - len(known)} can't be derived from them"
    )
    fields |= listed(wrong_counts, most, " counts")
    fields["inputs"] = (
        f"{len(looked_for) - len(wrong_inputs)} of {len(looked_for)} found as they were read"
        if looked_for
        else f"{len(found.inputs)}, not looked for"
    )
    fields |= listed(wrong_inputs, most, " inputs")
    if found.others:
        rest = f" and {len(found.others) - most} more" if len(found.others) > most else ""
        fields["beside"] = f"{', '.join(found.others[:most])}{rest}, of no run"
    return fields | {"took": f"{seconds:.1f} s"}
