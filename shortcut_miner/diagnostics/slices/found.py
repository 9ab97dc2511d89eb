"""Slices of rows in memory: searched, judged, and as the tables of a build."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.diagnostics.slices import lattice
from shortcut_miner.diagnostics.slices.config import Outcome, SlicesConfig, scale_of
from shortcut_miner.diagnostics.slices.cover import cover
from shortcut_miner.diagnostics.slices.inputs import OUTCOME_B, SlicesInputs
from shortcut_miner.diagnostics.slices.mined import Ints, Mined, Numbers, RowBits, mine_slices
from shortcut_miner.diagnostics.slices.significance import (
    Floats,
    beta_statistic,
    holm,
    p_values,
    q_values,
    welch_statistic,
)
from shortcut_miner.diagnostics.slices.tables import OUTCOME
from shortcut_miner.encoding import encode_training, string_lists, with_item_lists
from shortcut_miner.errors import ConfigError
from shortcut_miner.item_lists import labelled_images
from shortcut_miner.keyed_draws import draw_uniform, id_keys
from shortcut_miner.transactions import Transactions, Vocabulary

KINDS = ("words", "objects", "attributes")
HELD_OUT = "is_held_out"
_NO_ITEM = -1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found.

    Attributes
    ----------
    slices : pl.DataFrame
        schemas.Slices.
    items : pl.DataFrame
        schemas.SliceItems.
    cover : pl.DataFrame
        schemas.SliceCover.
    questions : pl.DataFrame
        schemas.SlicedQuestions.
    counts : dict of str to int
        Of the rows that were searched, and of what was found.
    figures : dict
        Least rows of a slice, models, what is held out, and why nothing was found.
    """

    slices: pl.DataFrame
    items: pl.DataFrame
    cover: pl.DataFrame
    questions: pl.DataFrame
    counts: dict[str, int]
    figures: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    """Rows on one side of a holdout, as items and outcomes."""

    rows: Transactions
    outcome: Ints
    other: Ints | None

    @property
    def whole(self) -> tuple[int, int, int]:
        return len(self.outcome), int(self.outcome.sum()), int((self.outcome * self.outcome).sum())


def find_slices(inputs: SlicesInputs, config: SlicesConfig, threads: int | None = None) -> Found:
    """Return the slices of rows, and what they say.

    Parameters
    ----------
    inputs : SlicesInputs
        Rows with their items and outcomes.
    config : SlicesConfig
        Options.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`. The result is the same for any.

    Raises
    ------
    ConfigError
        Objects are wanted and nothing tells them, there are too many slices, or all rows are on one side of
        the holdout.
    """
    held_out = _held_out(inputs.rows, config)
    encoded = _encode(inputs, config)
    searched, others = _sides(inputs.rows, encoded, held_out)
    least = config.least_count(len(searched.outcome))
    reason = _nothing_to_find(searched.outcome, inputs.outcome)
    mined = mine_slices(
        searched.rows,
        searched.outcome,
        min_count=len(searched.outcome) + 1 if reason else least,
        max_length=config.max_length,
        threads=threads,
    )
    if not reason and len(mined) == 1:
        reason = f"no item is in {least:,} rows or more"
    without = lattice.immediate_subsets(mined)
    slices, order = _slices(mined, without, encoded.vocabulary, searched, inputs.outcome, config)
    lists = mined.item_lists()[order]
    if searched.other is not None:
        slices = slices.with_columns(**_beside(searched, lists, inputs.outcome))
    if others is not None:
        slices = _tested(slices, lists, others, inputs.outcome, config)
    chosen = cover(slices, lists, searched.rows, searched.outcome, config)
    questions = with_item_lists(inputs.rows, encoded).with_columns(pl.Series(HELD_OUT, held_out))
    rows, total, _ = searched.whole
    return Found(
        slices=slices,
        items=_items(mined, without, encoded.vocabulary, inputs),
        cover=chosen,
        questions=_without_unknown(questions, inputs),
        counts={
            "questions": len(inputs.rows),
            "images": inputs.rows["image_id"].n_unique(),
            "rows": rows,
            "outcome_total": total,
            "slices": len(slices),
            "redundant": int(slices["is_redundant"].sum()),
            "significant": int((slices["q_value"] <= config.max_q).sum()),
            "items": len(mined.items),
            "cover": len(chosen),
        },
        figures={
            "outcome": inputs.outcome,
            "models": list(inputs.models),
            "item_columns": list(inputs.columns),
            "min_count": least,
            "mean": total / (rows * scale_of(inputs.outcome)),
            "held_out": int(held_out.sum()),
            "nothing_found": reason,
        },
    )


