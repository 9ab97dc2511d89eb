"""mlxtend's rule frames, out and back, and its one-hot frames in.

pandas is optional (``pip install 'shortcut-miner[interop]'``) and imported when asked for.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import build_vocabulary
from shortcut_miner.errors import BackendError, ConfigError, SchemaError, examples, problem_list
from shortcut_miner.mining.evidence.measures import MEASURES
from shortcut_miner.mining.frames.onehot import from_onehot, is_pandas
from shortcut_miner.mining.frames.rules import encode_rules, rules_table
from shortcut_miner.mining.rules import rule_order
from shortcut_miner.options import check_counts, check_texts, reject
from shortcut_miner.schemas import Rules, validated

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_mlxtend", "from_onehot", "to_mlxtend"]

# Whole counts come back from float supports with an error of about 1e-16 x transaction_count.
_COUNT_TOLERANCE = 1e-3
# mlxtend's columns of numbers, in its order.
_MLXTEND_MEASURES = {
    "antecedent support": "antecedent_support",
    "consequent support": "answer_support",
    "support": "support",
    "confidence": "confidence",
    "lift": "lift",
    "representativity": "representativity",
    "leverage": "mlxtend_leverage",
    "conviction": "conviction",
    "zhangs_metric": "zhangs_metric",
    "jaccard": "jaccard",
    "certainty": "mlxtend_certainty",
    "kulczynski": "kulczynski",
}
_MLXTEND_COLUMNS = ("antecedents", "consequents", "antecedent support", "consequent support", "support")


def to_mlxtend(
    rules: pl.DataFrame, *, object_prefix: str = "object: ", answer_prefix: str = ""
) -> "pd.DataFrame":
    """Return rules as the frame that ``mlxtend.frequent_patterns.association_rules`` (0.25) gives.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules.
    object_prefix, answer_prefix : str
        Put before objects and answers, since mlxtend has one namespace for all items.

    Returns
    -------
    pandas.DataFrame
        In the order given: antecedents and consequents (frozensets of str), antecedent support,
        consequent support, support, confidence, lift, representativity, leverage, conviction,
        zhangs_metric, jaccard, certainty, kulczynski (float64).

    Raises
    ------
    BackendError
        pandas is not installed.
    ConfigError
        A word that begins with `object_prefix` would come back as an object; a prefix that is no text.
    SchemaError
        `rules` are no Polars frame of rules.

    Examples
    --------
    >>> from shortcut_miner.mining.frames.tables import mine_rules
    >>> rules = mine_rules([["dog"], ["dog"], ["cat"]], ["yes", "yes", "no"], min_count=2)
    >>> frame = to_mlxtend(rules)
    >>> frame["antecedents"].to_list(), frame["lift"].to_list()
    ([frozenset({'dog'})], [1.5])
    """
    pandas = _import_pandas("to_mlxtend")
    validated(rules, Rules, "rules")
    check_texts(object_prefix=object_prefix, answer_prefix=answer_prefix)
    words = rules["antecedent_words"].to_list()
    confused = sorted({word for row in words for word in row if word.startswith(object_prefix)})
    # Without a prefix nothing comes back as an object, which is right as long as there are none.
    if confused and (object_prefix or rules["antecedent_objects"].list.len().sum()):
        raise ConfigError(
            f"object_prefix: got {object_prefix!r}, expected one that no word begins with, unlike "
            f"{examples(confused)}. Choose another."
        )
    objects = [[object_prefix + name for name in row] for row in rules["antecedent_objects"].to_list()]
    sides = {
        "antecedents": [frozenset(row + found) for row, found in zip(words, objects, strict=True)],
        "consequents": [frozenset({answer_prefix + answer}) for answer in rules["answer"].to_list()],
    }
    measures = rules.select(**{name: MEASURES[measure] for name, measure in _MLXTEND_MEASURES.items()})
    return pandas.DataFrame({**sides, **{name: measures[name].to_numpy() for name in measures.columns}})


def from_mlxtend(
    frame: "pd.DataFrame", transaction_count: int, *, object_prefix: str = "object: ", answer_prefix: str = ""
) -> pl.DataFrame:
    """Return the rules of an mlxtend frame as schemas.Rules, in rule order.

    Parameters
    ----------
    frame : pandas.DataFrame
        What ``association_rules`` returns: antecedents, consequents, antecedent support, consequent
        support and support are read. Every consequent is one item, the answer.
    transaction_count : int
        Rows that the supports are fractions of.
    object_prefix, answer_prefix : str
        Taken away from objects (items that begin so; none if it is empty) and answers. See
        :func:`to_mlxtend`.

    Raises
    ------
    SchemaError
        Missing columns, rows whose items are no set or list, consequents of several items or without the
        prefix, supports that are no whole numbers of rows: all problems at once.
    ConfigError
        `transaction_count` is no whole number of 1 or more, or a prefix is no text.
    """
    if not is_pandas(frame, "DataFrame"):
        raise SchemaError(
            f"mlxtend frame: got {type(frame).__name__}, expected a pandas DataFrame. "
            "Pass what mlxtend.frequent_patterns.association_rules returns."
        )
    if transaction_count is None:
        reject("transaction_count", None, "the number of rows that the supports are fractions of")
    check_counts(transaction_count=transaction_count)
    check_texts(object_prefix=object_prefix, answer_prefix=answer_prefix)
    missing = [name for name in _MLXTEND_COLUMNS if name not in frame.columns]
    if missing:
        raise SchemaError(
            f"mlxtend frame: got no column {examples(missing)}, expected mlxtend's association rules. "
            "Pass what mlxtend.frequent_patterns.association_rules returns."
        )
    counts = {
        name: frame[column].to_numpy(dtype=np.float64) * transaction_count
        for name, column in (
            ("antecedent_count", "antecedent support"),
            ("answer_count", "consequent support"),
            ("rule_count", "support"),
        )
    }
    _check_sets(frame)
    consequents = [tuple(items) for items in frame["consequents"]]
    _check_mlxtend(consequents, answer_prefix, counts, transaction_count)
    antecedents = [[str(item) for item in items] for items in frame["antecedents"]]
    answers = [str(answer).removeprefix(answer_prefix) for (answer,) in consequents]
    table = pl.DataFrame(
        {
            "antecedent_words": _sorted_lists(
                [item for item in items if not _is_object(item, object_prefix)] for items in antecedents
            ),
            "antecedent_objects": _sorted_lists(
                [item.removeprefix(object_prefix) for item in items if _is_object(item, object_prefix)]
                for items in antecedents
            ),
            "answer": pl.Series(answers, dtype=pl.String),
            **{name: np.rint(values).astype(np.int64) for name, values in counts.items()},
        }
    )
    vocabulary = build_vocabulary(
        table["antecedent_words"],
        table["antecedent_objects"],
        table["answer"],
        table["answer_count"],
        counts_are_totals=True,
    )
    rules = encode_rules(table, vocabulary)
    return rules_table(rules.take(rule_order(rules, vocabulary)), vocabulary, transaction_count)


def _check_sets(frame: "pd.DataFrame") -> None:
    """Raise unless every side of every rule is a collection of items; a text would be read as its letters."""
    problems = []
    for name in ("antecedents", "consequents"):
        wrong = [
            row for row in frame[name] if isinstance(row, str | bytes) or not isinstance(row, Collection)
        ]
        if wrong:
            kind = "texts" if isinstance(wrong[0], str) else type(wrong[0]).__name__
            problems.append(f"{name}: {len(wrong):,} of {len(frame):,} are {kind}, such as {wrong[0]!r}")
    if problems:
        title = (
            "mlxtend frame: got rules whose sides are not sets of items, expected frozensets, as mlxtend's "
            "association_rules returns them. Turn each side into a set: {'cat', 'dog'} for a text 'cat dog'."
        )
        raise SchemaError(problem_list(title, problems))


def _check_mlxtend(
    consequents: list[tuple[object, ...]],
    answer_prefix: str,
    counts: dict[str, npt.NDArray[np.float64]],
    transaction_count: int,
) -> None:
    problems = []
    several = [set(items) for items in consequents if len(items) != 1]
    if several:
        problems.append(
            f"{len(several):,} consequents of several items, such as {several[0]}: keep rules with one"
        )
    strangers = [
        items[0] for items in consequents if len(items) == 1 and not str(items[0]).startswith(answer_prefix)
    ]
    if strangers:
        problems.append(f"{len(strangers):,} consequents without {answer_prefix!r}, such as {strangers[0]!r}")
    for name, values in counts.items():
        broken = np.flatnonzero(~(np.abs(values - np.rint(values)) <= _COUNT_TOLERANCE))
        if len(broken):
            problems.append(
                f"{name}: {len(broken):,} supports that are no whole number of {transaction_count:,} rows, "
                f"such as {values[broken[0]]:.6g} rows"
            )
    if problems:
        title = (
            "mlxtend frame: got rules that don't fit, expected one answer each and supports over "
            "transaction_count rows. Correct these."
        )
        raise SchemaError(problem_list(title, problems))


def _is_object(item: str, prefix: str) -> bool:
    return bool(prefix) and item.startswith(prefix)


def _sorted_lists(rows: Iterable[list[str]]) -> pl.Series:
    return pl.Series([sorted(row) for row in rows], dtype=pl.List(pl.String))


def _import_pandas(wanted_by: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise BackendError(
            f"{wanted_by}: got no pandas, expected it to be installed. "
            "Run pip install 'shortcut-miner[interop]'."
        ) from error
    return pandas
