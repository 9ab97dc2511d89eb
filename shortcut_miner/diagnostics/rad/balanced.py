"""The balanced draw: "no" asks what "yes" asks, as often, and what fits the subject as well.

The paper's rule gives the label away. "Yes" asks the answer that this subject has, "no" one from a pool of
all answers: whoever knows which answers go with which words tells them apart without the image. Here the "no"
answers of a type are drawn so that, in expectation, each answer is asked for as often by the rows that say no
as by those that say yes: of all questions, and of those about each frequent noun. So is each degree to which
an answer fits the question's words; and as many rows say yes as no.

What the draw of a row needs of all others is one table, the balance: a shard that is given the whole's draws
as the whole does.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.rad.fits import (
    DEGREES,
    NAMED,
    Floats,
    Ints,
    Told,
    degrees_of_fit,
    head_noun,
)
from shortcut_miner.diagnostics.rad.raking import Bools, Factors, balanced_factors, places_in
from shortcut_miner.errors import SchemaError, examples, problem_list

# From how many rows on a head noun's answers are balanced on their own.
FREQUENT = 20
# Rows x answers that factors are found on; where there are more, on as many rows, drawn by their keys.
MOST_CELLS = 2**24
BALANCE_SCHEMA = {
    "augmentation": pl.String, "measure": pl.String, "name": pl.String, "pool": pl.String,
    "substitute": pl.String, "weight": pl.Float64,
}  # fmt: skip
_FITS, _OF_NOUN = ("fit of subject", "fit of words"), "answer of noun"
_BLOCK = 2**20


def find_balance(
    rows: pl.DataFrame,
    pools: pl.DataFrame,
    excluded: pl.DataFrame,
    keys: NDArray[np.uint64],
    coins: Sequence[Floats],
) -> pl.DataFrame:
    """Return what the draw of any of these rows needs of all of them.

    Parameters
    ----------
    rows : pl.DataFrame
        row (its number), question_id, augmentation, pool, subject, substance.
    pools : pl.DataFrame
        augmentation, pool, substitute, position, count: the answers of exactly these rows.
    excluded : pl.DataFrame
        row, position: what rows must not be asked with; sorted.
    keys : ndarray of uint64
        Of each row: which rows factors are found on, where they are too many.
    coins : sequence of ndarray of float64
        A number in [0, 1) for each row, for each draw; rows that can't be asked with anything have NaN.

    Returns
    -------
    pl.DataFrame
        :data:`BALANCE_SCHEMA`. Of each type and measure: "answer", "answer of noun", "fit of subject" and
        "fit of words" are factors; "subject", "noun", "word" how often an answer goes with the name; "coin"
        below what a row says yes, for each draw. Sorted.
    """
    parts = [pl.DataFrame(schema=BALANCE_SCHEMA)]
    for (kind,), part in rows.sort("question_id").group_by("augmentation", maintain_order=True):
        one = _Type.of(str(kind), part, pools, excluded)
        told = Told.of(one.own, len(one.answers), one.subjects)
        can = ~np.isnan(coins[0][one.rows])
        most = max(MOST_CELLS // max(len(one.answers), 1), 1)
        usable = np.flatnonzero(can)
        chosen = np.sort(usable[np.argsort(keys[one.rows[usable]], kind="stable")[:most]])
        degrees = degrees_of_fit(told, one.own[chosen], [one.subjects[at] for at in chosen])
        middles = [_middle(coin[one.rows[can]]) for coin in coins]
        yes = np.sum([coin[one.rows] < middle for coin, middle in zip(coins, middles, strict=True)], axis=0)
        said = yes[chosen].astype(np.float64), len(coins) - yes[chosen].astype(np.float64)
        wanted = np.bincount(one.own[can], yes[can], minlength=len(one.answers))
        nouns = _frequent_nouns(one.subjects)
        factors = balanced_factors(
            one.own[chosen], one.allowed(chosen), degrees, _noun_numbers(one.subjects, nouns)[chosen],
            told.counts, said, wanted.astype(np.float64) if yes.any() else None,
        )  # fmt: skip
        parts.append(_written(str(kind), one.answers, told, factors, nouns, middles))
    return pl.concat(parts).sort("augmentation", "measure", "name", "pool", "substitute")


def _frequent_nouns(subjects: Sequence[str]) -> list[str]:
    counts = Counter(head_noun(one) for one in subjects)
    return sorted(noun for noun, count in counts.items() if count >= FREQUENT)


def _noun_numbers(subjects: Sequence[str], nouns: Sequence[str]) -> Ints:
    """Return each subject's head noun as its number among frequent ones, from 1; 0: it is none of them."""
    numbers = {noun: at for at, noun in enumerate(nouns, start=1)}
    return np.array([numbers.get(head_noun(one), 0) for one in subjects], np.int64)


