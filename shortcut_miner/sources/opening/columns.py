"""What an id, a text or a number may look like in a file, and how columns of each kind are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.json_records import Chunk
from shortcut_miner.sources.opening.reading import RECORD

Kind = Literal["id", "text", "value", "texts", "number", "whole", "any"]
LIST_MARK = "|"
WORDS: dict[Kind, str] = {
    "id": "text or whole numbers",
    "text": "text",
    "value": "text or numbers",
    "texts": "text or lists of text",
    "number": "numbers",
    "whole": "whole numbers",
    "any": "a value",
}
_JSON_TYPES: dict[Kind, Any] = {"id": int | str, "text": str, "number": float, "whole": int}
_TARGETS: dict[Kind, Any] = {
    **dict.fromkeys(("id", "text", "value"), pl.String()),
    "texts": pl.List(pl.String),
    "number": pl.Float64(),
    "whole": pl.Int64(),
    "any": None,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a reader needs.

    Attributes
    ----------
    kind : str
        What it holds and how it comes out: "id" (text or whole numbers, as text), "text", "value" (text or
        numbers, as text), "texts" (List[String]: lists, or text with ``|`` between), "number" (Float64),
        "whole" (Int64; null where a number isn't whole), "any" (as it is in the file; in text files, text).
    is_optional : bool
        Whether a file may lack it: then it is null.
    names : tuple of str
        Under which files have it, in the order of preference; only its own name if empty.
    """

    kind: Kind
    is_optional: bool = False
    names: tuple[str, ...] = ()


Needs = Mapping[str, Column]


def fits(dtype: pl.DataType, kind: Kind) -> bool:
    """Return whether a column of some type may be read as a kind."""
    if dtype == pl.Null or kind == "any":
        return True
    if kind in ("number", "whole"):
        return dtype.is_numeric()
    if kind == "value":
        return not dtype.is_nested()
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
    return (
        is_text or (kind == "id" and dtype.is_integer()) or (kind == "texts" and isinstance(dtype, pl.List))
    )


# ---- values of typed columns, and of text ----


def expressions(
    needs: Needs, names: Mapping[str, str | None], types: Mapping[str, pl.DataType]
) -> list[pl.Expr]:
    """Return the columns as their kinds have them; `names` and `types` are those of the file."""
    return [_converted(name, needs[ours].kind, types).alias(ours) for ours, name in names.items()]


def _converted(name: str | None, kind: Kind, types: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return a column's values as its kind has them; `types` are those of the file."""
    if name is None:
        return pl.lit(None, _TARGETS[kind])
    column, dtype = pl.col(name), types[name]
    if kind == "any":
        return column
    if kind == "texts" and not isinstance(dtype, pl.List):
        text = column.cast(pl.String)
        return pl.when(text != "").then(text.str.split(LIST_MARK).list.eval(pl.element().str.strip_chars()))
    if kind == "whole" and dtype.is_float():
        return pl.when(column == column.round()).then(column).cast(pl.Int64, strict=False)
    return column.cast(_TARGETS[kind], strict=kind not in ("number", "whole"))


# ---- values of JSON records ----


def record_type(needs: Needs, names: Mapping[str, str | None]) -> Any:
    """Return the struct that JSON records are decoded to."""
    required: list[Any] = []
    optional: list[Any] = []
    for name, need in needs.items():
        wanted = _JSON_TYPES.get(need.kind, Any)
        if wanted is Any or need.is_optional:
            optional.append((name, wanted if wanted is Any else wanted | None, None))
        else:
            required.append((name, wanted))
    rename = {name: found or (needs[name].names or (name,))[0] for name, found in names.items()}
    return msgspec.defstruct("Record", required + optional, rename=rename, gc=False)


def json_columns(path: str, chunk: Chunk[Any], needs: Needs) -> pl.DataFrame:
    """Return decoded records as the working column `record` and columns of their kinds."""
    columns = {RECORD: pl.Series(chunk.positions, dtype=pl.UInt32)}
    for name, need in needs.items():
        values = [getattr(record, name) for record in chunk.records]
        columns[name] = _json_column(path, values, need.kind).alias(name)
    return pl.DataFrame(columns)


def _json_column(path: str, values: list[Any], kind: Kind) -> pl.Series:
    if kind == "id":
        return pl.Series([one if one is None else str(one) for one in values], dtype=pl.String)
    if kind == "value":
        return pl.Series([_shown(one) for one in values], dtype=pl.String)
    if kind == "texts":
        return pl.Series([_listed(one) for one in values], dtype=_TARGETS[kind])
    if kind != "any":
        return pl.Series(values, dtype=_TARGETS[kind], strict=False)
    try:
        return pl.Series(values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: got values of several types in one column ({str(error).splitlines()[0]}), "
            "expected text, whole numbers, or lists of text. Correct them."
        ) from error


def _shown(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _listed(value: Any) -> list[str] | None:
    """Return a list of texts; of an annotator's record (an object) its answer."""
    if isinstance(value, list):
        return [str(one.get("answer", one)) if isinstance(one, dict) else str(one) for one in value]
    if value is None or value == "":
        return None
    return [one.strip() for one in str(value).split(LIST_MARK)]
