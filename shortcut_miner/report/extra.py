"""The libraries of the extra ``report``, loaded when they are needed."""

from importlib import import_module
from typing import Any

from shortcut_miner.errors import missing_library

LIBRARIES = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python", "PIL.Image": "pillow"}


def needs(module: str) -> Any:
    """Return a library of the extra.

    Raises
    ------
    BackendError
        It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_library("report", LIBRARIES[module], "report") from error


def check_libraries() -> None:
    """Raise BackendError now, not after the work, if a library is not installed."""
    for module in LIBRARIES:
        needs(module)