def _middle(coin: Floats) -> float:
    """Return the number that as many numbers are below as are not."""
    return float(np.sort(coin)[len(coin) // 2]) if len(coin) else 0.5


def says_yes(rows: pl.DataFrame, balance: pl.DataFrame, coins: Sequence[Floats]) -> list[Bools]:
    """Return which rows say yes, for each draw: as many of the whole as say no.

    Parameters
    ----------
    rows : pl.DataFrame
        augmentation.
    balance : pl.DataFrame
        See :func:`find_balance`.
    coins : sequence of ndarray of float64
        A number in [0, 1) for each row, for each draw.

    Raises
    ------
    SchemaError
        A balance of fewer draws.
    """
    told = balance.filter(pl.col("measure") == "coin")
    found = []
    for draw, coin in enumerate(coins):
        middles = told.filter(pl.col("name") == str(draw)).select("augmentation", "weight")
        middle = rows.select("augmentation").join(
            middles, on="augmentation", how="left", validate="m:1", maintain_order="left"
        )["weight"]
        if middle.null_count():
            raise SchemaError(
                _other(f"{told['name'].n_unique():,} draws of a question and not {len(coins):,}")
            )
        found.append(coin < middle.to_numpy())
    return found


def balanced_positions(
    rows: pl.DataFrame,
    pools: pl.DataFrame,
    excluded: pl.DataFrame,
    balance: pl.DataFrame,
    uniforms: Sequence[Floats],
) -> list[Ints]:
    """Return the position in the pools of each row's "no" answer, for each of several draws.

    Parameters
    ----------
    rows, pools, excluded
        See :func:`find_balance`; some of the whole's rows and its pools are enough.
    balance : pl.DataFrame
        What :func:`find_balance` gives for the whole.
    uniforms : sequence of ndarray of float64
        A number in [0, 1) for each row, for each draw.

    Raises
    ------
    SchemaError
        A balance that knows nothing of these rows.
    """
    found = [np.zeros(len(rows), np.int64) for _ in uniforms]
    for (kind,), part in rows.group_by("augmentation", maintain_order=True):
        one = _Type.of(str(kind), part, pools, excluded)
        told, factors, nouns = _read(str(kind), one, balance)
        noun = _noun_numbers(one.subjects, nouns)
        step = max(_BLOCK // max(len(one.answers), 1), 1)
        for first in range(0, len(part), step):
            chosen = np.arange(first, min(first + step, len(part)))
            degrees = degrees_of_fit(told, one.own[chosen], one.subjects[first : first + step])
            weights = factors.weights(told.counts, one.allowed(chosen), degrees, noun[chosen])
            at = one.rows[chosen]
            for positions, uniform in zip(found, uniforms, strict=True):
                positions[at] = one.first + places_in(weights, uniform[at])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Type:
    """Rows of one type, and the answers that they draw from.

    Attributes
    ----------
    rows, own : ndarray of int64
        Each row's number among all, and its own answer's column.
    pools : ndarray
        Each row's pool.
    subjects : list of str
    answers : pl.DataFrame
        pool, substitute, count: a column each.
    first : int
        The first column's position in the pools.
    lost, starts : ndarray of int64
        Columns that rows must not be asked with, one row's after another's; where those of each row start.
    """

    rows: Ints
    own: Ints
    pools: NDArray[np.object_]
    subjects: list[str]
    answers: pl.DataFrame
    first: int
    lost: Ints
    starts: Ints

    @classmethod
    def of(cls, kind: str, part: pl.DataFrame, pools: pl.DataFrame, excluded: pl.DataFrame) -> "_Type":
        answers = pools.filter(pl.col("augmentation") == kind)
        first = int(answers["position"].min() or 0)  # type: ignore[arg-type]
        keys = ["pool", "substitute"]
        own = part.select("pool", substitute="substance").join(
            answers.select(*keys, "position"), on=keys, how="left", validate="m:1", maintain_order="left"
        )["position"]  # fmt: skip
        if own.null_count():
            lacking = part.filter(own.is_null())["substance"]
            raise SchemaError(
                f"balance: got {len(lacking):,} answers that the pools lack: {examples(lacking)}, expected "
                "those of the questions. Give the pools and the balance of a build on a set that holds these."
            )
        numbered = part.select("row").with_row_index("place")
        lost = numbered.join(excluded, on="row", how="inner").sort("place", "position")
        counts = np.bincount(lost["place"].to_numpy().astype(np.int64), minlength=len(part))
        return cls(
            part["row"].to_numpy().astype(np.int64), own.to_numpy().astype(np.int64) - first,
            part["pool"].to_numpy(), part["subject"].to_list(), answers, first,
            lost["position"].to_numpy().astype(np.int64) - first, np.append(0, np.cumsum(counts)),
        )  # fmt: skip

    def allowed(self, chosen: Ints) -> Bools:
        """Return what some rows may be asked with: rows x answers."""
        found: Bools = self.pools[chosen][:, None] == self.answers["pool"].to_numpy()[None, :]
        for row, at in enumerate(chosen):
            found[row, self.lost[self.starts[at] : self.starts[at + 1]]] = False
        return found


def _written(
    kind: str,
    answers: pl.DataFrame,
    told: Told,
    factors: Factors,
    nouns: Sequence[str],
    middles: Sequence[float],
) -> pl.DataFrame:
    named = told.written()
    column = named["position"].cast(pl.UInt32)
    named = named.with_columns(answers[name].gather(column).alias(name) for name in ("pool", "substitute"))
    degrees = [str(at) for at in range(len(DEGREES) + 1)]
    fits = [
        pl.DataFrame({"measure": [measure] * len(degrees), "name": degrees, "weight": factor})
        for measure, factor in zip(_FITS, factors.fits, strict=True)
    ]
    asked = answers.select("pool", "substitute", measure=pl.lit("answer"), weight=pl.Series(factors.answers))
    columns = answers.select("pool", "substitute")
    of_nouns = [
        columns.with_columns(measure=pl.lit(_OF_NOUN), name=pl.lit(noun), weight=pl.Series(factor))
        for noun, factor in zip(nouns, factors.nouns[1:], strict=False)
    ]
    draws = [str(at) for at in range(len(middles))]
    coins = pl.DataFrame({"measure": ["coin"] * len(draws), "name": draws, "weight": list(middles)})
    whole = pl.concat([named, *fits, *of_nouns, asked, coins], how="diagonal").with_columns(
        augmentation=pl.lit(kind)
    )
    return whole.select(
        pl.col(name).cast(dtype).fill_null("" if dtype == pl.String else 0.0)
        for name, dtype in BALANCE_SCHEMA.items()
    )


def _read(kind: str, one: _Type, balance: pl.DataFrame) -> tuple[Told, Factors, list[str]]:
    """Return what a balance tells of a type, for columns as the pools have them, and the frequent nouns."""
    own = balance.filter(pl.col("augmentation") == kind)
    columns = one.answers.select("pool", "substitute").with_row_index("column")
    keyed = own.filter(pl.col("measure").is_in([*NAMED, "answer", _OF_NOUN])).join(
        columns, on=["pool", "substitute"], how="left", validate="m:1", maintain_order="left"
    )
    factor = keyed.filter(pl.col("measure") == "answer").sort("column")
    if keyed["column"].null_count() or factor["column"].to_list() != columns["column"].to_list():
        raise SchemaError(_other("answers that are not those of the pools"))
    told = Told.read(
        one.answers["count"].to_numpy().astype(np.int64),
        keyed.rename({"column": "position"}),
    )
    if lacking := told.lacks(one.subjects):
        raise SchemaError(_other(f"nothing of {len(lacking):,} subjects: {examples(lacking)}"))
    fits = []
    for name in _FITS:
        degrees = own.filter(pl.col("measure") == name).select(
            pl.col("name").cast(pl.Int64, strict=False), "weight"
        ).sort("name")  # fmt: skip
        if degrees["name"].to_list() != [*range(len(DEGREES) + 1)]:
            raise SchemaError(_other("other degrees of fit"))
        fits.append(degrees["weight"].to_numpy())
    of_nouns = keyed.filter(pl.col("measure") == _OF_NOUN)
    nouns = of_nouns["name"].unique().sort().to_list()
    table = np.ones((len(nouns) + 1, len(columns)))
    numbers = {noun: at for at, noun in enumerate(nouns, start=1)}
    for noun, column, weight in of_nouns.select("name", "column", "weight").iter_rows():
        table[numbers[noun], column] = weight
    return told, Factors(factor["weight"].to_numpy(), (fits[0], fits[1]), table), nouns


def _other(got: str) -> str:
    return (
        f"balance: got {got}, expected what a build on the whole set wrote beside its pools. "
        "Give the pools and the balance of one build on a set that holds these questions."
    )


def check_balance(balance: pl.DataFrame, name: str = "balance") -> None:
    """Raise SchemaError unless a table has the columns that :func:`find_balance` gives, without nulls."""
    problems = [
        f"column {column}: got {balance.schema.get(column, 'no such column')}, expected {dtype}"
        for column, dtype in BALANCE_SCHEMA.items()
        if balance.schema.get(column) != dtype
    ]
    if not problems and balance.null_count().sum_horizontal().item():
        problems = ["nulls"]
    if not problems and balance.select(pl.exclude("weight")).is_duplicated().any():
        problems = ["a row twice"]
    if (
        not problems
        and not balance.select((pl.col("weight").is_finite() & (pl.col("weight") >= 0)).all()).item()
    ):
        problems = ["weights that are no numbers from 0 on"]
    if problems:
        title = f"{name}: got the problems below, expected the balance.parquet of a build. Give that file."
        raise SchemaError(problem_list(title, problems))
