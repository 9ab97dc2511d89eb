"""One-hot tables of items, dense or sparse, as lists of items.

pandas and SciPy are only looked at if the caller has imported them.
"""

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import string_lists
from shortcut_miner.errors import ConfigError, SchemaError, examples, problem_list

# pl.DataFrame, pandas.DataFrame, 2-D NumPy array, SciPy sparse matrix: Any, as pandas may be missing.
OneHot: TypeAlias = Any

Cells: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
_MAX_WRONG_COLUMNS = 100
_NUMBERS = "biuf"  # NumPy's kinds of them


def is_pandas(value: object, kind: str) -> bool:
    """Say whether `value` is a pandas object of this class name, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, kind))


def is_onehot(value: object) -> bool:
    """Say whether `value` is a frame or matrix that :func:`from_onehot` takes."""
    is_matrix = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in _NUMBERS
    return (
        is_matrix
        or isinstance(value, pl.DataFrame)
        or is_pandas(value, "DataFrame")
        or hasattr(value, "tocsr")
    )


def from_onehot(table: OneHot, item_names: Sequence[str] | None = None) -> pl.Series:
    """Return List[String][rows]: the items of each row of a one-hot table, in column order.

    Parameters
    ----------
    table : pl.DataFrame, pandas.DataFrame, 2-D NumPy array or SciPy sparse matrix, [rows, items]
        True/False or 1/0 in every cell; columns of pandas may be categorical, of objects, or sparse with any
        fill value (NaN: what is not stored is not there). Columns of a frame are the items, as mlxtend takes
        them.
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
    (rows, columns), shape, names = _nonzero(table)
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


def _nonzero(table: OneHot) -> tuple[Cells, tuple[int, int], list[str] | None]:
    """Return the cells that are 1, as (rows, columns), the shape, and a frame's column names."""
    if isinstance(table, pl.DataFrame):
        columns = [(name, _polars_values(table[name])) for name in table.columns]
        return _column_cells(columns), table.shape, table.columns
    if not is_pandas(table, "DataFrame"):
        return _matrix_cells(table, None), table.shape, None
    names = [str(name) for name in table.columns]
    if names and all(getattr(dtype, "fill_value", None) == 0 for dtype in table.dtypes):
        return _matrix_cells(table.sparse.to_coo(), names), table.shape, names
    columns = [(name, _pandas_values(table.iloc[:, k])) for k, name in enumerate(names)]
    return _column_cells(columns), table.shape, names


def _polars_values(column: pl.Series) -> npt.NDArray[np.generic] | str:
    """Return a column as bool or numbers, or what is wrong with it."""
    if column.null_count():
        return f"{column.null_count():,} nulls"
    is_number = column.dtype == pl.Boolean or column.dtype.is_numeric()
    return column.to_numpy() if is_number else f"type {column.dtype}"


def _pandas_values(column: Any) -> npt.NDArray[np.generic] | str:
    from pandas.api.types import infer_dtype

    values = column.to_numpy()  # dense, whatever the column's own form is
    missing = column.isna().to_numpy(dtype=np.bool_)
    if missing.any():
        # A sparse column may leave out what is not there; beside stored zeros NaN means something else.
        is_left_out = _is_nan(getattr(column.dtype, "fill_value", None)) and (values[~missing] != 0).all()
        if not is_left_out:
            return f"{int(missing.sum()):,} nulls"
        values = np.where(missing, 0, values)
    if len(values) and infer_dtype(values) not in ("boolean", "integer", "floating"):
        return f"type {column.dtype}"
    return np.asarray(values.tolist())


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def _column_cells(columns: list[tuple[str, npt.NDArray[np.generic] | str]]) -> Cells:
    problems, rows = [], [np.empty(0, np.int64)]
    for name, values in columns:
        problem = values if isinstance(values, str) else _not_binary(values)
        if problem:
            problems.append(f"column {name!r}: got {problem}")
        else:
            rows.append(np.flatnonzero(values))
    _raise_problems(problems)
    sizes = [len(part) for part in rows[1:]]
    return np.concatenate(rows), np.repeat(np.arange(len(sizes)), sizes)


def _matrix_cells(matrix: Any, names: list[str] | None) -> Cells:
    """Return the cells of a dense array or sparse matrix that are not 0."""
    if hasattr(matrix, "tocsr"):
        cells = matrix.tocsr().tocoo()  # adds up repeated entries, as SciPy reads them
        rows, columns, values = cells.row, cells.col, cells.data
        rows, columns, values = rows[values != 0], columns[values != 0], values[values != 0]
    else:
        rows, columns = np.nonzero(matrix)
        values = matrix[rows, columns]
    problems = []
    for column in np.unique(columns[values != 1])[:_MAX_WRONG_COLUMNS]:
        name = names[column] if names else int(column)
        problems.append(f"column {name!r}: got {_not_binary(values[columns == column])}")
    _raise_problems(problems)
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
