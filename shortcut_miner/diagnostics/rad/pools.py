"""Pools of answers, and the draw: yes or no, and for no the answer to ask with.

Rosenberg et al. (ACL 2021), section 2.2: yes or no with probability one half each; a "no" takes its answer
from the answers of the original questions of the same type, weighted by how often they were given.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.rad.balanced import (
    balanced_positions,
    check_balance,
    find_balance,
    says_yes,
)
from shortcut_miner.diagnostics.rad.config import TYPES, PoolBy, RadConfig
from shortcut_miner.diagnostics.rad.exclusions import excluded_answers
from shortcut_miner.errors import SchemaError, problem_list
from shortcut_miner.keyed_draws import draw_below, draw_uniform, id_keys

NO_OTHER_ANSWER = "no other answer to draw"
POOL_SCHEMA = {"augmentation": pl.String, "pool": pl.String, "substitute": pl.String, "count": pl.UInt32}
_COIN, _CHOICE = 0, 1  # numbers of the first draws for one question; the next ones follow

Ints = NDArray[np.int64]


def answer_pools(eligible: pl.DataFrame, pool_by: PoolBy = "type") -> pl.DataFrame:
    """Return how often each answer was given to the eligible originals.

    Parameters
    ----------
    eligible : pl.DataFrame
        See :class:`.sources.Sources`.
    pool_by : {"type", "subject"}
        One pool a type; or what-kind answers by subject.

    Returns
    -------
    pl.DataFrame
        augmentation, pool, substitute String; count UInt32. Sorted.
    """
    keys = ("augmentation", "pool")
    return (
        eligible.select("augmentation", pool=_pool(pool_by), substitute="substance")
        .group_by(*keys, "substitute")
        .agg(count=pl.len().cast(pl.UInt32))
        .sort(*keys, "substitute")
    )


def _pool(pool_by: PoolBy) -> pl.Expr:
    kind = pl.col("augmentation")
    if pool_by == "type":
        return kind
    by_subject = pl.format("what-kind/{}", pl.col("subject").str.to_lowercase())
    return pl.when(kind == "what-kind").then(by_subject).otherwise(kind)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn.

    Attributes
    ----------
    rows : pl.DataFrame
        The eligible rows with substitute (the answer to ask with), drawn_answer ("yes" or "no") and draw: the
        number of the draw, from 1.
    skipped : pl.DataFrame
        question_id, augmentation, reason: rows that have no answer to draw.
    balance : pl.DataFrame or None
        Of a balanced draw: what the draw of each row needs of all, see :func:`.balanced.find_balance`.
    """

    rows: pl.DataFrame
    skipped: pl.DataFrame
    balance: pl.DataFrame | None = None


def draw_answers(
    eligible: pl.DataFrame, pools: pl.DataFrame, config: RadConfig, balance: pl.DataFrame | None = None
) -> Drawn:
    """Return eligible rows with the drawn answers.

    Parameters
    ----------
    eligible : pl.DataFrame
        See :class:`.sources.Sources`.
    pools : pl.DataFrame
        See :func:`answer_pools`. A shard that is given the pools of all shards draws what the whole would.
    config : RadConfig
        ``draw``, ``seed``, ``pool_by``, ``exclude_annotators``, ``per_question``.
    balance : pl.DataFrame, optional
        That of all shards, for a balanced draw; default: that of `eligible`.
    """
    check_pools(pools)
    pools = pools.sort("augmentation", "pool", "substitute").with_row_index("position")
    rows = eligible.with_columns(pool=_pool(config.pool_by)).with_row_index("row")
    excluded = excluded_answers(
        rows,
        pools,
        exclude_annotators=config.exclude_annotators,
        exclude_doubtful=bool(config.exclude_doubtful),
        exclude_properties=config.mends_slips,
    )
    weights = pools["count"].to_numpy().astype(np.int64)
    first, total = _pool_bounds(rows, pools)
    lost = np.zeros(len(rows), np.int64)
    np.add.at(lost, excluded["row"].to_numpy(), weights[excluded["position"].to_numpy()])
    can_be_no = total > lost
    keys = _row_keys(rows, config.seed)
    coins, uniforms = ([draw_uniform(keys, 2 * at + one) for at in range(config.per_question)]
                       for one in (_COIN, _CHOICE))  # fmt: skip
    if config.draw == "balanced":
        if balance is None:
            known = [np.where(can_be_no, coin, np.nan) for coin in coins]
            balance = find_balance(rows, pools, excluded, keys, known)
        check_balance(balance)
        yes = says_yes(rows, balance, coins)
        positions = balanced_positions(rows, pools, excluded, balance, uniforms)
    else:
        yes = [coin < 0.5 for coin in coins]
        ends = np.cumsum(weights)
        bounds = np.maximum(total - lost, 1)
        positions = [
            _positions(
                first + draw_below(keys, 2 * at + _CHOICE, bounds), excluded, ends - weights, weights, ends
            )
            for at in range(config.per_question)
        ]
    drawn = pl.concat(
        _with_answers(rows, pools, is_yes, position).with_columns(draw=pl.lit(at, pl.UInt32))
        for at, (is_yes, position) in enumerate(zip(yes, positions, strict=True), start=1)
    )
    keep = pl.Series(can_be_no)
    skipped = rows.filter(~keep).select("question_id", "augmentation", reason=pl.lit(NO_OTHER_ANSWER))
    kept = drawn.filter(pl.Series(np.tile(can_be_no, config.per_question)))
    return Drawn(kept.drop("row", "pool"), skipped, balance)


