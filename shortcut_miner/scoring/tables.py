"""The tables of :mod:`shortcut_miner.scoring.intervals`: for the console, as Markdown, LaTeX and JSON."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.errors import SchemaError, examples
from shortcut_miner.storage import write_json

NOT_KNOWN = "(not known)"

Row = dict[str, Any]
PaperColumns = Mapping[str, tuple[str, str, str]]  # heading -> metric, group, subgroup

_ROW = ("metric", "group", "subgroup")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
} | {mark: f"\\{mark}" for mark in "&%$#_{}"}


def write_scores(
    folder: Path, summary: pl.DataFrame, paper: PaperColumns, *, tex_intervals: bool = False
) -> None:
    """Write scores.json and scores.md, scores.tex as the paper has it, and scores_long.tex with everything.

    Parameters
    ----------
    folder : Path
        Exists already.
    summary : pl.DataFrame
        As for :func:`as_markdown`; a row may lack its value: null in JSON, an empty cell in the other two
        (no row where all models lack it).
    paper, tex_intervals
        As for :func:`as_paper_latex`.
    """
    known = summary.drop_nulls("value")
    write_json(as_dict(summary), folder / "scores.json")
    (folder / "scores.md").write_text(as_markdown(known) + "\n", encoding="utf-8")
    short = as_paper_latex(known, paper, intervals=tex_intervals)
    (folder / "scores.tex").write_text(short + "\n", encoding="utf-8")
    (folder / "scores_long.tex").write_text(as_latex(known) + "\n", encoding="utf-8")


def pivoted(
    summary: pl.DataFrame, rows: Sequence[str], cell: Callable[[Row], str]
) -> tuple[list[str], list[list[Any]]]:
    """Return the models, and rows of the values in `rows` with a text for each model.

    Parameters
    ----------
    summary : pl.DataFrame
        As for :func:`as_markdown`.
    rows : sequence of str
        The columns to show, each once. Values that differ in one of them, in metric, group or subgroup stand
        in rows of their own. A text that is null or empty is "(not known)".
    cell : callable
        Gives the text of a model's row of `summary`, such as :func:`value_text`; where a model has no such
        row, the cell is empty.

    Returns
    -------
    models : list of str
    rows : list of list
        Values as they are, then texts; like the models in the order in which they appear.

    Raises
    ------
    SchemaError
        A model has two values in one row.

    Examples
    --------
    >>> summary = pl.DataFrame({
    ...     "metric": "accuracy", "group": ["overall", "type", "type"], "subgroup": ["all", None, None],
    ...     "model": ["a", "a", "b"], "value": [61.5, 50.0, 0.0], "n": [8, 2, 2],
    ...     "low": [50.25, None, None], "high": [70.0, None, None]})
    >>> pivoted(summary, ["subgroup", "n"], value_text)
    (['a', 'b'], [['all', 8, '61.50 [50.2, 70.0]', ''], ['(not known)', 2, '50.00', '0.00']])
    """
    names = dict.fromkeys((*rows, *_ROW))
    models, found = _by_row(summary, lambda row: tuple(row[name] for name in names))
    return models, [
        [
            *(NOT_KNOWN if value in (None, "") else value for value in key[: len(rows)]),
            *("" if row is None else cell(row) for row in cells),
        ]
        for key, cells in found
    ]


def value_text(row: Row, *, digits: int = 2, interval_digits: int = 1) -> str:
    """Return ``value [low, high]``, or ``value`` alone where there is no interval.

    >>> value_text({"value": 61.5, "low": 50.25, "high": 70.0}, interval_digits=2)
    '61.50 [50.25, 70.00]'
    """
    value = f"{row['value']:.{digits}f}"
    if row["low"] is None:
        return value
    return f"{value} [{row['low']:.{interval_digits}f}, {row['high']:.{interval_digits}f}]"


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
    models, rows = _by_row(summary, _row_names)
    header = [*_ROW, "n", *map(_markdown_text, models)]
    rules = ["---"] * len(_ROW) + ["---:"] * (1 + len(models))
    lines = [header, rules]
    for names, cells in rows:
        numbers = [_cell_text(cell, digits) for cell in cells]
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
    models, rows = _by_row(summary, _row_names)
    body = [
        [
            *map(_latex_text, names),
            _row_counts(cells),
            *(_latex_numbers(_cell_text(cell, digits)) for cell in cells),
        ]
        for names, cells in rows
    ]
    return _tabular(len(_ROW), [*_ROW, "n", *map(_latex_text, models)], body)


def as_paper_latex(
    summary: pl.DataFrame, columns: PaperColumns, *, intervals: bool = False, digits: int = 2
) -> str:
    r"""Return a paper's table as a LaTeX ``tabular`` in the style of booktabs: a row a model.

    Parameters
    ----------
    summary : pl.DataFrame
        As for :func:`as_markdown`.
    columns : mapping of str to (str, str, str)
        Heading -> the metric, group and subgroup that stand below it; two dashes where a model has none.
    intervals : bool
        Whether intervals stand beside the values.
    digits : int
        Decimals.

    Examples
    --------
    >>> summary = pl.DataFrame({
    ...     "metric": "accuracy", "group": "overall", "subgroup": "all", "scorer": "exact", "model": "a & b",
    ...     "value": 61.5, "n": 8, "low": 50.25, "high": 70.0})
    >>> columns = {"Overall": ("accuracy", "overall", "all"), "Easy": ("accuracy", "subset", "easy")}
    >>> print(as_paper_latex(summary, columns))
    \begin{tabular}{lrr}
    \toprule
    Model & Overall & Easy \\
    \midrule
    a \& b & $61.50$ & -- \\
    \bottomrule
    \end{tabular}
    """
    models, rows = _by_row(summary, lambda row: (row["metric"], row["group"], row["subgroup"]))
    cells = dict(rows)
    nothing: list[Row | None] = [None] * len(models)
    body = []
    for at, model in enumerate(models):
        found = (cells.get(place, nothing)[at] for place in columns.values())
        shown = (row if row is None or intervals else row | {"low": None} for row in found)
        numbers = (_latex_numbers(_cell_text(row, digits)) or "--" for row in shown)
        body.append([_latex_text(model), *numbers])
    return _tabular(1, ["Model", *map(_latex_text, columns)], body)


def _tabular(texts: int, header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return rows as a tabular, so many columns to the left and the others to the right."""
    lines = [
        rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(header) - texts)}}}",
        *(r"\toprule", rf"{' & '.join(header)} \\", r"\midrule"),
        *(rf"{' & '.join(line)} \\" for line in body),
        *(r"\bottomrule", r"\end{tabular}"),
    ]
    return "\n".join(lines)


