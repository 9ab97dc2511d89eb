"""Random numbers of a key, one at a time: :mod:`shortcut_miner.keyed_draws` inside compiled loops."""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import STEP


@njit(**STEP)
def word(key, draw):
    """Return random word number `draw` of a key."""
    z = key + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(draw) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**STEP)
def uniform(key, draw):
    """Return random number `draw` of a key, in [0, 1)."""
    return np.float64(word(key, draw) >> np.uint64(11)) * 2.0**-53


@njit(**STEP)
def below(key, draw, bound):
    """Return random whole number `draw` of a key, from 0 to ``bound - 1``."""
    drawn, last = np.int64(np.floor(uniform(key, draw) * bound)), bound - 1
    return last if last < drawn else drawn


@njit(**STEP)
def distinct(key, draw, count, moved, values):
    """Return draw number `draw` without replacement from 0..count-1; later draws don't change it.

    Fisher and Yates' shuffle that stores only the places that differ from the start: after `draw` draws
    these are ``moved[:draw] -> values[:draw]``, which this function extends.
    """
    at = draw + below(key, draw, count - draw)
    place, here = draw, draw
    for n in range(draw):
        if moved[n] == at:
            place = n
        if moved[n] == draw:
            here = values[n]
    taken = at
    if place < draw:
        taken = values[place]
        moved[draw], values[draw] = -1, -1
    else:
        moved[draw] = at
    values[place] = here
    return taken
