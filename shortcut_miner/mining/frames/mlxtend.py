"""mlxtend's rule frames, out and back, and its one-hot frames in.

pandas is optional (``pip install 'shortcut-miner[interop]'``) and imported when asked for.
"""

from collections.abc import Collection
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import build_vocabulary
from shortcut_miner.errors import ConfigError, SchemaError, examples, missing_library, problem_list
from shortcut_miner.mining.evidence.measures import MEASURES
from shortcut_miner.mining.frames.onehot import from_onehot, is_pandas
from shortcut_miner.mining.frames.rules import encode_rules, rules_table
from shortcut_miner.mining.rules import rule_order
from shortcut_miner.options import check_counts, check_texts, reject
from shortcut_miner.schemas import ANTECEDENT, Rules, validated

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
    rules: pl.DataFrame,
    *,
    object_prefix: str = "object: ",
    attribute_prefix: str = "attribute: ",
    answer_prefix: str = "",
) -> "pd.DataFrame":
    """Return rules as the frame that ``mlxtend.frequent_patterns.association_rules`` (0.25) gives.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules.
    object_prefix, attribute_prefix, answer_prefix : str
        Put before objects, attributes and answers, since mlxtend has one namespace for all items.

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
        A word that begins with `object_prefix` or `attribute_prefix` would come back as an object or an
        attribute, or an attribute as an object; a prefix that is no text.
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
    check_texts(object_prefix=object_prefix, attribute_prefix=attribute_prefix, answer_prefix=answer_prefix)
    words = rules["antecedent_words"].to_list()
    objects = _prefixed(rules, "antecedent_objects", object_prefix)
    attributes = _prefixed(rules, "antecedent_attributes", attribute_prefix)
    _check_prefix("object_prefix", object_prefix, objects, {"word": words, "attribute": attributes})
    _check_prefix("attribute_prefix", attribute_prefix, attributes, {"word": words})
    sides = {
        "antecedents": [frozenset(chain(*kinds)) for kinds in zip(words, objects, attributes, strict=True)],
        "consequents": [frozenset({answer_prefix + answer}) for answer in rules["answer"].to_list()],
    }
    measures = rules.select(**{name: MEASURES[measure] for name, measure in _MLXTEND_MEASURES.items()})
    return pandas.DataFrame({**sides, **{name: measures[name].to_numpy() for name in measures.columns}})


def _prefixed(rules: pl.DataFrame, column: str, prefix: str) -> list[list[str]]:
    lists = rules[column].to_list() if column in rules.columns else [[] for _ in range(len(rules))]
    return [[prefix + name for name in row] for row in lists]


def _check_prefix(option: str, prefix: str, own: list[list[str]], others: dict[str, list[list[str]]]) -> None:
    """Raise if an item of another kind would come back as one of this kind, or these as words.

    Without a prefix nothing comes back as this kind, which is right as long as there are none.
    """
    for kind, rows in others.items():
        confused = sorted({item for row in rows for item in row if item.startswith(prefix)})
        if not prefix:
            confused = sorted({*confused, *chain(*own)}) if any(own) else []
        if confused:
            raise ConfigError(
                f"{option}: got {prefix!r}, expected one that no {kind} begins with, unlike "
                f"{examples(confused)}. Choose another."
            )


def from_mlxtend(
    frame: "pd.DataFrame",
    transaction_count: int,
    *,
    object_prefix: str = "object: ",
    attribute_prefix: str = "attribute: ",
    answer_prefix: str = "",
) -> pl.DataFrame:
    """Return the rules of an mlxtend frame as schemas.Rules, in rule order.

    Parameters
    ----------
    frame : pandas.DataFrame
        What ``association_rules`` returns: antecedents, consequents, antecedent support, consequent
        support and support are read. Every consequent is one item, the answer.
    transaction_count : int
        Rows that the supports are fractions of.
    object_prefix, attribute_prefix, answer_prefix : str
        Taken away from objects and attributes (items that begin so; none if it is empty) and answers. See
        :func:`to_mlxtend`. The column antecedent_attributes is there if some item is one.

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
    check_texts(object_prefix=object_prefix, attribute_prefix=attribute_prefix, answer_prefix=answer_prefix)
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
            **_by_kind(antecedents, object_prefix, attribute_prefix),
            "answer": pl.Series(answers, dtype=pl.String),
            **{name: np.rint(values).astype(np.int64) for name, values in counts.items()},
        }
    )
    vocabulary = build_vocabulary(
        table["antecedent_words"],
        table["antecedent_objects"],
        table["answer"],
        table["answer_count"],
        attributes=table.get_column("antecedent_attributes", default=None),
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


def _by_kind(antecedents: list[list[str]], *prefixes: str) -> dict[str, pl.Series]:
    """Return the antecedents' columns, each item in that of the first prefix it begins with, else a word."""
    found: list[list[list[str]]] = [[[] for _ in antecedents] for _ in ANTECEDENT]
    for row, items in enumerate(antecedents):
        for item in sorted(items):
            kind = next((k for k, one in enumerate(prefixes, 1) if one and item.startswith(one)), 0)
            found[kind][row].append(item.removeprefix(prefixes[kind - 1]) if kind else item)
    lists = dict(zip(ANTECEDENT, found, strict=True))
    if not any(lists["antecedent_attributes"]):
        del lists["antecedent_attributes"]
    return {column: pl.Series(rows, dtype=pl.List(pl.String)) for column, rows in lists.items()}


def _import_pandas(wanted_by: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise missing_library(wanted_by, "pandas", "interop") from error
    return pandas