def _held_out(rows: pl.DataFrame, config: SlicesConfig) -> npt.NDArray[np.bool_]:
    """Return whether a row's image is held out; it follows from its id and the seed."""
    if not config.holdout:
        return np.zeros(len(rows), np.bool_)
    held_out = draw_uniform(id_keys(rows["image_id"], config.seed, "slices holdout"), 0) < config.holdout
    if held_out.all() or not held_out.any():
        raise ConfigError(
            f"holdout: got all of {rows['image_id'].n_unique():,} images on one side, expected some on both. "
            "Change --holdout or --seed, or give more images."
        )
    return np.asarray(held_out)


def _encode(inputs: SlicesInputs, config: SlicesConfig) -> Transactions:
    items = config.items or ("both" if inputs.has_objects else "words")
    rows = inputs.rows.with_columns(answer=pl.lit(""))
    if items == "none":
        items, rows = "words", rows.with_columns(question=pl.lit(""))
    return encode_training(
        rows, inputs.labels, items=items, tokenizer=config.tokenizer, score_threshold=config.score_threshold
    )


def _without_unknown(questions: pl.DataFrame, inputs: SlicesInputs) -> pl.DataFrame:
    """Return rows whose objects are null where nothing is known of them; sorted by question_id."""
    is_known = pl.lit(False)
    if inputs.labels is not None:
        is_known = pl.col("image_id").is_in(labelled_images(inputs.labels).implode())
    elif "labels" in questions.columns:
        is_known = pl.col("labels").is_not_null()
    known = questions.with_columns(objects=pl.when(is_known).then("objects"))
    return known.drop("labels", strict=False).sort("question_id")


def _sides(
    rows: pl.DataFrame, encoded: Transactions, held_out: npt.NDArray[np.bool_]
) -> tuple[_Side, _Side | None]:
    """Return the rows that are searched and those that are held out, None if there are none."""
    outcome = rows[OUTCOME].to_numpy()
    other = rows[OUTCOME_B].to_numpy() if OUTCOME_B in rows.columns else None
    if not held_out.any():
        return _Side(encoded, outcome, other), None
    first, second = (
        _Side(_taken(encoded, side), outcome[side], None if other is None else other[side])
        for side in (~held_out, held_out)
    )
    return first, second


def _taken(rows: Transactions, chosen: npt.NDArray[np.bool_]) -> Transactions:
    """Return some of the rows."""
    lengths = np.diff(rows.offsets)
    return dataclasses.replace(
        rows,
        offsets=np.concatenate(([0], np.cumsum(lengths[chosen]))),
        items=rows.items[np.repeat(chosen, lengths)],
        classes=rows.classes[chosen],
        weights=rows.weights[chosen],
    )


def _nothing_to_find(outcome: Ints, kind: Outcome) -> str | None:
    """Return why no slice can be worse than others; None if one can."""
    if len(outcome) and outcome.min() != outcome.max():
        return None
    if kind == "wrong":
        return "every row is wrong" if len(outcome) and outcome[0] else "no row is wrong"
    return f"all rows have the {kind} {outcome[0] / 100:g}" if len(outcome) else "there are no rows"


# ---- tables ----


