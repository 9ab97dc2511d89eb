"""What commands share: exit codes, options of their output, lists on the command line."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import BackendName

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

DONE, CHECK_FAILED, BAD_INPUT, INCOMPLETE, BUG, INTERRUPTED = 0, 1, 2, 3, 101, 130


def _print_options(console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
    """Print a group of options; as plain text, help would break lines where the docstring's source does."""
    from cyclopts.help import DefaultFormatter
    from rich.text import Text

    for entry in panel.entries:
        text = getattr(entry.description, "primary_renderable", None)
        if isinstance(text, Text):
            text.plain = " ".join(text.plain.split())
    DefaultFormatter()(console, options, panel)


INPUTS = Group("Inputs", sort_key=1, help_formatter=_print_options)
METHOD = Group("Method", sort_key=2, help_formatter=_print_options)
SCALE = Group("Scale: the result is the same for any", sort_key=3, help_formatter=_print_options)
OUTPUT = Group("Output", sort_key=4, help_formatter=_print_options)


@Parameter(name="*", group=OUTPUT)
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What every command that reads files can be told: how it prints, and how much it unpacks.

    Attributes
    ----------
    format : {"table", "json"}
        Print tables to read, or one JSON document and nothing else.
    quiet : bool
        Print the result and warnings only: no notes, no progress.
    max_unpacked : str, optional
        The most that a packed input may give, such as 8GB. Default: 100 times its size, or 256MB, and no more
        than half of the free memory.
    """

    format: Literal["table", "json"] = "table"
    quiet: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    max_unpacked: Annotated[str | None, Parameter(group=INPUTS)] = None


DEFAULT_SHOWN = Shown()

# Options that several commands have; one without help here means what the command's docstring says.
_POSITIVE, _NOT_NEGATIVE = Number(gte=1), Number(gte=0)
FirstRows = Annotated[
    int | None,
    Parameter(
        name="--limit",
        group=INPUTS,
        validator=_POSITIVE,
        help="Use the first questions or rows of each split only, to try things out.",
    ),
]
MostShown = Annotated[int, Parameter(name="--limit", group=OUTPUT, validator=_NOT_NEGATIVE)]
ConfigFile = Annotated[
    Path | None,
    Parameter(
        group=METHOD,
        help="TOML file with options of this group, such as seed = 1. Options given here win over it.",
    ),
]
Threads = Annotated[
    int | None,
    Parameter(
        group=METHOD,
        validator=_POSITIVE,
        help="Default: all processors. The result is the same for any number.",
    ),
]
Compute = Annotated[
    BackendName,
    Parameter(
        name="--backend",
        group=METHOD,
        help="What does the search: numba on processors, cupy on a CUDA device. The result is the same.",
    ),
]
Memory = Annotated[
    str | None,
    Parameter(
        group=SCALE,
        help="The most that this process, with its workers on this machine, may hold, such as 4GB: what does "
        "not fit goes by way of files. Default: what is free.",
    ),
]
WhereToMine = Annotated[
    str | None,
    Parameter(
        name="--executor",
        group=SCALE,
        help="Who mines: local[N] processes, dask://HOST:PORT, or slurm:partition=NAME,mem_gb=16. Default: "
        "this process.",
    ),
]
Shards = Annotated[
    int | None,
    Parameter(
        group=SCALE,
        validator=_POSITIVE,
        help="Parts to mine one by one. Default: as few as memory allows, and some for each worker.",
    ),
]
Work = Annotated[
    Path | None,
    Parameter(
        group=SCALE,
        help="Folder for what is in between, on a disk that all workers share; a run that was killed is gone "
        "on with. Default: beside --out.",
    ),
]
Out = Annotated[Path | None, Parameter(group=OUTPUT)]
OUT_IS_NEEDED = "Needed, except with --dry-run."  # so ends the help of an --out that is
BuildOut = Annotated[
    Path | None, Parameter(name="--out", group=OUTPUT, help=f"Folder to write. {OUT_IS_NEEDED}")
]
DryRun = Annotated[
    bool,
    Parameter(
        group=OUTPUT,
        negative=(),
        show_default=False,
        help="Do all the work, but write nothing: --out is only checked, as a real run would.",
    ),
]
Force = Annotated[
    bool,
    Parameter(
        group=OUTPUT,
        negative=(),
        show_default=False,
        help="Replace what a run with other options wrote to --out. Files of yours are never replaced.",
    ),
]
NamedFiles = Annotated[list[str], Parameter(group=INPUTS, consume_multiple=1, negative=())]
OptionalNamedFiles = Annotated[list[str] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())]


def numbers_list(hint: Any, tokens: Sequence[Token]) -> list[Any]:
    """Convert ``8,16,32``, ``8 16 32`` or a repeated option into a list of what `hint` asks for."""
    (number,) = hint.__args__
    texts = [text.strip() for token in tokens for text in token.value.split(",")]
    try:
        return [number(text) for text in texts]
    except ValueError as error:
        kind = "whole numbers" if number is int else "numbers"
        option = tokens[0].keyword or "list"
        raise ConfigError(
            f"{option}: got {','.join(texts)}, expected {kind} with commas between them."
        ) from error


def named_files(values: Sequence[str], option: str) -> dict[str, Path]:
    """Return NAME=FILE pairs as a dictionary.

    >>> named_files(["a=x.json"], "--predictions")
    {'a': PosixPath('x.json')}
    """
    files = file_lists(values, option)
    for name, paths in files.items():
        if len(paths) > 1:
            raise ConfigError(
                f"{option}: got {len(paths)} files of the name {name!r}, expected one file a name. Rename "
                "some of them."
            )
    return {name: paths[0] for name, paths in files.items()}


def file_lists(values: Sequence[str], option: str) -> dict[str, list[Path]]:
    """Return NAME=FILE pairs by name; a name may have several files, with commas between them or repeated.

    >>> file_lists(["a=x.json,y.json", "a=z.json"], "--original")
    {'a': [PosixPath('x.json'), PosixPath('y.json'), PosixPath('z.json')]}
    """
    files: dict[str, list[Path]] = {}
    for value in values:
        name, separator, path = value.partition("=")
        if not (separator and name and path):
            raise ConfigError(f"{option}: got {value!r}, expected NAME=FILE. Put a name before the file.")
        files.setdefault(name, []).extend(_with_commas(path, option))
    return files


def _with_commas(text: str, option: str) -> list[Path]:
    """Return files with commas between them; a comma in the name of a file that exists is part of it."""
    pieces, files = text.split(","), []
    while pieces:
        ends = (end for end in range(len(pieces), 1, -1) if _exists(Path(",".join(pieces[:end]))))
        end = next(ends, 1)
        name = ",".join(pieces[:end])
        if not name:
            raise ConfigError(
                f"{option}: got {text!r}, expected files with one comma between them. Remove the others."
            )
        files.append(Path(name))
        pieces = pieces[end:]
    return files


def _exists(path: Path) -> bool:
    """Return whether there is such a file or folder, or one may be in an archive."""
    try:
        return path.exists() or any(parent.is_file() for parent in path.parents)
    except OSError:  # too long for a name
        return False