def _latex_numbers(text: str) -> str:
    return re.sub(r"-?\d+\.?\d*", r"$\g<0>$", text)


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


def _by_row(
    summary: pl.DataFrame, key: Callable[[Row], tuple[Any, ...]]
) -> tuple[list[str], list[tuple[tuple[Any, ...], list[Row | None]]]]:
    """Return the columns' names, and each row's key with its cells, in the order they appear."""
    rows: dict[tuple[Any, ...], dict[str, Row]] = {}
    models: dict[str, None] = {}
    for row in summary.iter_rows(named=True):
        names = key(row)
        cells, model = rows.setdefault(names, {}), _column(row)
        _check_is_new(model, cells, names)
        cells[model] = row
        models.setdefault(model)
    return list(models), [(names, [cells.get(model) for model in models]) for names, cells in rows.items()]


def _row_names(row: Row) -> tuple[str, str, str]:
    metric = f"{row['metric']} ({row['scorer']})" if row["scorer"] else row["metric"]
    return metric, row["group"], _subgroup(row)


def _check_is_new(model: str, cells: Mapping[str, Any], names: Sequence[str]) -> None:
    if model in cells:
        raise SchemaError(
            f"summary: got two values for {examples([*names, model])}, expected one. "
            "Give one scorer's summary at a time, each row once."
        )


def _subgroup(row: Row) -> str:
    return NOT_KNOWN if row["subgroup"] is None else str(row["subgroup"])


def _column(row: Row) -> str:
    model = row["model"] or "model"
    return f"{model} - {row['baseline']}" if row.get("baseline") else model


def _cell_text(row: Row | None, digits: int) -> str:
    return "" if row is None else value_text(row, digits=digits, interval_digits=digits)


def _row_counts(cells: Sequence[Row | None]) -> str:
    """Return n, or each model's where they differ."""
    counts = [f"{cell['n']}" if cell else "-" for cell in cells]
    present = {count for count in counts if count != "-"}
    return present.pop() if len(present) == 1 else " / ".join(counts)


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*<|])", r"\\\1", " ".join(text.split()))


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