def _slices(
    mined: Mined,
    without: Ints,
    vocabulary: Vocabulary,
    side: _Side,
    outcome: Outcome,
    config: SlicesConfig,
) -> tuple[pl.DataFrame, Ints]:
    """Return schemas.Slices without its optional columns, and the slices' numbers in its order."""
    scale, whole, is_wrong = scale_of(outcome), side.whole, outcome == "wrong"
    divergence = lattice.divergences(mined, scale)
    sums = mined.count, mined.total, mined.square
    p = p_values((sums[0][1:], sums[1][1:], sums[2][1:]), whole, config.direction, is_wrong=is_wrong)
    nowhere = np.full(len(mined), np.nan)
    mean = mined.total / (mined.count * scale)
    columns: dict[str, npt.NDArray[Any]] = {
        "length": mined.length.astype(np.uint32),
        "count": mined.count.astype(np.uint64),
        "outcome_sum": mined.total,
        "mean": mean,
        "divergence": divergence,
        "share": mined.total / whole[1] if whole[1] else nowhere,
        "p_value": np.concatenate(([np.nan], p)),
        "q_value": np.concatenate(([np.nan], q_values(p, config.correction))),
        "t_beta": beta_statistic(mined.count, mined.total) if is_wrong else nowhere,
        "t_welch": nowhere if is_wrong else welch_statistic(sums),
        "sliceline_score": _sliceline(mined, config.alpha),
        "is_redundant": lattice.is_redundant(mined, without, config.epsilon, scale),
    }
    lists = mined.item_lists()
    order = _order(mean, mined, np.sort(lists, axis=1), vocabulary)
    shares = lattice.item_shares(mined, without, divergence)
    table = pl.DataFrame(
        {
            "slice_id": np.arange(len(order), dtype=np.uint32),
            **item_columns(lists[order], vocabulary),
            **{name: values[order] for name, values in columns.items()},
            "item_shares": _shares_column(lists[order], shares[order]),
        }
    )
    return table.with_columns(pl.col(pl.Float64).fill_nan(None)), order


def _sliceline(mined: Mined, alpha: float) -> Floats:
    """Return SliceLine's score (Sagadeeva and Boehm, SIGMOD 2021); NaN without a mean above 0."""
    rows, total = int(mined.count[0]), int(mined.total[0])
    if total <= 0:
        return np.full(len(mined), np.nan)
    mean = mined.total / mined.count
    return np.asarray(alpha * (mean / (total / rows) - 1) - (1 - alpha) * (rows / mined.count - 1))


def _order(mean: Floats, mined: Mined, lists: Numbers, vocabulary: Vocabulary) -> Ints:
    """Return the slices but the empty one: the worst first, then the larger, the shorter, and by items."""
    keys = []
    for kind in range(len(vocabulary.names)):
        own = np.where(vocabulary.kinds_of(lists) == kind, lists, np.iinfo(np.int32).max)
        own.sort(axis=1)
        own[own == np.iinfo(np.int32).max] = _NO_ITEM  # where a list ends, it comes before longer ones
        keys += [*own.T]
    order = np.lexsort((*reversed(keys), mined.length, -mined.count, -mean))
    return order[order > 0]


def item_columns(lists: Numbers, vocabulary: Vocabulary) -> dict[str, pl.Series]:
    """Return words, objects and attributes (List[String]) of lists of items, each ascending."""
    ascending = np.sort(lists, axis=1)
    kinds = vocabulary.kinds_of(ascending)
    found, first = {}, 0
    for number, (kind, names) in enumerate(vocabulary.names.items()):
        chosen = kinds == number
        offsets = np.concatenate(([0], np.cumsum(chosen.sum(axis=1))))
        found[kind] = string_lists(offsets, ascending[chosen] - first, names)
        first += len(names)
    return found


