"""Classes that are stored as numbers, their names beside: Hugging Face's ``ClassLabel``.

Their names stand in the metadata of a Parquet or Arrow file, in ``dataset_info.json``, or in a dataset's
card.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.nested import is_text

Classes = Mapping[str, Sequence[str]]  # column -> the names of its classes, in the order of their numbers
CLASSES_NOTE = "numbers of classes read as their names"
_METADATA_KEY = b"huggingface"
_NO_CLASS = -1  # what datasets writes where a label is not known, as in tests


def classes_in_metadata(metadata: Mapping[bytes, bytes]) -> Classes:
    """Return the classes of a file that ``datasets`` wrote, of its metadata.

    >>> text = b'{"info": {"features": {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}}}}'
    >>> classes_in_metadata({b"huggingface": text})
    {'label': ['no', 'yes']}
    """
    try:
        found = json.loads(metadata.get(_METADATA_KEY, b"{}"))
        return classes_in_features(found["info"]["features"])
    except (ValueError, LookupError, TypeError, RecursionError):  # somebody else's metadata
        return {}


def classes_in_features(features: object) -> Classes:
    """Return the classes among features as ``datasets`` writes them: JSON of files, or YAML of cards.

    >>> classes_in_features({"tags": {"feature": {"names": ["a"], "_type": "ClassLabel"}, "_type": "List"}})
    {'tags': ['a']}
    >>> classes_in_features([{"name": "label", "dtype": {"class_label": {"names": {"0": "no", "1": "yes"}}}}])
    {'label': ['no', 'yes']}
    """
    if isinstance(features, list):
        entries = [(one.get("name"), one) for one in features if isinstance(one, dict)]
    else:
        entries = list(features.items()) if isinstance(features, dict) else []
    found = ((name, _names(feature)) for name, feature in entries)
    return {str(name): names for name, names in found if names}


def class_type(dtype: pl.DataType) -> pl.DataType:
    """Return the type of a column of classes once they have their names."""
    if isinstance(dtype, pl.List):
        return pl.List(pl.String()) if _are_numbers(dtype.inner) else dtype
    return pl.String() if _are_numbers(dtype) else dtype


def with_class_names(
    table: pl.DataFrame, classes: Classes, path: str, decisions: Counter[str]
) -> pl.DataFrame:
    """Return a table with the names of classes in place of their numbers; `decisions` counts these.

    Text is a name if it is one, else a number, as ``datasets`` has it; -1 is no class, and null.

    Raises
    ------
    SourceError
        A number or text that is no class.
    """
    for name in table.columns:
        if name in classes:
            named = _named(table[name], classes[name], f"{path}, column {name}")
            decisions[f"{name}, {CLASSES_NOTE}"] += _changed(table[name], named)
            table = table.with_columns(named)
    return table


def named_values(values: Sequence[Any], names: Sequence[str], where: str) -> tuple[list[Any], int]:
    """Return values of JSON with the names of classes in place of numbers, and how many there were.

    They are texts, whole numbers or lists of these, read as :func:`with_class_names` reads them.
    """
    numbers, texts = _numbers(names), _texts(names)
    missed: list[Any] = []

    def named(one: Any) -> Any:
        if isinstance(one, list):
            return [named(inner) for inner in one]
        known = texts if isinstance(one, str) else numbers
        if one is None or one == "":
            return one
        if isinstance(one, bool | dict) or one not in known:
            missed.append(one)
            return None
        return known[one]

    found = [named(one) for one in values]
    check_known(missed, names, where)
    return found, sum(old is not None and old != new for old, new in zip(values, found, strict=True))


def _named(column: pl.Series, names: Sequence[str], where: str) -> pl.Series:
    one, known = _single(column, names)
    if not known:
        return column
    check_known(_missed(one, known), names, where)
    is_list = isinstance(column.dtype, pl.List)
    element = pl.element() if is_list else pl.lit(column)
    element = element.cast(one.dtype).replace_strict(known, default=None, return_dtype=pl.String)
    found = pl.lit(column).list.eval(element) if is_list else element
    return pl.select(found.alias(column.name)).to_series()


def no_classes(column: pl.Series, names: Sequence[str]) -> pl.Series:
    """Return the numbers or texts of a column of classes that are none, in their order."""
    one, known = _single(column, names)
    return _missed(one, known) if known else one.clear()


def _missed(one: pl.Series, known: Mapping[Any, str | None]) -> pl.Series:
    return one.filter(one.is_not_null() & ~one.is_in(pl.Series([*known], dtype=one.dtype).implode()))


def _single(column: pl.Series, names: Sequence[str]) -> tuple[pl.Series, dict[Any, str | None]]:
    """Return single values of a column, and the names of those known; {} of one without classes."""
    one = column.explode(empty_as_null=False) if isinstance(column.dtype, pl.List) else column
    if is_text(one.dtype):
        return one.cast(pl.String), {**_texts(names), "": ""}
    return (one.cast(pl.Float64).fill_nan(None), _numbers(names)) if _are_numbers(one.dtype) else (one, {})


def _numbers(names: Sequence[str]) -> dict[Any, str | None]:
    return {_NO_CLASS: None} | dict(enumerate(names))


def _texts(names: Sequence[str]) -> dict[Any, str | None]:
    return {str(number): name for number, name in _numbers(names).items()} | {one: one for one in names}


def _changed(old: pl.Series, new: pl.Series) -> int:
    """Return how many values that were given are others now."""
    if isinstance(old.dtype, pl.List):
        return 0 if old.dtype == new.dtype else old.count()
    return int((old.cast(pl.String).ne_missing(new) & old.is_not_null()).sum())


def check_known(
    missed: pl.Series | Sequence[Any], names: Sequence[str], where: str, total: int | None = None
) -> None:
    """Raise SourceError for values that are no class; `total` says how many there are if each comes once."""
    if len(missed):
        shown = [int(one) if isinstance(one, float) and one.is_integer() else one for one in missed]
        raise SourceError(
            f"{where}: got {len(missed) if total is None else total:,} values that are no class "
            f"({examples(dict.fromkeys(map(str, shown)))}), expected 0 to {len(names) - 1:,}, or one of "
            f"{examples(names)}. Correct them, or the names of the classes in the dataset's features."
        )


def _are_numbers(dtype: Any) -> bool:
    return bool(dtype.is_numeric()) and not dtype.is_decimal()


def _names(feature: object) -> list[str]:
    """Return the names of a feature's classes, or of those that it has lists of; [] of another feature."""
    if isinstance(feature, list):  # a list of one feature is how older versions write lists
        feature = {"feature": feature[0]} if len(feature) == 1 else None
    if not isinstance(feature, dict):
        return []
    if feature.get("_type") == "ClassLabel":
        return _listed(feature.get("names"))
    for key in ("feature", "dtype", "list", "sequence"):
        inner = feature.get(key)
        if isinstance(inner, dict) and isinstance(inner.get("class_label"), dict):
            return _listed(inner["class_label"].get("names"))
        if key == "feature" and isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
            return _listed(inner.get("names"))
    return []


def _listed(names: object) -> list[str]:
    """Return names that are a list, or a mapping from their numbers as cards have it."""
    if isinstance(names, dict):
        names = [names.get(str(at), names.get(at)) for at in range(len(names))]
    is_good = isinstance(names, list) and all(isinstance(one, str) for one in names)
    return list(names) if is_good and isinstance(names, list) else []
