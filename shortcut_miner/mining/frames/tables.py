"""Rules as tables: mine them from lists, columns, one-hot frames or matrices, and match them again.

The public face of this folder. Everything here turns inputs into :class:`Transactions`, calls the array
functions beside it and turns the result into a Polars frame; there is no algorithm in it.
"""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import (
    accepted_classes,
    build_vocabulary,
    checked_weights,
    encode_item_lists,
    encode_item_table,
)
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.frames.inputs import (
    AnswersLike,
    TransactionsLike,
    read_answers,
    read_items,
    split_answers,
)
from shortcut_miner.mining.frames.rules import encode_rules, rules_table
from shortcut_miner.mining.matcher import Accepted, match_pairs, match_totals
from shortcut_miner.mining.memory import BYTES_A_TABLED_RULE, check_fits
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.search import search_rules
from shortcut_miner.options import SupersetFilter
from shortcut_miner.schemas import Rules, antecedent_columns, validated
from shortcut_miner.transactions import Transactions, Vocabulary


def mine_rules(
    transactions: TransactionsLike,
    answers: AnswersLike,
    *,
    min_count: int = 8,
    max_antecedent: int = 4,
    min_confidence: float = 0.3,
    superset_filter: SupersetFilter = "none",
    empty_rule: bool = False,
    weights: Sequence[int] | None = None,
    item_names: Sequence[str] | None = None,
    max_rules: int | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> pl.DataFrame:
    """Return the class-association rules of transactions: antecedent -> its most frequent answer.

    Parameters
    ----------
    transactions : list of lists of str or int, Series of lists, DataFrame, 2-D array or sparse matrix, [rows]
        The items of each row; repeats within a row count once, numbers become text. A Polars or pandas
        DataFrame is either one-hot (True/False or 1/0; its columns are the items, as mlxtend takes them) or
        has the list columns ``words``, ``objects`` and ``attributes`` (or some of them; null = no items of
        that kind). All other forms give words.
    answers : list, Series or array of str or int, or str, [rows]
        The class of each row, or the DataFrame's column that holds it. Numbers become text.
    min_count : int
        Least rows with antecedent and answer together (``rule_count``).
    max_antecedent : int
        Most items of an antecedent, 1 to 8.
    min_confidence : float
        Least share of the antecedent's rows with the answer, 0 to 1, compared exactly.
    superset_filter : {"none", "immediate", "all"}
        Drop rules that a proper subset of the antecedent (``"immediate"``: one item smaller) answers
        alike with at least the same confidence. See :mod:`shortcut_miner.mining.filters`.
    empty_rule : bool
        Count "nothing -> the most common answer" as a rule.
    weights : sequence of int, optional, [rows]
        How many original rows each row stands for, 1 or more. All counts are of original rows.
    item_names : sequence of str, optional
        Names of a matrix' columns, default ``item_0``, ``item_1``, ...
    max_rules : int, optional
        Most antecedents to search before giving up; default: as many as fit in memory.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    backend : {"auto", "numba", "cupy"}
        What does the search; "auto" takes the best that is there. The result is the same for any.

    Returns
    -------
    pl.DataFrame
        schemas.Rules in rule order: confidence and antecedent_count descending, then shorter
        antecedents, then words, objects, attributes and answer ascending. ``rule_id`` is the position.
        ``antecedent_attributes`` is there if `transactions` have attributes.

    Raises
    ------
    ConfigError
        Options without meaning, lengths that differ, or more than `max_rules` antecedents: a frame can't say
        that rules are missing, as ``shortcut-miner mine`` does; or more rules than fit in memory.
    BackendError
        The backend is not available.
    SchemaError
        Missing or mistyped items, answers or cells.

    Notes
    -----
    Ties between answers of one antecedent go to the answer that is rarer overall, then to the
    lexicographically smaller one.

    Examples
    --------
    >>> questions = [["what", "sport", "racket"], ["what", "sport", "racket"], ["what", "color"]]
    >>> rules = mine_rules(questions, ["tennis", "tennis", "red"], min_count=2, superset_filter="all")
    >>> rules.select(pl.col("antecedent_words").list.join(" "), "answer", "rule_count", "confidence").rows()
    [('racket', 'tennis', 2, 1.0), ('sport', 'tennis', 2, 1.0), ('what', 'tennis', 2, 0.66...)]
    """
    config = SearchConfig(
        min_count=min_count,
        max_antecedent=max_antecedent,
        max_rules=max_rules,
        min_confidence=min_confidence,
        superset_filter=superset_filter,
        empty_rule=empty_rule,
    )
    _check_threads(threads)
    encoded = encode_answered(transactions, answers, weights=weights, item_names=item_names)
    found = search_rules(encoded, config, threads=threads, backend=backend)
    check_fits(len(found.rules), BYTES_A_TABLED_RULE)
    return rules_table(found.rules, encoded.vocabulary, encoded.transaction_count)


def encode_answered(
    transactions: TransactionsLike,
    answers: AnswersLike,
    *,
    weights: Sequence[int] | None = None,
    item_names: Sequence[str] | None = None,
) -> Transactions:
    """Return transactions and answers, in any form that :func:`mine_rules` takes, as rows to search."""
    transactions, answers = split_answers(transactions, answers)
    rows = read_items(transactions, item_names)
    return encode_item_table(
        rows.with_columns(answer=read_answers(answers, len(rows)), weight=checked_weights(weights, len(rows)))
    )


def match_rules(
    rules: pl.DataFrame,
    transactions: TransactionsLike,
    answers: AnswersLike = None,
    *,
    item_names: Sequence[str] | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> pl.DataFrame:
    """Return, per row, how many rules fire on it and which of them comes first.

    A rule fires where its whole antecedent is present; items that rules or rows know alone match nothing.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules. Its order of rows decides which rule is the best; as mined, the most confident.
    transactions, item_names, threads, backend
        See :func:`mine_rules`.
    answers : as for :func:`mine_rules`, or lists of str, optional, [rows]
        The right answer of each row, or all answers that count as right.

    Returns
    -------
    pl.DataFrame
        row, matching_rule_count (UInt32), best_rule_id (UInt32, null = no rule fires); with `answers` also
        correct_rule_count and best_correct_rule_id, of the firing rules whose answer is right.

    Examples
    --------
    >>> rules = mine_rules([["dog"], ["dog"], ["cat"]], ["yes", "yes", "no"], min_count=1)
    >>> match_rules(rules, [["a", "dog"], ["a"]], ["no", "no"]).rows()
    [(0, 1, 0, 0, None), (1, 0, 0, None, None)]
    """
    _check_threads(threads)
    transactions, answers = split_answers(transactions, answers)
    rows = read_items(transactions, item_names)
    arrays, encoded = _encode_both(rules, rows)
    accepted = None if answers is None else _accepted(answers, len(rows), encoded.vocabulary)
    totals = match_totals(arrays, encoded, accepted, threads, backend=backend)
    table = pl.DataFrame(
        {
            "row": np.arange(len(rows), dtype=np.uint32),
            "matching_rule_count": totals.row_fired.astype(np.uint32),
            "correct_rule_count": totals.row_right.astype(np.uint32),
            "best_rule_id": _rule_ids(rules, totals.row_best),
            "best_correct_rule_id": _rule_ids(rules, totals.row_best_right),
        }
    )
    return table if answers is not None else table.select("row", "matching_rule_count", "best_rule_id")


def match_rule_pairs(
    rules: pl.DataFrame,
    transactions: TransactionsLike,
    *,
    item_names: Sequence[str] | None = None,
    backend: str | Backend = "auto",
) -> pl.DataFrame:
    """Return every (row, rule_id) such that the rule fires on the row, UInt32, sorted by row and rule order.

    A row may have thousands of rules: :func:`match_rules` gives their number first. See it for the
    parameters.

    Examples
    --------
    >>> rules = mine_rules([["dog"], ["dog"], ["cat"]], ["yes", "yes", "no"], min_count=1)
    >>> match_rule_pairs(rules, [["cat", "dog"], [], ["cat"]]).rows()
    [(0, 0), (0, 1), (2, 1)]
    """
    arrays, encoded = _encode_both(rules, read_items(transactions, item_names))
    parts = [pl.DataFrame(schema={"row": pl.UInt32, "rule_id": pl.UInt32})]
    for first, offsets, pairs in match_pairs(arrays, encoded, backend=backend):
        row = np.repeat(np.arange(first, first + len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
        parts.append(pl.DataFrame({"row": row, "rule_id": _rule_ids(rules, pairs)}))
    return pl.concat(parts)


def _check_threads(threads: int | None) -> None:
    if threads is not None and not (isinstance(threads, Integral) and threads >= 1):
        raise ConfigError(f"threads: got {threads}, expected 1 or more. Leave it out to use all processors.")


def _encode_both(rules: pl.DataFrame, rows: pl.DataFrame) -> tuple[RuleArrays, Transactions]:
    """Return rules and rows in one vocabulary: the rows' items, the rules' answers."""
    validated(rules, Rules, "rules")
    attributes = rows.get_column("attributes", default=None)
    # Matching needs no counts.
    vocabulary = build_vocabulary(rows["words"], rows["objects"], rules["answer"], attributes=attributes)
    as_sets = pl.col(antecedent_columns(rules)).list.unique()
    no_answer = rows.with_columns(answer=pl.lit(None, pl.String))
    return encode_rules(rules.with_columns(as_sets), vocabulary), encode_item_lists(no_answer, vocabulary)


def _accepted(answers: AnswersLike, rows: int, vocabulary: Vocabulary) -> Accepted:
    """Return the right answers of each row, whether it has one or a list."""
    column = read_answers(answers, rows, allow_lists=True)
    known = pl.select(
        answer=column if column.dtype == pl.String else pl.lit(None, pl.String),
        answers=column if column.dtype != pl.String else pl.lit(None, pl.List(pl.String)),
    )
    return Accepted(*accepted_classes(known, vocabulary))


def _rule_ids(rules: pl.DataFrame, positions: npt.NDArray[np.int64]) -> pl.Series:
    numbers = pl.Series(positions)
    return rules["rule_id"].gather(numbers.set(numbers < 0, None))
