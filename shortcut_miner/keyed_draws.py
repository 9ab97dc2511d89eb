"""Random numbers that depend on (seed, kind, id, draw number) and on nothing else.

Row order, shards and threads therefore give every row the same draw. Each distinct id is hashed once with
BLAKE2b; further draws for it come from SplitMix64's mixing function over whole arrays.
"""

import hashlib

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

Words = NDArray[np.uint64]

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53


def id_keys(ids: pl.Series, seed: int, kind: str) -> Words:
    """Return one 64-bit key for each id.

    Parameters
    ----------
    ids : pl.Series
        String, without nulls; a repeated id has one key and is hashed once.
    seed : int
        Of the run.
    kind : str
        What is drawn: draws of two kinds for one id are independent.

    Returns
    -------
    ndarray of uint64
        In the order of `ids`.

    Examples
    --------
    >>> keys = id_keys(pl.Series(["7", "8", "7"]), 0, "coin")
    >>> keys[0] == keys[2], keys[0] == keys[1]
    (np.True_, np.False_)
    """
    distinct = ids.unique()
    # The length of `kind` keeps ("a", "bc") and ("ab", "c") apart.
    prefix = hashlib.blake2b(f"{seed}/{len(kind)}/{kind}/".encode(), digest_size=8)
    digests = bytearray()
    for one in distinct.to_list():
        state = prefix.copy()
        state.update(one.encode())
        digests += state.digest()
    keys = np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
    if len(distinct) == len(ids) and distinct.equals(ids):
        return keys
    table = pl.DataFrame({"id": distinct, "key": keys}, schema={"id": pl.String, "key": pl.UInt64})
    asked = ids.rename("id").to_frame()
    joined = asked.join(table, on="id", how="left", validate="m:1", maintain_order="left")
    return joined["key"].to_numpy().astype(np.uint64)


def draw_words(keys: Words, draw: ArrayLike) -> Words:
    """Return the `draw`-th random 64-bit word of each key.

    Parameters
    ----------
    keys : ndarray of uint64
        From :func:`id_keys`.
    draw : int or array of int
        Number of the draw, from 0; broadcast against `keys`.

    Notes
    -----
    SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): the
    word number `draw` of the sequence that starts at the key.
    """
    steps = np.asarray(draw, dtype=np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        z = keys + _GOLDEN_GAMMA * steps
        z = (z ^ (z >> np.uint64(30))) * _MIX_1
        z = (z ^ (z >> np.uint64(27))) * _MIX_2
    words: Words = z ^ (z >> np.uint64(31))
    return words


def draw_uniform(keys: Words, draw: ArrayLike) -> NDArray[np.float64]:
    """Return the `draw`-th random number in [0, 1) of each key, a multiple of 2**-53.

    Examples
    --------
    >>> keys = id_keys(pl.Series(["7", "8"]), 0, "coin")
    >>> u = draw_uniform(keys, 0)
    >>> bool(((u >= 0) & (u < 1)).all())
    True
    """
    words = draw_words(keys, draw) >> np.uint64(11)
    uniform: NDArray[np.float64] = words.astype(np.float64) * _TO_UNIT
    return uniform


def draw_below(keys: Words, draw: ArrayLike, bounds: ArrayLike) -> NDArray[np.int64]:
    """Return the `draw`-th random whole number from 0 to ``bounds - 1`` of each key.

    Parameters
    ----------
    keys, draw
        See :func:`draw_words`.
    bounds : int or array of int
        At least 1 and at most 2**52; the bias is below ``bounds / 2**53``.

    Examples
    --------
    >>> keys = id_keys(pl.Series([str(n) for n in range(1000)]), 0, "die")
    >>> sorted(set(draw_below(keys, 0, 6).tolist()))
    [0, 1, 2, 3, 4, 5]
    """
    limits = np.asarray(bounds, dtype=np.int64)
    drawn = np.floor(draw_uniform(keys, draw) * limits).astype(np.int64)
    below: NDArray[np.int64] = np.minimum(drawn, limits - 1)
    return below
