"""Looking rules up: by item, answer, modality and strength."""

from collections.abc import Sequence

import polars as pl

from shortcut_miner.errors import ConfigError, near_names
from shortcut_miner.schemas import VERDICTS, antecedent_columns

# How the columns end whose smallest numbers say most.
_SMALLEST_FIRST = ("rule_id", "q_value_bh", "q_value_by", "log10_p_value", "log10_p", "p_holm")


def find_rules(
    rules: pl.DataFrame,
    *,
    contains: Sequence[str] = (),
    answer: str | None = None,
    modality: str | None = None,
    min_confidence: float = 0.0,
    min_count: int = 0,
    verdict: str | None = None,
    max_q: float | None = None,
    sort: str = "rule_id",
    limit: int | None = None,
) -> pl.DataFrame:
    """Return the rules that satisfy every condition.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules.
    contains : sequence of str
        Words, object labels or attributes ("column=value") that must all be in the antecedent.
    answer, modality : str, optional
        Equal to these.
    min_confidence : float
        Least confidence.
    min_count : int
        Least rule_count.
    verdict : str, optional
        One of schemas.VERDICTS.
    max_q : float, optional
        q_value_by is below this, 0 to 1.
    sort : str
        Any column of numbers: rule_id, p and q values ascending, all others descending.
    limit : int, optional
        Most rows.

    Raises
    ------
    ConfigError
        A column to sort by, or a verdict or q value to filter by, that these rules lack.

    >>> from shortcut_miner.mining.frames.tables import mine_rules
    >>> rules = mine_rules([["what", "sport"], ["what", "room"]], ["golf", "attic"], min_count=1)
    >>> find_rules(rules, contains=["sport"])["answer"].to_list()
    ['golf', 'golf']
    """
    conditions = [pl.col("confidence") >= min_confidence, pl.col("rule_count") >= min_count]
    conditions += [_has_item(rules, item) for item in contains]
    if answer is not None:
        conditions.append(pl.col("answer") == answer)
    if modality is not None:
        conditions.append(pl.col("modality") == modality)
    conditions += _judged(rules, verdict, max_q)
    _check_sort(rules, sort)
    is_ascending = sort.endswith(_SMALLEST_FIRST)
    found = (
        rules.lazy()
        .filter(conditions)
        .sort(sort, "rule_id", descending=[not is_ascending, False], nulls_last=True)
    )
    return (found if limit is None else found.head(limit)).collect()


def unknown_terms(
    rules: pl.DataFrame, *, contains: Sequence[str] = (), answer: str | None = None
) -> list[str]:
    """Return a sentence for each item that no antecedent has, and for an answer that no rule gives.

    >>> from shortcut_miner.mining.frames.tables import mine_rules
    >>> rules = mine_rules([["what", "sport"], ["what", "room"]], ["golf", "attic"], min_count=1)
    >>> unknown_terms(rules, contains=["sprot"])
    ["contains: got 'sprot', but no rule contains it. Did you mean 'sport'?"]
    """
    told = []
    if contains:
        lists = [rules[name].explode().drop_nulls() for name in antecedent_columns(rules)]
        items = pl.concat(lists).unique().sort()
        told += [
            f"contains: got {item!r}, but no rule contains it.{near_names(item, items)}"
            for item in contains
            if not items.is_in([item]).any()
        ]
    if answer is not None and answer not in rules["answer"]:
        known = rules["answer"].unique().sort()
        told.append(f"answer: got {answer!r}, but no rule gives it.{near_names(answer, known)}")
    return told


def _judged(rules: pl.DataFrame, verdict: str | None, max_q: float | None) -> list[pl.Expr]:
    if verdict is not None and verdict not in VERDICTS:
        raise ConfigError(f"verdict: got {verdict!r}, expected one of {', '.join(VERDICTS)}. Choose one.")
    if max_q is not None and not 0 <= max_q <= 1:
        raise ConfigError(f"max_q: got {max_q!r}, expected a number from 0 to 1. Change --max-q.")
    asked = {}
    if verdict is not None:
        asked["verdict"] = pl.col("verdict") == verdict
    if max_q is not None:
        asked["q_value_by"] = pl.col("q_value_by") < max_q
    missing = [name for name in asked if name not in rules.columns]
    if missing:
        raise ConfigError(
            f"verdict, max_q: got rules without {' and '.join(missing)}, expected those of vqa-ce build, "
            "which judges its rules. Leave these options out."
        )
    return list(asked.values())


def _check_sort(rules: pl.DataFrame, sort: str) -> None:
    known = [name for name, dtype in rules.schema.items() if dtype.is_numeric()]
    if sort not in known:
        raise ConfigError(
            f"sort: got {sort!r}, expected one of {', '.join(known)}.{near_names(sort, known)} Choose one."
        )


def _has_item(rules: pl.DataFrame, item: str) -> pl.Expr:
    return pl.any_horizontal(pl.col(name).list.contains(item) for name in antecedent_columns(rules))
