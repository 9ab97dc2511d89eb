"""Two independent 64-bit hashes of each row, a column at a time, and their sums over all rows.

Both take a word w into their state h as ``h = (h ^ w) * odd constant`` or ``h = (h + w) * another``, with a
shift of the high bits into the low ones; a row's states end in the finalizer of MurmurHash3.
"""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP

# Odd, with bits all over: the fractions of the golden ratio, e and pi.
_TIMES_A, _TIMES_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xB7E151628AED2A6B)
_LANE_B = np.uint64(0x243F6A8885A308D3)
_FINAL_1, _FINAL_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT_A, _SHIFT_B, _SHIFT_FINAL = np.uint64(32), np.uint64(29), np.uint64(33)
_WORD, _NONE = np.uint64(64), np.uint64(0)
_NULL = np.uint64(0xFFFFFFFFFFFFFFFF)  # no length, and told from a number by what stands before that
_GIVEN = np.uint64(1)


@njit(**STEP)
def _take(a, b, word_a, word_b):
    """Return the states with a word each taken in."""
    a = (a ^ word_a) * _TIMES_A
    b = (b + word_b) * _TIMES_B
    return a ^ (a >> _SHIFT_A), b ^ (b >> _SHIFT_B)


@njit(**KERNEL)
def take_texts(words, offsets, valid, a, b):
    """Take texts into the states of their rows: bytes ``offsets[r]:offsets[r + 1]`` of `words`.

    `words` is the bytes as little-endian 64-bit words, with one more after the last.
    """
    for row in range(len(valid)):
        if not valid[row]:
            a[row], b[row] = _take(a[row], b[row], _NULL, _NULL)
            continue
        begin, end = offsets[row], offsets[row + 1]
        length = np.uint64(end - begin)
        one, two = _take(a[row], b[row], length, length)
        shift = np.uint64((begin & 7) * 8)
        at = begin >> 3
        while begin < end:
            word = words[at] >> shift
            if shift != _NONE:
                word |= words[at + 1] << (_WORD - shift)
            if end - begin < 8:
                word &= (_GIVEN << np.uint64((end - begin) * 8)) - _GIVEN
            one, two = _take(one, two, word, word)
            begin += 8
            at += 1
        a[row], b[row] = one, two


@njit(**KERNEL)
def take_numbers(bits, valid, a, b):
    """Take numbers, as the bits of 64-bit words, into the states of their rows."""
    for row in range(len(valid)):
        if valid[row]:
            one, two = _take(a[row], b[row], _GIVEN, _GIVEN)
            a[row], b[row] = _take(one, two, bits[row], bits[row])
        else:
            a[row], b[row] = _take(a[row], b[row], _NULL, _NULL)


@njit(**KERNEL)
def take_lists(offsets, valid, inner_a, inner_b, a, b):
    """Take lists into the states of their rows, given the states of their elements.

    ``offsets[r]:offsets[r + 1]`` are a row's elements.
    """
    for row in range(len(valid)):
        if not valid[row]:
            a[row], b[row] = _take(a[row], b[row], _NULL, _NULL)
            continue
        length = np.uint64(offsets[row + 1] - offsets[row])
        one, two = _take(a[row], b[row], length, length)
        for at in range(offsets[row], offsets[row + 1]):
            one, two = _take(one, two, inner_a[at], inner_b[at])
        a[row], b[row] = one, two


@njit(**STEP)
def _final(state):
    state = (state ^ (state >> _SHIFT_FINAL)) * _FINAL_1
    state = (state ^ (state >> _SHIFT_FINAL)) * _FINAL_2
    return state ^ (state >> _SHIFT_FINAL)


@njit(**KERNEL)
def sum_states(a, b):
    """Return the sums, modulo 2**64, of the finished states of all rows."""
    total_a, total_b = _NONE, _NONE
    for row in range(len(a)):
        total_a += _final(a[row])
        total_b += _final(b[row] ^ _LANE_B)
    return total_a, total_b