def _shares_column(lists: Numbers, shares: Floats) -> pl.Series:
    """Return the share of each item (List[Float64]), in the order of words, objects and attributes."""
    by_number = np.argsort(np.where(lists < 0, np.iinfo(np.int32).max, lists), axis=1, kind="stable")
    ordered = np.take_along_axis(shares, by_number, axis=1)
    lengths = (lists >= 0).sum(axis=1)
    flat = ordered[np.arange(lists.shape[1]) < lengths[:, None]]
    rows = pl.DataFrame({"slice": np.repeat(np.arange(len(lists)), lengths), "share": flat})
    return rows.group_by("slice", maintain_order=True).agg("share")["share"].cast(pl.List(pl.Float64))


def _beside(side: _Side, lists: Numbers, outcome: Outcome) -> dict[str, pl.Series]:
    """Return the outcome of the other model in each slice."""
    assert side.other is not None
    sums = _recounted(side.rows, side.other, lists)
    scale = scale_of("error" if outcome == "regression" else outcome)
    return {"outcome_sum_b": pl.Series(sums[:, 1]), "mean_b": pl.Series(sums[:, 1] / (sums[:, 0] * scale))}


def _recounted(rows: Transactions, outcome: Ints, lists: Numbers) -> Ints:
    """Return int64[slices, 3] of other rows or another outcome; see :meth:`.mined.RowBits.sums`."""
    words = RowBits.of(outcome)
    return words.sums(*words.lines_of(rows, lists))


def _tested(
    slices: pl.DataFrame, lists: Numbers, side: _Side, outcome: Outcome, config: SlicesConfig
) -> pl.DataFrame:
    """Return slices with what the held-out rows say of those that the search selected; null for others."""
    # What outputs.kept_slices keeps.
    is_selected = ((slices["q_value"] <= config.max_q) & ~slices["is_redundant"]).fill_null(False)
    sums, whole, scale = (
        _recounted(side.rows, side.outcome, lists[is_selected]),
        side.whole,
        scale_of(outcome),
    )
    count, total, square = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / (count * scale)
    p = p_values((count, total, square), whole, config.direction, is_wrong=outcome == "wrong")
    tested = pl.DataFrame(
        {
            "slice_id": slices["slice_id"].filter(is_selected),
            "holdout_count": count.astype(np.uint64),
            "holdout_mean": mean,
            "holdout_divergence": mean - whole[1] / (whole[0] * scale),
            "holdout_p": holm(np.where(count > 0, p, np.nan)),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return slices.join(tested, on="slice_id", how="left", validate="1:1", maintain_order="left")


def _items(mined: Mined, without: Ints, vocabulary: Vocabulary, inputs: SlicesInputs) -> pl.DataFrame:
    """Return schemas.SliceItems."""
    names = list[str]()
    kinds = vocabulary.kinds_of(mined.items)
    firsts = vocabulary.first_items
    columns = np.full(len(mined.items), -1, np.int64)
    place = {f"{name}=": number for number, name in enumerate(inputs.columns)}
    for at, (item, kind) in enumerate(zip(mined.items.tolist(), kinds.tolist(), strict=True)):
        name = [*vocabulary.names.values()][kind][item - int(firsts[kind])]
        names.append(name)
        if KINDS[kind] == "attributes":
            columns[at] = place[name[: name.index("=") + 1]]
    divergence = lattice.divergences(mined, scale_of(inputs.outcome))
    singles = np.flatnonzero(mined.length == 1)
    of_item = np.zeros(len(mined.items), np.int64)
    of_item[mined.last[singles]] = singles
    table = pl.DataFrame(
        {
            "kind": pl.Series([KINDS[kind] for kind in kinds.tolist()], dtype=pl.String),
            "item": pl.Series(names, dtype=pl.String),
            "count": mined.count[of_item].astype(np.uint64),
            "divergence": divergence[of_item],
            "global_divergence": lattice.global_divergence(mined, without, divergence, columns),
        }
    )
    ordered = table.sort("divergence", "count", "kind", "item", descending=[True, True, False, False])
    return ordered.with_columns(pl.col("global_divergence").fill_nan(None))
