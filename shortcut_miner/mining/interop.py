"""Other libraries' tables: one-hot frames and matrices in, mlxtend's rule frames out and back.

pandas and mlxtend are optional (``pip install 'shortcut-miner[interop]'``) and imported when asked for.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import Vocabulary, string_lists
from shortcut_miner.errors import BackendError, ConfigError, SchemaError, examples, problem_list
from shortcut_miner.mining.rules import encode_rules, rule_order, rules_table
from shortcut_miner.schemas import Rules, validated

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse

OneHot: TypeAlias = "pl.DataFrame | pd.DataFrame | npt.NDArray[Any] | sparse.sparray | sparse.spmatrix"

# Whole counts come back from float supports with an error of about 1e-16 x transaction_count.
_COUNT_TOLERANCE = 1e-3
_MLXTEND_COLUMNS = ("antecedents", "consequents", "antecedent support", "consequent support", "support")


def is_pandas(value: object, kind: str) -> bool:
    """Say whether `value` is a pandas object of this class name, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, kind))


def is_onehot(value: object) -> bool:
    """Say whether `value` is a frame or matrix that :func:`from_onehot` takes."""
    is_matrix = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf"
    return is_matrix or isinstance(value, pl.DataFrame) or is_pandas(value, "DataFrame") or hasattr(value, "tocsr")


def from_onehot(table: OneHot, item_names: Sequence[str] | None = None) -> pl.Series:
    """Return List[String][rows]: the items of each row of a one-hot table, in column order.

    Parameters
    ----------
    table : pl.DataFrame, pandas.DataFrame, 2-D NumPy array or SciPy sparse matrix, [rows, items]
        True/False or 1/0 in every cell. Columns of a frame are the items, as mlxtend takes them.
    item_names : sequence of str, optional
        Names of a matrix' columns, default ``item_0``, ``item_1``, ...

    Raises
    ------
    SchemaError
        Some cells are missing or neither 0 nor 1: all such columns at once.
    ConfigError
        Names that are repeated, don't fit the number of columns, or are given for a frame.

    Examples
    --------
    >>> from_onehot(np.array([[1, 0], [1, 1]]), ["dog", "cat"]).to_list()
    [['dog'], ['dog', 'cat']]
    """
    rows, columns, shape, names = _nonzero(table)
    if item_names is not None and names is not None:
        raise ConfigError(
            f"item_names: got names beside a {type(table).__name__}, expected them for matrices only. "
            "Rename the frame's columns instead."
        )
    names = _checked_names(names or item_names, shape[1])
    offsets = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=offsets[1:])
    order = np.argsort(rows, kind="stable")
    return string_lists(offsets, columns[order].astype(np.int32), pl.Series(names, dtype=pl.String))


def _nonzero(
    table: OneHot,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], tuple[int, int], list[str] | None]:
    """Return (rows, columns) of the cells that are 1, the shape, and the frame's column names."""
    if isinstance(table, pl.DataFrame):
        columns = [(name, _polars_values(table[name])) for name in table.columns]
        return (*_column_cells(columns), table.shape, table.columns)
    if is_pandas(table, "DataFrame"):
        names = [str(name) for name in table.columns]
        if len(names) and all(hasattr(dtype, "sparse") or "Sparse" in str(dtype) for dtype in table.dtypes):
            return (*_matrix_cells(table.sparse.to_coo(), names), table.shape, names)
        columns = [(name, _pandas_values(table.iloc[:, k])) for k, name in enumerate(names)]
        return (*_column_cells(columns), table.shape, names)
    return (*_matrix_cells(table, None), table.shape, None)


def _polars_values(column: pl.Series) -> npt.NDArray[np.generic] | str:
    """Return a column as bool or numbers, or what is wrong with it."""
    if column.null_count():
        return f"{column.null_count():,} nulls"
    is_number = column.dtype == pl.Boolean or column.dtype.is_numeric()
    return column.to_numpy() if is_number else f"type {column.dtype}"


