"""Running one command: the one place where errors become messages and exit codes."""

import contextlib
import contextvars
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from cyclopts.exceptions import CycloptsError, MissingArgumentError, UnusedCliTokensError

from shortcut_miner.cli.app import build_app
from shortcut_miner.cli.arguments import MissingOptionsError
from shortcut_miner.cli.console import tell
from shortcut_miner.cli.interrupt import say_interrupted, was_interrupted
from shortcut_miner.cli.options import BAD_INPUT, BUG, DONE, INTERRUPTED
from shortcut_miner.errors import MAX_MESSAGE, ShortcutMinerError, shortened, visible

# What the dynamic linker, Python, Rust, C++ and zstd say when a limit of the process is hit.
_LIMITS_HIT = re.compile(
    r"failed to map segment|can't start new thread|too ?many ?open ?files|cannot allocate memory|bad_alloc"
    r"|not enough memory"
    # The last: a thread that another failed before, of which alone the reason is told.
    r"|resource temporarily unavailable|kind: (WouldBlock|OutOfMemory)|previously been poisoned",
    re.IGNORECASE,
)


def run(tokens: Sequence[str]) -> int:
    """Run the command that `tokens` name and return its exit code. Never raises.

    Parameters
    ----------
    tokens : sequence of str
        The command line without the program's name.
    """
    _never_fail_on_letters()
    try:
        # In a context of its own: what one run is allowed to unpack, the next isn't.
        app = build_app(*tokens[:1])
        result = contextvars.copy_context().run(
            app, list(tokens), exit_on_error=False, print_error=False, result_action="return_value"
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else DONE
    except BrokenPipeError:
        _close_stdout()  # the reader has seen enough
        return DONE
    except SystemExit:
        return DONE  # Rich ends the program like this when the reader of a help page has seen enough
    except KeyboardInterrupt:
        say_interrupted()
        return INTERRUPTED
    except (ShortcutMinerError, CycloptsError, OSError, MemoryError) as error:
        _tell(shortened(visible(_in_words(error)), MAX_MESSAGE), "error")
        return BAD_INPUT
    except BaseException as error:  # Polars' panics are no Exception
        if was_interrupted():
            say_interrupted()
            return INTERRUPTED
        if lacking := _lacking(error):
            _tell(lacking, "error")
            return BAD_INPUT
        _tell(_bug_report(error))
        return BUG


def _in_words(error: Exception) -> str:
    if isinstance(error, UnusedCliTokensError):
        extra = " ".join(error.unused_tokens or ())
        return f"got {extra!r} too much, expected options only. {_see_help(error)}"
    if isinstance(error, MissingOptionsError):
        return f"{error.in_words()} {_see_help(error)}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.keyword or error.argument.name
        return f"{name}: got no value (missing), expected one. Give it after {name}. {_see_help(error)}"
    if isinstance(error, CycloptsError):
        return f"{str(error).rstrip()} {_see_help(error)}"
    if isinstance(error, MemoryError):
        return (
            "the memory is full: got more rows or rules than fit. Try --limit, a higher --min-count, a lower "
            "--max-antecedent, or a machine with more memory."
        )
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}got {error.strerror or error}. Check the path, its permissions and the disk."
    return str(error)


def _lacking(error: BaseException | None) -> str | None:
    """Return in words that a limit of the machine was hit, if a library says so in an error of its own."""
    while error is not None:
        if found := _LIMITS_HIT.search(str(error)):
            return (
                f"the limits of this process: got {found[0]!r}, expected room for the program's libraries, "
                "threads and files. Raise them (ulimit -v, ulimit -n, ulimit -u), or give fewer --threads."
            )
        error = error.__cause__ or error.__context__
    return None


def _see_help(error: CycloptsError) -> str:
    words = " ".join(error.command_chain or ())
    return f"See: shortcut-miner {words} --help".replace("  ", " ")


def _bug_report(error: BaseException) -> str:
    first_line = next(iter(str(error).splitlines()), "").rstrip(".")
    what = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    told = "".join(traceback.format_exception(error))
    try:
        handle, name = tempfile.mkstemp(prefix="shortcut-miner-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(told)
    except OSError:
        return f"bug in shortcut-miner: {what}. Please report it with this traceback.\n{told}"
    return f"bug in shortcut-miner: {what}. Please report it with the traceback in {Path(name)}."


def _tell(message: str, kind: str = "") -> None:
    with contextlib.suppress(OSError):
        tell(message, kind, "red")
    # What a failing command printed before must not fail again when the interpreter ends.
    try:
        sys.stdout.flush()
    except OSError:
        _close_stdout()


def _close_stdout() -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _never_fail_on_letters() -> None:
    """Write letters that the terminal's encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