def _with_answers(
    rows: pl.DataFrame, pools: pl.DataFrame, is_yes: NDArray[np.bool_], position: Ints
) -> pl.DataFrame:
    at = pl.Series(position.astype(np.uint32))
    other = pools["substitute"].gather(at) if len(pools) else rows["substance"]
    return rows.with_columns(
        substitute=pl.when(pl.Series(is_yes)).then("substance").otherwise(other),
        drawn_answer=pl.when(pl.Series(is_yes)).then(pl.lit("yes")).otherwise(pl.lit("no")),
    )


def check_pools(pools: pl.DataFrame, name: str = "pools") -> None:
    """Raise SchemaError unless a table of pools has the columns that :func:`answer_pools` gives."""
    problems = [
        f"column {column}: got {pools.schema.get(column, 'no such column')}, expected {dtype}"
        for column, dtype in POOL_SCHEMA.items()
        if pools.schema.get(column) != dtype
    ]
    if not problems and pools.null_count().sum_horizontal().item():
        problems = ["nulls"]
    if not problems and pools.select("pool", "substitute").is_duplicated().any():
        problems = ["an answer twice in one pool"]
    if problems:
        title = f"{name}: got the problems below, expected the pools.parquet of a build. Give that file."
        raise SchemaError(problem_list(title, problems))


def _row_keys(rows: pl.DataFrame, seed: int) -> NDArray[np.uint64]:
    """Return each row's key, by seed, type and question id."""
    keys = np.zeros(len(rows), np.uint64)
    for kind in TYPES:
        is_kind = (rows["augmentation"] == kind).to_numpy()
        if is_kind.any():
            keys[is_kind] = id_keys(rows["question_id"].filter(pl.Series(is_kind)), seed, f"rad {kind}")
    return keys


def _pool_bounds(rows: pl.DataFrame, pools: pl.DataFrame) -> tuple[Ints, Ints]:
    """Return each row's pool as its first place among all weights, and its weight."""
    sizes = (
        pools.group_by("pool", maintain_order=True)
        .agg(total=pl.col("count").cast(pl.Int64).sum())
        .with_columns(first=pl.col("total").cum_sum() - pl.col("total"))
    )
    placed = rows.select("pool").join(sizes, on="pool", how="left", validate="m:1", maintain_order="left")
    first, total = (placed[name].fill_null(0).to_numpy().astype(np.int64) for name in ("first", "total"))
    return first, total


def _positions(place: Ints, excluded: pl.DataFrame, starts: Ints, weights: Ints, ends: Ints) -> Ints:
    """Return the pool position of each row's place once its excluded answers are cut out.

    The k-th excluded answer of every row (in order of position) is skipped at once: a place at or behind its
    start moves on by its weight.
    """
    row, position = (excluded[name].to_numpy().astype(np.int64) for name in ("row", "position"))
    counts = np.bincount(row, minlength=len(place)) if len(place) else np.zeros(0, np.int64)
    first = np.cumsum(counts) - counts
    for k in range(int(counts.max(initial=0))):
        has = np.flatnonzero(counts > k)
        cut = position[first[has] + k]
        moved = place[has] >= starts[cut]
        place[has[moved]] += weights[cut[moved]]
    return np.minimum(np.searchsorted(ends, place, side="right"), max(len(ends) - 1, 0))
