"""A short list of slices to read: each adds the most of what goes wrong that those before it leave open."""

import heapq

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.slices.config import SlicesConfig
from shortcut_miner.diagnostics.slices.mined import Ints, Numbers, RowBits
from shortcut_miner.transactions import Transactions

MOST = 100  # slices
_SCHEMA = {"rank": pl.UInt32, "slice_id": pl.UInt32, "new_outcome": pl.Int64, "explained": pl.Float64}


def cover(
    slices: pl.DataFrame, lists: Numbers, rows: Transactions, outcome: Ints, config: SlicesConfig
) -> pl.DataFrame:
    """Return schemas.SliceCover: significant slices that are worse and not redundant, chosen greedily.

    The next one is the slice that adds the largest outcome of rows that none before it holds; of equal ones
    that of the larger divergence, then of fewer items, then the first by its items. What goes wrong less
    than on average is not counted against a slice: of a regression only rows that got worse count.

    Parameters
    ----------
    slices : pl.DataFrame
        schemas.Slices.
    lists : int32[slices, most items]
        Their items as numbers of the vocabulary, then -1.
    rows, outcome
        The rows that were searched.
    """
    is_open = (slices["q_value"] <= config.max_q) & ~slices["is_redundant"] & (slices["divergence"] > 0)
    chosen = np.flatnonzero(is_open.fill_null(False).to_numpy())
    loss = np.maximum(outcome, 0)
    total = int(loss.sum())
    if not len(chosen):
        return pl.DataFrame(schema=_SCHEMA)
    words = RowBits.of(loss)
    lines, bits = words.lines_of(rows, lists[chosen])
    left = words.whole.copy()
    # Gains only shrink: what a slice added before is a bound of what it adds now.
    gains = words.sums(lines, bits, left)[:, 1]
    waiting = [
        (-int(gain), rank, int(at))
        for gain, rank, at in zip(gains, _ranks(slices, chosen), range(len(chosen)), strict=True)
    ]
    heapq.heapify(waiting)
    found, explained = list[tuple[int, int, int, float]](), 0
    while waiting and len(found) < MOST:
        bound, rank, at = heapq.heappop(waiting)
        gain = int(words.sums(lines[at : at + 1], bits, left)[0, 1])
        if gain < -bound:
            heapq.heappush(waiting, (-gain, rank, at))
            continue
        if not gain:
            break
        explained += gain
        found.append((len(found), int(slices["slice_id"][int(chosen[at])]), gain, explained / total))
        items = lines[at]
        left &= ~np.bitwise_and.reduce(bits[items[items >= 0]], axis=0)
    return pl.DataFrame(found, schema=_SCHEMA, orient="row")


def _ranks(slices: pl.DataFrame, chosen: Ints) -> list[int]:
    """Return each slice's place by divergence, number of items, and items."""
    table = (
        slices[chosen].select("divergence", "length", "words", "objects", "attributes").with_row_index("at")
    )
    texts = [pl.col(name).list.join("\x00") for name in ("words", "objects", "attributes")]
    ordered = table.with_columns(texts).sort(
        "divergence", "length", "words", "objects", "attributes",
        descending=[True, False, False, False, False],
    )  # fmt: skip
    ranks = np.empty(len(chosen), np.int64)
    ranks[ordered["at"].to_numpy()] = np.arange(len(chosen))
    return [int(one) for one in ranks]
