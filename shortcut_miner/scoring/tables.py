"""The tables of :mod:`shortcut_miner.scoring.intervals` as Markdown, LaTeX and one JSON object."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shortcut_miner.errors import SchemaError, examples

NOT_KNOWN = "(not known)"

_ROW = ("metric", "group", "subgroup")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
} | {mark: f"\\{mark}" for mark in "&%$#_{}"}


def as_markdown(summary: pl.DataFrame, *, digits: int = 2) -> str:
    r"""Return a Markdown table: a row per metric and subgroup, a column per model.

    Parameters
    ----------
    summary : pl.DataFrame
        What :func:`shortcut_miner.scoring.intervals.summarise` or ``compare`` returns.
    digits : int
        Decimals of values and intervals.

    Returns
    -------
    str
        Lines without a final newline; a cell is ``value [low, high]``, empty where a model has no such row.

    Examples
    --------
    >>> summary = pl.DataFrame({
    ...     "metric": "accuracy", "group": "overall", "subgroup": "all", "scorer": "exact", "model": "a|b",
    ...     "value": 61.5, "n": 8, "low": 50.25, "high": 70.0})
    >>> print(as_markdown(summary, digits=1))
    | metric | group | subgroup | n | a\|b |
    | --- | --- | --- | ---: | ---: |
    | accuracy (exact) | overall | all | 8 | 61.5 [50.2, 70.0] |
    """
    models, rows = _pivoted(summary)
    header = [*_ROW, "n", *map(_markdown_text, models)]
    rules = ["---"] * len(_ROW) + ["---:"] * (1 + len(models))
    lines = [header, rules]
    for names, cells in rows:
        numbers = [_value_text(cell, digits) for cell in cells]
        lines.append([*map(_markdown_text, names), _row_counts(cells), *numbers])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_latex(summary: pl.DataFrame, *, digits: int = 2) -> str:
    r"""Return a LaTeX ``tabular`` in the style of booktabs, with the rows and columns of Markdown's.

    Parameters
    ----------
    summary, digits
        As for :func:`as_markdown`.

    Examples
    --------
    >>> summary = pl.DataFrame({
    ...     "metric": "accuracy", "group": "answer_type", "subgroup": "yes/no", "scorer": None,
    ...     "model": "m_1", "value": -1.0, "n": 8, "low": None, "high": None})
    >>> print(as_latex(summary))
    \begin{tabular}{lllrr}
    \toprule
    metric & group & subgroup & n & m\_1 \\
    \midrule
    accuracy & answer\_type & yes/no & 8 & $-1.00$ \\
    \bottomrule
    \end{tabular}
    """
    models, rows = _pivoted(summary)
    header = [*_ROW, "n", *map(_latex_text, models)]
    body = []
    for names, cells in rows:
        numbers = [re.sub(r"-?\d+\.?\d*", r"$\g<0>$", _value_text(cell, digits)) for cell in cells]
        body.append([*map(_latex_text, names), _row_counts(cells), *numbers])
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(_ROW)}{'r' * (1 + len(models))}}}",
        *(r"\toprule", rf"{' & '.join(header)} \\", r"\midrule"),
        *(rf"{' & '.join(line)} \\" for line in body),
        *(r"\bottomrule", r"\end{tabular}"),
    ]
    return "\n".join(lines)


def as_dict(summary: pl.DataFrame) -> dict[str, Any]:
    """Return metric -> group -> subgroup -> model -> scorer, value, n, low, high, ready for JSON.

    Parameters
    ----------
    summary : pl.DataFrame
        As for :func:`as_markdown`.

    Raises
    ------
    SchemaError
        A model has two values of one name, as by two scorers.

    Examples
    --------
    >>> summary = pl.DataFrame({
    ...     "metric": "accuracy", "group": "overall", "subgroup": "all", "scorer": "exact", "model": "m",
    ...     "value": 61.5, "n": 8, "low": 50.25, "high": 70.0})
    >>> as_dict(summary)["accuracy"]["overall"]["all"]["m"]
    {'scorer': 'exact', 'value': 61.5, 'n': 8, 'low': 50.25, 'high': 70.0}
    """
    result: dict[str, Any] = {}
    for row in summary.iter_rows(named=True):
        *path, model = row["metric"], row["group"], _subgroup(row), _column(row)
        place = result
        for name in path:
            place = place.setdefault(name, {})
        _check_is_new(model, place, path)
        place[model] = {name: row[name] for name in ("scorer", "value", "n", "low", "high")}
    return result


def _pivoted(summary: pl.DataFrame) -> tuple[list[str], list[tuple[list[str], list[dict[str, Any] | None]]]]:
    """Return the columns' names, and each row's three names with its cells, in the order they appear."""
    rows: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    models: dict[str, None] = {}
    for row in summary.iter_rows(named=True):
        metric = f"{row['metric']} ({row['scorer']})" if row["scorer"] else row["metric"]
        names = (metric, row["group"], _subgroup(row))
        cells, model = rows.setdefault(names, {}), _column(row)
        _check_is_new(model, cells, names)
        cells[model] = row
        models.setdefault(model)
    return list(models), [([*names], [cells.get(model) for model in models]) for names, cells in rows.items()]


def _check_is_new(model: str, cells: Mapping[str, Any], names: Sequence[str]) -> None:
    if model in cells:
        raise SchemaError(
            f"summary: got two values for {examples([*names, model])}, expected one. "
            "Give one scorer's summary at a time, each row once."
        )


def _subgroup(row: dict[str, Any]) -> str:
    return NOT_KNOWN if row["subgroup"] is None else str(row["subgroup"])


def _column(row: dict[str, Any]) -> str:
    model = row["model"] or "model"
    return f"{model} - {row['baseline']}" if row.get("baseline") else model


def _value_text(cell: dict[str, Any] | None, digits: int) -> str:
    if cell is None:
        return ""
    value = f"{cell['value']:.{digits}f}"
    return value if cell["low"] is None else f"{value} [{cell['low']:.{digits}f}, {cell['high']:.{digits}f}]"


def _row_counts(cells: Sequence[dict[str, Any] | None]) -> str:
    """Return n, or each model's where they differ."""
    counts = [f"{cell['n']}" if cell else "-" for cell in cells]
    present = {count for count in counts if count != "-"}
    return present.pop() if len(present) == 1 else " / ".join(counts)


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*<|])", r"\\\1", " ".join(text.split()))


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
