"""Ctrl-C: a calm message and exit code 130, whatever the program is doing at that moment.

Python turns the signal into KeyboardInterrupt, which tidies up on its way out. But libraries that are being
imported turn it into ImportError or print a traceback, and some callbacks swallow it. So while something is
imported the process ends at once, and otherwise a timer ends it if tidying up takes too long.
"""

import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

EXIT_CODE = 130
MESSAGE = "interrupted: no half-written file is left under a final name. Run the command again."
_SECONDS_TO_TIDY_UP = 3.0
_SHOW_CURSOR = "\x1b[?25h"


def install() -> None:
    """Handle SIGINT like this in the running process."""
    signal.signal(signal.SIGINT, _handle)
    sys.unraisablehook = _without_interrupts
    threading.excepthook = _in_threads_without_interrupts


def say_interrupted() -> None:
    """Print the message, below what a progress display may have left."""
    cursor = f"\r{_SHOW_CURSOR}" if sys.stderr.isatty() else ""
    os.write(2, f"{cursor}{MESSAGE}\n".encode())


def _handle(number: int, frame: FrameType | None) -> None:
    if _is_importing(frame):
        _end()
    timer = threading.Timer(_SECONDS_TO_TIDY_UP, _end)
    timer.daemon = True
    timer.start()
    signal.signal(signal.SIGINT, _handle_again)
    raise KeyboardInterrupt


def _handle_again(number: int, frame: FrameType | None) -> None:
    _end()  # the user won't wait


def was_interrupted() -> bool:
    """Return whether Ctrl-C was pressed, whatever other error a library made of it."""
    return signal.getsignal(signal.SIGINT) is _handle_again


def _end() -> NoReturn:
    say_interrupted()
    os._exit(EXIT_CODE)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _without_interrupts(unraisable: "sys.UnraisableHookArgs") -> None:
    # What was interrupted half-way, such as a compiler's own memory, may fail while it is thrown away.
    if not (was_interrupted() or issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)


def _in_threads_without_interrupts(failed: threading.ExceptHookArgs) -> None:
    if not was_interrupted():
        threading.__excepthook__(failed)
