"""What an id, a text or a number may look like in a file, and how columns of each kind are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.sources.opening.json_records import ID_EXPECTED, AnyId, Chunk, id_text, is_fraction
from shortcut_miner.sources.opening.json_text import Raws, fields_of
from shortcut_miner.sources.opening.reading import RECORD, Problem, find_problems

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
_Plain = bool | int | float | str | None
_JSON_TYPES: dict[Kind, Any] = {
    "id": AnyId, "text": str, "value": _Plain, "texts": list[Any] | _Plain,
    "number": float, "whole": int,
}  # fmt: skip
_MAY_BE_NULL = ("value", "texts", "any")
_NO_KEY = re.compile(r'["\\\x00-\x1f]')  # what msgspec allows in no name
_FRACTION = r"[^\d-]"  # in the text of a number's id
_WHOLE_TEXT, _FRACTION_TEXT = r"^(-?\d+)\.0+$", r"^-?\d+\.\d+$"
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
        What it holds and how it comes out: "id" (text or whole numbers, as text: 1.0 is "1"), "text", "value"
        (text or numbers, as text), "texts" (List[String]: lists, or text with ``|`` between), "number"
        (Float64), "whole" (Int64; null where a number isn't whole), "any" (as it is in the file; in text
        files, text).
    is_optional : bool
        Whether a file may lack it: then it is null.
    names : tuple of str
        Under which files have it, in the order of preference; only its own name if empty.
    """

    kind: Kind
    is_optional: bool = False
    names: tuple[str, ...] = ()


Needs = Mapping[str, Column]


def optional(needs: Needs) -> dict[str, Column]:
    """Return what to read of a table that has all it needs, but not in each record: null there."""
    return {name: replace(need, is_optional=True) for name, need in needs.items()}


def fits(dtype: pl.DataType, kind: Kind) -> bool:
    """Return whether a column of some type may be read as a kind."""
    if dtype == pl.Null or kind == "any":
        return True
    if kind in ("number", "whole"):
        return dtype.is_numeric()
    if kind == "texts" and isinstance(dtype, pl.List):
        return not dtype.inner.is_nested()
    if kind in ("value", "texts"):
        return not dtype.is_nested()
    return dtype in (pl.String, pl.Categorical, pl.Enum) or (kind == "id" and dtype.is_numeric())


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
    if kind == "id" and dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        # What is not whole is told by fractions().
        return (
            pl.when(whole.cast(dtype) == column).then(whole.cast(pl.String)).otherwise(column.cast(pl.String))
        )
    if kind == "texts" and not isinstance(dtype, pl.List):
        text = column.cast(pl.String)
        return pl.when(text != "").then(text.str.split(LIST_MARK).list.eval(pl.element().str.strip_chars()))
    if kind == "whole" and dtype.is_float():
        return pl.when(column == column.round()).then(column).cast(pl.Int64, strict=False)
    return column.cast(_TARGETS[kind], strict=kind not in ("number", "whole"))


def fractions(
    table: pl.DataFrame, needs: Needs, names: Mapping[str, str | None], types: Mapping[str, pl.DataType]
) -> list[Problem]:
    """Return a problem for each id that is a number but not whole."""
    return [
        problem
        for ours, name in names.items()
        if name is not None and needs[ours].kind == "id" and types[name].is_float()
        for problem in find_problems(table, pl.col(ours).str.contains(_FRACTION), ours, ID_EXPECTED, name)
    ]


def sheet_ids(table: pl.DataFrame, needs: Needs) -> tuple[pl.DataFrame, list[Problem]]:
    """Return a sheet's table, in which numbers are text, with clean ids, and a problem for each fraction."""
    ids = [name for name, need in needs.items() if need.kind == "id"]
    table = table.with_columns(pl.col(ids).str.replace(_WHOLE_TEXT, "$1"))
    return table, [
        problem
        for one in ids
        for problem in find_problems(table, pl.col(one).str.contains(_FRACTION_TEXT), one, ID_EXPECTED)
    ]


# ---- values of JSON records ----


@dataclass(frozen=True)
class JsonColumns:
    """How the needed columns of JSON records are decoded: each distinct field of the file once.

    Attributes
    ----------
    needs : mapping of str to Column
    fields : mapping of str to str
        Our column -> the file's field; several of ours may read the same.
    """

    needs: Needs
    fields: Mapping[str, str]

    @cached_property
    def keys(self) -> dict[str, str]:
        """The file's fields -> their names in the decoded text: the same wherever msgspec allows it."""
        keys: dict[str, str] = {}
        for name in self.fields.values():
            key = _NO_KEY.sub("?", name)
            while key != name and (key in self.fields.values() or key in keys.values()):
                key += "?"
            keys.setdefault(name, key)
        return keys

    @cached_property
    def places(self) -> dict[str, str]:
        """The file's fields -> the struct's."""
        return {name: f"field_{at}" for at, name in enumerate(self.keys)}

    @cached_property
    def record_type(self) -> Any:
        """The struct that a record is decoded to."""
        required, optional = [], []
        for name, place in self.places.items():
            asked = [self.needs[ours] for ours, theirs in self.fields.items() if theirs == name]
            # Of several types the first: what doesn't fit the others is null there.
            wanted = next((_JSON_TYPES[one.kind] for one in asked if one.kind in _JSON_TYPES), Any)
            if wanted is Any or all(one.is_optional or one.kind in _MAY_BE_NULL for one in asked):
                optional.append((place, wanted if wanted is Any else wanted | None, None))
            else:
                required.append((place, wanted))
        rename = {self.places[name]: key for name, key in self.keys.items()}
        return msgspec.defstruct("Record", [*required, *optional], rename=rename, gc=False)

    def raws(self, raws: Raws) -> Raws:
        """Return undecoded records under the keys that they are decoded by."""
        if all(name == key for name, key in self.keys.items()):
            return raws
        return [self._renamed(raw) for raw in raws]

    def _renamed(self, raw: bytes | msgspec.Raw) -> bytes | msgspec.Raw:
        fields = fields_of(raw)
        kept = {key: fields[name] for name, key in self.keys.items() if name in fields}
        return msgspec.json.encode(kept) if fields else raw  # what is no record is told by its decoder

    def table(self, path: str, chunk: Chunk[Any]) -> tuple[pl.DataFrame, list[Problem]]:
        """Return decoded records as the working column `record` and columns of their kinds, and problems."""
        columns = {RECORD: pl.Series(chunk.positions, dtype=pl.UInt32)}
        problems = list(chunk.problems)
        for ours, name in self.fields.items():
            values = [getattr(record, self.places[name]) for record in chunk.records]
            kind = self.needs[ours].kind
            columns[ours] = _json_column(path, values, kind).alias(ours)
            if kind == "id":
                problems += [
                    Problem((position,), name, repr(one), ID_EXPECTED)
                    for position, one in zip(chunk.positions, values, strict=True)
                    if is_fraction(one)
                ]
        return pl.DataFrame(columns), problems


def json_columns(needs: Needs, names: Mapping[str, str | None]) -> JsonColumns:
    """Return how columns are decoded; those that no record seems to have under their first name."""
    return JsonColumns(
        needs, {ours: found or (needs[ours].names or (ours,))[0] for ours, found in names.items()}
    )


def _json_column(path: str, values: list[Any], kind: Kind) -> pl.Series:
    if kind == "id":
        return pl.Series([id_text(one) for one in values], dtype=pl.String)
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
            f"{path}: got values of several types in one column ({reason_of(error)}), "
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
