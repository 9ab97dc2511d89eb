"""The shape of a plan: which row is which, read without the donors."""

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shortcut_miner.columnar import look_at_columns
from shortcut_miner.diagnostics.swapmix.metrics import TYPES, PlanShape
from shortcut_miner.diagnostics.swapmix.plan import KINDS
from shortcut_miner.diagnostics.swapmix.plan_folder import SwapMixFolder
from shortcut_miner.drafts import literal
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.flat_tables import column_errors

_ROWS_AT_ONCE = 1 << 20
_COLUMNS = ("kind", "swap_index", "is_padding", "from_class")


def read_shape(folder: SwapMixFolder) -> PlanShape:
    """Return the rows of a folder's plan, without the donors, batch by batch.

    Raises
    ------
    SourceError
        Questions of the plan without a right answer.
    """
    questions = folder.questions.filter(pl.col("exclusion").is_null())
    unanswered = questions["answer"].null_count()
    if unanswered:
        raise SourceError(
            f"{folder.swaps.parent}: got {unanswered:,} questions without an answer, expected all to have "
            "one. Build from questions with answers."
        )
    lengths = questions["row_count"].cast(pl.Int64).to_numpy()
    total = int(lengths.sum())
    kind, index = np.zeros(total, np.uint8), np.zeros(total, np.uint32)
    is_padding, from_class = np.zeros(total, np.bool_), np.full(total, -1, np.int32)
    classes: dict[str, int] = {}
    kinds = {name: number for number, name in enumerate(KINDS)}
    with column_errors(str(folder.swaps)):
        missing = [name for name in _COLUMNS if name not in look_at_columns(folder.swaps).types]
    if missing:
        raise SourceError(
            f"{folder.swaps}: got a plan without {', '.join(missing)}, expected what swapmix build wrote. "
            "Build again."
        )
    with column_errors(str(folder.swaps)):
        file = pq.ParquetFile(literal(folder.swaps), read_dictionary=["kind", "from_class"])
    at = file.metadata.num_rows
    if at == total:
        at = 0
        with column_errors(str(folder.swaps)):
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(_COLUMNS)):
                rows = slice(at, at + len(batch))
                kind[rows] = numbers_of(batch.column("kind"), kinds)
                from_class[rows] = numbers_of(batch.column("from_class"), classes)
                index[rows] = _filled(batch.column("swap_index"), 0)
                is_padding[rows] = _filled(batch.column("is_padding"), False)
                at += len(batch)
    if at != total:
        raise SourceError(
            f"{folder.swaps}: got {at:,} rows, expected {total:,} as questions.parquet says. Build again."
        )
    return PlanShape(
        questions=questions.select(
            *("question_id", "image_id", "answer"), *(name for name in TYPES if name in questions.columns)
        ),
        first=(np.cumsum(lengths) - lengths).astype(np.int64),
        kind=kind,
        index=index,
        is_padding=is_padding,
        from_class=from_class,
        classes=list(classes),
    )


def numbers_of(column: pa.DictionaryArray, known: dict[str, int]) -> NDArray[np.int32]:
    """Return each value's number, -1 for null; new values get new numbers."""
    numbers = [known.setdefault(name, len(known)) for name in column.dictionary.to_pylist()]
    table = np.array([*numbers, -1], np.int32)
    found: NDArray[np.int32] = table[_filled(column.indices, len(numbers))]
    return found


def _filled(column: pa.Array, value: int) -> Any:
    """Return numbers or booleans, `value` for null, through Polars: PyArrow would load pandas for it."""
    return pl.Series(column).fill_null(value).to_numpy()