def _pandas_values(column: "pd.Series") -> npt.NDArray[np.generic] | str:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    nulls = int(column.isna().sum())
    if nulls:
        return f"{nulls:,} nulls"
    if not (is_bool_dtype(column.dtype) or is_numeric_dtype(column.dtype)):
        return f"type {column.dtype}"
    return column.to_numpy(dtype=np.float64 if is_numeric_dtype(column.dtype) else np.bool_)


def _column_cells(
    columns: list[tuple[str, npt.NDArray[np.generic] | str]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    problems, rows = [], [np.empty(0, np.int64)]
    for name, values in columns:
        problem = values if isinstance(values, str) else _not_binary(values)
        if problem:
            problems.append(f"column {name!r}: got {problem}")
        elif not isinstance(values, str):
            rows.append(np.flatnonzero(values))
    _raise_problems(problems)
    sizes = [len(part) for part in rows[1:]]
    return np.concatenate(rows), np.repeat(np.arange(len(sizes)), sizes)


def _matrix_cells(
    matrix: Any, names: list[str] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (rows, columns) of a dense array's or sparse matrix' cells that are not 0."""
    if not hasattr(matrix, "tocsr"):
        rows, columns = np.nonzero(matrix)
        values = matrix[rows, columns]
    else:
        cells = matrix.tocsr().tocoo()  # sums repeated entries, as SciPy reads them
        rows, columns, values = cells.row[cells.data != 0], cells.col[cells.data != 0], cells.data[cells.data != 0]
    wrong = columns[values != 1]
    if len(wrong):
        _raise_problems(
            [
                f"column {names[column] if names else int(column)!r}: got {_not_binary(values[columns == column])}"
                for column in np.unique(wrong)[:100]
            ]
        )
    return rows.astype(np.int64), columns.astype(np.int64)


def _not_binary(values: npt.NDArray[np.generic]) -> str | None:
    """Return what is wrong with bool or numbers that should be 0 or 1."""
    if values.dtype == np.bool_:
        return None
    wrong = values[(values != 0) & (values != 1)]
    return f"{len(wrong):,} cells such as {wrong[0].item()}" if len(wrong) else None


def _raise_problems(problems: list[str]) -> None:
    if problems:
        title = (
            "transactions: got columns that are not one-hot, expected True/False or 1/0 in every cell. "
            "Fill missing cells and turn the others into bool."
        )
        raise SchemaError(problem_list(title, problems))


def _checked_names(names: Sequence[str] | None, count: int) -> list[str]:
    checked = [f"item_{k}" for k in range(count)] if names is None else [str(name) for name in names]
    if len(checked) != count:
        raise ConfigError(
            f"item_names: got {len(checked):,} names, expected {count:,}, one a column. Name every column."
        )
    if len({*checked}) != count:
        repeated = sorted({name for name in checked if checked.count(name) > 1})
        raise ConfigError(
            f"items: got repeated names {examples(repeated)}, expected distinct columns. "
            "Rename or merge these columns."
        )
    return checked


def to_mlxtend(rules: pl.DataFrame, *, object_prefix: str = "object: ", answer_prefix: str = "") -> "pd.DataFrame":
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
        With this prefix some object would be taken for a word.

    Examples
    --------
    >>> from shortcut_miner.mining.tables import mine_rules
    >>> rules = mine_rules([["dog"], ["dog"], ["cat"]], ["yes", "yes", "no"], min_count=2)
    >>> to_mlxtend(rules)[["antecedents", "consequents", "support", "zhangs_metric"]]
      antecedents      consequents   support  zhangs_metric
    0  frozenset({'dog'})  frozenset({'yes'})  0.666667            1.0
    """
    pandas = _import_pandas("to_mlxtend")
    validated(rules, Rules, "rules")
    words = rules["antecedent_words"].to_list()
    confused = sorted({word for row in words for word in row if word.startswith(object_prefix)})
    if confused and rules["antecedent_objects"].list.len().sum():
        raise ConfigError(
            f"object_prefix: got {object_prefix!r}, expected one that no word begins with, but {examples(confused)} "
            "does. Choose another."
        )
    objects = [[object_prefix + name for name in row] for row in rules["antecedent_objects"].to_list()]
    sides = {
        "antecedents": [frozenset(row + found) for row, found in zip(words, objects, strict=True)],
        "consequents": [frozenset({answer_prefix + answer}) for answer in rules["answer"].to_list()],
    }
    measures = rules.select(**_mlxtend_measures())
    return pandas.DataFrame({**sides, **{name: measures[name].to_numpy() for name in measures.columns}})


def _mlxtend_measures() -> dict[str, pl.Expr]:
    """Return mlxtend's measures over the counts of a Rules table, in mlxtend's order."""
    total, both, left, right = (
        pl.col(name).cast(pl.Float64) for name in ("transaction_count", "rule_count", "antecedent_count", "answer_count")
    )
    leverage = (both * total - left * right) / (total * total)
    confidence, expected = both / left, right / total
    largest = pl.max_horizontal(both * (total - left), left * (right - both)) / (total * total)
    return {
        "antecedent support": left / total,
        "consequent support": expected,
        "support": both / total,
        "confidence": confidence,
        "lift": pl.col("lift"),
        "representativity": pl.lit(1.0),
        "leverage": leverage,
        "conviction": pl.when(both < left).then((1 - expected) / (1 - confidence)).otherwise(pl.lit(float("inf"))),
        "zhangs_metric": pl.when(largest == 0).then(pl.lit(0.0)).otherwise(leverage / largest),
        "jaccard": both / (left + right - both),
        "certainty": pl.when(right == total).then(pl.lit(0.0)).otherwise((confidence - expected) / (1 - expected)),
        "kulczynski": (confidence + both / right) / 2,
    }


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
        Taken away from objects (items that begin so) and answers. See :func:`to_mlxtend`.

    Raises
    ------
    SchemaError
        Missing columns, consequents of several items or without the prefix, supports that are no whole
        numbers of rows: all problems at once.
    """
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
    by_answer = table.group_by("answer").agg(pl.col("answer_count").max()).sort("answer_count", "answer")
    vocabulary = Vocabulary(
        words=_distinct(table["antecedent_words"]),
        objects=_distinct(table["antecedent_objects"]),
        answers=by_answer["answer"],
        answer_counts=by_answer["answer_count"].to_numpy(),
    )
    rules = encode_rules(table, vocabulary)
    return rules_table(rules.take(rule_order(rules, vocabulary)), vocabulary, transaction_count)


def _check_mlxtend(
    consequents: list[tuple[object, ...]],
    answer_prefix: str,
    counts: dict[str, npt.NDArray[np.float64]],
    transaction_count: int,
) -> None:
    problems = []
    several = [set(items) for items in consequents if len(items) != 1]
    if several:
        problems.append(f"{len(several):,} consequents of several items, such as {several[0]}: keep rules with one")
    strangers = [items[0] for items in consequents if len(items) == 1 and not str(items[0]).startswith(answer_prefix)]
    if strangers:
        problems.append(f"{len(strangers):,} consequents without {answer_prefix!r}, such as {strangers[0]!r}")
    for name, values in counts.items():
        broken = np.flatnonzero(~(np.abs(values - np.rint(values)) <= _COUNT_TOLERANCE))
        if len(broken):
            problems.append(
                f"{name}: {len(broken):,} supports that are no whole number of {transaction_count:,} rows, such as "
                f"{values[broken[0]]:.6g} rows"
            )
    if problems:
        title = (
            "mlxtend frame: got rules that don't fit, expected one answer each and supports over transaction_count "
            "rows. Correct these."
        )
        raise SchemaError(problem_list(title, problems))


def _is_object(item: str, prefix: str) -> bool:
    return bool(prefix) and item.startswith(prefix)


def _sorted_lists(rows: Iterable[list[str]]) -> pl.Series:
    return pl.Series([sorted(row) for row in rows], dtype=pl.List(pl.String))


def _distinct(lists: pl.Series) -> pl.Series:
    return lists.filter(lists.list.len() > 0).explode().unique().sort()


def _import_pandas(wanted_by: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise BackendError(
            f"{wanted_by}: got no pandas, expected it to be installed. Run pip install 'shortcut-miner[interop]'."
        ) from error
    return pandas
