"""Checks of what data loaders hand to the rooms' ``apply_...`` functions: NumPy arrays or torch tensors.

Nothing is broadcast, converted or guessed: features that don't fit would only show as a wrong score.
"""

import operator
from collections.abc import Sequence
from typing import Any

from shortcut_miner.errors import ArrayError


def check_array(name: str, values: Any, expected: Sequence[int | str], advice: str) -> None:
    """Raise ArrayError unless an array has a shape; a length may be given by its name, and is then free.

    >>> import numpy as np
    >>> check_array("features", np.zeros((3, 4)), ("regions", 5), "Correct them.")
    Traceback (most recent call last):
    shortcut_miner.errors.ArrayError: features: got shape (3, 4), expected regions x 5. Correct them.
    """
    words = " x ".join(str(one) for one in expected)
    shape = getattr(values, "shape", None)
    if shape is None:
        got = "none" if values is None else type(values).__name__
        raise ArrayError(f"{name}: got {got}, expected an array or tensor of {words}. {advice}")
    is_such = len(shape) == len(expected) and all(
        isinstance(length, str) or size == length for size, length in zip(shape, expected, strict=True)
    )
    if not is_such:
        raise ArrayError(f"{name}: got shape {tuple(shape)}, expected {words}. {advice}")


def check_same_type(name: str, values: Any, features: Any) -> None:
    """Raise ArrayError unless both are of one type: assigning would cut numbers off without a word."""
    got, expected = (str(getattr(one, "dtype", "")) for one in (values, features))
    if got != expected:
        raise ArrayError(
            f"{name}: got numbers of type {got}, expected {expected} as the features have. "
            "Convert one of them."
        )


def whole_number(name: str, value: Any) -> int:
    """Return a number that is whole, also one that pandas holds as a float; anything else is an ArrayError.

    >>> whole_number("region_index", 3.0)
    3
    """
    try:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, bool):
            return operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # torch: a tensor of several numbers
        pass
    raise ArrayError(f"{name}: got {value!r}, expected a whole number. Give a region's index.")


def region_number(name: str, value: Any, size: int) -> int:
    """Return a region's index among `size` regions; anything else is an ArrayError."""
    region = whole_number(name, value)
    if not 0 <= region < size:
        among = f"a region from 0 to {size - 1}" if size else "features of at least one region"
        raise ArrayError(
            f"{name}: got {region} for an image with {size} rows, expected {among}. "
            "Use the features of the detector that the build was given."
        )
    return region


def copy_of(features: Any) -> Any:
    """Return a copy; torch tensors have clone in place of copy."""
    return features.clone() if hasattr(features, "clone") else features.copy()
