"""Drawing attribute swaps by name, without donors: for perfect-sight plans."""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

import numpy as np
from numba import njit

from shortcut_miner.diagnostics.swapmix.kernels_numba.draws import ATTRIBUTE, BY_ATTRIBUTE, Similar, Swaps
from shortcut_miner.diagnostics.swapmix.kernels_numba.numbers import below, distinct, word
from shortcut_miner.kernel_options import KERNEL, STEP
from shortcut_miner.kernel_pointers import pointers

_REPLACED, _PADDING = np.arange(2)  # numbers of random words, as int64


def draw_attributes(
    pairs: np.ndarray,
    keys: np.ndarray,
    first_rows: np.ndarray,
    own_start: np.ndarray,
    own: np.ndarray,
    similar: Similar,
    k: int,
    pads: bool,
    count: int,
    rows: Swaps,
) -> np.ndarray:
    """Fill `rows` with attribute swaps by name: one attribute of each object, and what takes its place.

    own_start, own: each object's attributes; similar: of each attribute; count: attributes in all.
    ``rows.donor`` takes the attribute to replace and ``rows.to_class`` the new one. Returns rows per pair.
    """
    lists = np.empty((3, max(k, count) + 1), np.int64)
    filled = np.zeros(len(pairs), np.int64)
    fill_attributes(pairs, keys, first_rows, own_start, own, similar, k, pads, count, *lists, filled, rows)
    return filled


@njit(**KERNEL)
def fill_attributes(
    pairs, keys, first_rows, own_start, own, similar, k, pads, count, chosen, moved, values, filled, rows
):
    """Fill the rows of each pair, and how many these are."""
    moved, values = pointers((moved, values))  # as in draws.py: `distinct` is compiled once
    for pair in range(len(pairs)):
        low, high = own_start[pairs[pair]], own_start[pairs[pair] + 1]
        if low == high:
            continue
        key = word(keys[pair], ATTRIBUTE)
        replaced = own[low + below(key, _REPLACED, high - low)]
        found = np.int64(0)  # of a literal's type, `_is_new` would be compiled twice
        for at in range(similar.start[replaced], similar.start[replaced + 1]):
            if found < k and _is_new(similar.ids[at], own, low, high):
                chosen[found] = similar.ids[at]
                found += 1
        total = found
        if pads:
            padding_key = word(key, _PADDING)
            for draw in range(count):
                if total == k:
                    break
                drawn = distinct(padding_key, draw, count, moved, values)
                if _is_new(drawn, own, low, high) and _is_new(drawn, chosen, np.int64(0), found):
                    chosen[total] = drawn
                    total += 1
        filled[pair] = total
        for slot in range(total):
            at = first_rows[pair] + slot
            rows.pair[at] = pair
            rows.kind[at] = BY_ATTRIBUTE
            rows.number[at] = slot + 1
            rows.to_class[at] = chosen[slot]
            rows.donor[at] = replaced
            rows.is_padding[at] = slot >= found


@njit(**STEP)
def _is_new(one, others, low, high):
    is_new = True
    for at in range(low, high):
        is_new &= others[at] != one
    return is_new
