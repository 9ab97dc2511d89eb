"""What the rooms' ``build`` and ``score`` commands share: where they write, what they print, how they end."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shortcut_miner.cli.console import note, print_fields, print_json, progress, warn
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.options import DONE, INCOMPLETE, Shown
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import BackendName

if TYPE_CHECKING:
    from shortcut_miner.datasets.reports import BuildReport, ScoreReport
    from shortcut_miner.timing import OnStage


class Report(Protocol):
    """What a command that writes a folder tells of it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be wrong."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether nothing is lacking."""
        ...


_Built = TypeVar("_Built", bound=Report)
_Scored = TypeVar("_Scored", bound="ScoreReport")


@contextlib.contextmanager
def target_folder(out: Path | None, *, dry_run: bool) -> Iterator[Path | None]:
    """Give the folder to write, kept from other runs; none in a dry run, which checks it all the same."""
    from shortcut_miner.claims import check_place, claimed
    from shortcut_miner.dry_runs import rehearsed

    if out is not None:
        check_place(out)
    target = None if dry_run else out
    with claimed(target), rehearsed(out if dry_run else None):
        yield target


def run_build(
    work: "Callable[[Path | None, OnStage | None], _Built]",
    *,
    out: Path | None,
    dry_run: bool,
    shown: Shown,
    show: Callable[[_Built, Shown, float], None],
    needs_out: bool = True,
    kernels: Sequence[str] | None = None,
    backend: BackendName | None = None,
) -> int:
    """Run what writes a folder, and print what it did.

    Parameters
    ----------
    work : callable
        Takes the folder to write (None: nothing is written) and what is told of stages.
    out, dry_run, shown
        The command's options.
    show : callable
        Prints the report, given how and the seconds it took; see :func:`show_words`.
    needs_out : bool
        Whether there must be a folder: not for a command whose result is what it prints.
    kernels : sequence of str, optional
        Kernel files that the work needs; all of them for an empty sequence, none by default.
    backend : str, optional
        The backend that the work was told to use; of "auto" the user is told what it was, and why.
    """
    if out is None and not dry_run and needs_out:
        raise ConfigError("--out: got none, expected a folder. Give --out, or --dry-run to write nothing.")
    started = time.perf_counter()
    with (
        target_folder(out, dry_run=dry_run) as target,
        progress(shown) as told,
        watched(shown, told, kernels) as compiling,
    ):
        report = work(target, told and compiling.on_stage)
    for text in report.notes:
        note(shown, f"note: {text}")
    for text in report.warnings:
        warn(text)
    if backend == "auto":
        from shortcut_miner.mining.backends import choose_backend

        note(shown, str(choose_backend(backend)))
    show(report, shown, time.perf_counter() - started)
    if compiling.seconds >= 0.5:
        note(shown, f"of that, {compiling.seconds:.1f} s to compile kernels, which later runs need not")
    return DONE if report.is_complete else INCOMPLETE


def show_words(report: "BuildReport", shown: Shown, wall_seconds: float) -> None:
    """Print what was read and found, where it lies and how long it took."""
    if shown.format == "json":
        print_json(report.as_dict(wall_seconds))
    else:
        print_fields(report.in_words(wall_seconds))


def run_score(
    work: "Callable[[Path | None, OnStage | None], _Scored]",
    *,
    folder: Path | None,
    out: Path | None,
    dry_run: bool,
    shown: Shown,
    document: Callable[[_Scored], dict[str, Any]],
    show: Callable[[_Scored], None],
    kernels: Sequence[str] | None = None,
) -> int:
    """Run a score and print what it found.

    Parameters
    ----------
    work, out, dry_run, shown, kernels
        As for :func:`run_build`.
    folder : Path or None
        The build's, which is no place for scores.
    document, show : callable
        What to print as JSON, and how to print tables.
    """
    if out is not None and folder is not None and os.path.realpath(out) == os.path.realpath(folder):
        raise ConfigError(f"--out {out}: got the build's own folder, expected another. Choose another name.")
    with (
        target_folder(out, dry_run=dry_run) as target,
        progress(shown) as told,
        watched(shown, told, kernels) as compiling,
    ):
        if told is not None:
            compiling.on_stage("score")
        report = work(target, told and compiling.on_stage)
    for text in report.notes:
        note(shown, f"note: {text}")
    for reason, count in report.dropped.items():
        note(shown, f"left out: {count:,} x {reason}")
    for text in report.warnings:
        warn(text)
    if shown.format == "json":
        print_json(document(report) | {"dropped": report.dropped, "warnings": report.warnings})
    else:
        show(report)
    return DONE if report.is_complete else INCOMPLETE
