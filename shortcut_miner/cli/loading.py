"""Loading libraries, most of what a small build takes."""

import contextlib
import gc
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Load libraries in less time: without looking for garbage, which they don't leave, and without pydantic.

    dataframely loads that too where it is installed, and nothing here uses it there.
    """
    gc.disable()
    try:
        with left_out("pydantic"):
            yield
    finally:
        gc.freeze()  # what libraries define stays
        gc.enable()


@contextlib.contextmanager
def left_out(name: str) -> Iterator[None]:
    """Let what is loaded meanwhile take a module for not installed, unless it is loaded already."""
    is_loaded = name in sys.modules
    if not is_loaded:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if not is_loaded and sys.modules.get(name) is None:
            sys.modules.pop(name, None)
