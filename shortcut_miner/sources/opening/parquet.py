"""Named columns of a Parquet file, as the types our tables need."""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.reading import RECORD

Need = Literal["id", "text", "number"]
_TARGETS: dict[Need, pl.DataType] = {"id": pl.String(), "text": pl.String(), "number": pl.Float64()}
_WORDS: dict[Need, str] = {"id": "text or whole numbers", "text": "text", "number": "numbers"}


def read_schema(source: Source) -> dict[str, Any]:
    """Return column name -> Polars type of a Parquet file.

    Raises
    ------
    SourceError
        The file is cut or damaged.
    """
    try:
        return dict(pl.read_parquet_schema(io.BytesIO(source.content)))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(source, error) from error


def read_columns(source: Source, needs: Mapping[str, Need], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Return the named columns with the working column `record`; absent optional ones are null.

    Raises
    ------
    SourceError
        The file is cut or damaged, has no rows, lacks a column, or has one of another type.
    """
    schema = read_schema(source)
    problems = [
        f"column {name}: got {schema[name]}, expected {_WORDS[need]}"
        if name in schema
        else f"column {name}: got no such column, expected {_WORDS[need]}"
        for name, need in needs.items()
        if (name in schema and not _fits(schema[name], need)) or (name not in schema and name not in optional)
    ]
    if problems:
        title = (
            f"{source.path}: got a Parquet table with the columns {examples(schema, limit=20)}, "
            f"expected {', '.join(needs)}. Rename or convert its columns."
        )
        raise SourceError(problem_list(title, problems))
    try:
        table = pl.read_parquet(
            io.BytesIO(source.content), columns=[name for name in needs if name in schema]
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(source, error) from error
    if table.is_empty():
        raise SourceError(f"{source.path}: got a table without rows, expected at least one. Check the file.")
    columns = [
        (pl.col(name) if name in schema else pl.lit(None)).cast(_TARGETS[need]).alias(name)
        for name, need in needs.items()
    ]
    return table.select(columns).with_row_index(RECORD)


def _fits(dtype: pl.DataType, need: Need) -> bool:
    if dtype == pl.Null:
        return True
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
    if need == "number":
        return dtype.is_numeric()
    return is_text or (need == "id" and dtype.is_integer())


def _damaged(source: Source, error: Exception) -> SourceError:
    return SourceError(
        f"{source.path}: got a damaged Parquet file ({str(error).splitlines()[0]}), expected a complete one. "
        "Download or copy it again: it was probably cut."
    )
