"""Loading libraries, most of what a small build takes."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Look for no garbage while libraries are loaded: they leave none, and it takes a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what libraries define stays
        gc.enable()
