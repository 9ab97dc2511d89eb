"""Horizontal bars with their numbers beside them, plain or in parts that add up to the whole."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from shortcut_miner.report.theme import LIGHT, PALE

_STEP, _THICKNESS = 24, 16  # pixels
_LEGEND_LETTERS = 40
_NARROW, _LETTER = 230, 7  # pixels: the least room for bars with their labels, and a letter of these


def bars(
    table: pl.DataFrame,
    *,
    category: str,
    value: str,
    label: str,
    unit: str,
    colours: Mapping[str, str] | None = None,
    colour: str = "blue",
    end: float | None = None,
) -> alt.LayerChart:
    """Return a bar a row, in the order of rows, with its label at its end.

    Parameters
    ----------
    table : pl.DataFrame
        One row a bar.
    category, value, label : str
        Columns: what the bar is called, how long it is, and what stands beside it.
    unit : str
        Of the values, for the axis.
    colours : mapping of str to str, optional
        Category -> a name of the palette.
    colour : str
        The palette's name for bars without one of their own.
    end : float, optional
        Of the axis, where several charts share it; see :func:`axis_end`.
    """
    rows = table.select(
        category=category,
        value=value,
        label=label,
        colour=pl.col(category).replace_strict(dict(colours or {}), default=colour),
    )
    used = sorted({*rows["colour"]})
    scale = alt.Scale(domain=used, range=[LIGHT[name] for name in used])
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        y=alt.Y("category:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, offset=4)),
        x=alt.X(
            "value:Q",
            title=unit,
            axis=_axis(rows),
            scale=alt.Scale(domainMin=0, domainMax=end or axis_end(rows), nice=False),
        ),
    )
    solid = base.mark_bar(height=_THICKNESS, cornerRadiusEnd=2).encode(
        color=alt.Color("colour:N", scale=scale, legend=None), tooltip=_tooltip("category", "label")
    )
    text = base.mark_text(align="left", dx=6).encode(text=alt.Text("label:N"))
    return alt.LayerChart(layer=[solid, text]).properties(height=_STEP * max(1, len(rows)))


def share_bars(
    table: pl.DataFrame,
    *,
    category: str,
    part: str,
    value: str,
    colours: Mapping[str, str],
    unit: str,
) -> alt.LayerChart:
    """Return a bar a category, cut into parts of 100 percent, with the share in parts that have room for it.

    Parameters
    ----------
    table : pl.DataFrame
        One row a category and part, categories in the order to show.
    category, part, value : str
        Columns; values are percent of the category.
    colours : mapping of str to str
        Part -> a name of the palette, in the order from the left.
    unit : str
        Of the values, for the axis.
    """
    order: Sequence[str] = list(colours)
    rank = pl.col(part).replace_strict(order, range(len(order)), return_dtype=pl.Int64)
    rows = table.select(category=category, part=part, value=value, rank=rank).with_columns(
        label=pl.when(pl.col("value") >= _LEAST_LABELLED)
        .then(pl.col("value").round(0).cast(pl.Int64).cast(pl.String))
        .otherwise(pl.lit("")),
    )
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        y=alt.Y("category:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, offset=4)),
        order=alt.Order("rank:Q"),
    )
    x = alt.X(
        "value:Q", title=unit, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=4, domain=False)
    )
    scale = alt.Scale(domain=list(order), range=[LIGHT[colours[name]] for name in order])
    solid = base.mark_bar(height=_THICKNESS + 2).encode(
        x=x.stack("zero"),
        color=alt.Color("part:N", scale=scale, legend=_legend(order)),
        tooltip=_tooltip("category", "part", "value"),
    )
    is_pale = alt.FieldOneOfPredicate("part", [name for name in order if colours[name] in PALE])
    text = base.mark_text(fontSize=11, fontWeight=600).encode(
        x=alt.X("value:Q", stack="zero", bandPosition=0.5), text=alt.Text("label:N"),
        color=alt.condition(is_pale, alt.value(LIGHT["night"]), alt.value(LIGHT["paper"])),
    )  # fmt: skip
    return alt.LayerChart(layer=[solid, text]).properties(
        height=(_STEP + 2) * max(1, rows["category"].n_unique())
    )


_LEAST_LABELLED = 8  # percent: narrower parts have no room for a number


def grouped_bars(
    table: pl.DataFrame, *, category: str, part: str, value: str, colours: Mapping[str, str], unit: str
) -> alt.LayerChart:
    """Return, for each category, a bar a part, each with its number.

    Parameters
    ----------
    table, category, part, colours, unit
        As for :func:`share_bars`.
    value : str
        Column of whole numbers.
    """
    rows = table.select(category=category, part=part, value=value, label=_with_commas(value))
    order = list(colours)
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        y=alt.Y("category:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, offset=4)),
        yOffset=alt.YOffset("part:N", sort=order),
        x=alt.X(
            "value:Q",
            title=unit,
            axis=_axis(rows),
            scale=alt.Scale(domainMin=0, domainMax=axis_end(rows), nice=False),
        ),
    )
    scale = alt.Scale(domain=order, range=[LIGHT[colours[name]] for name in order])
    solid = base.mark_bar(cornerRadiusEnd=2).encode(
        color=alt.Color("part:N", scale=scale, legend=_legend(order)),
        tooltip=_tooltip("category", "part", "label"),
    )
    text = base.mark_text(align="left", dx=5, fontSize=11).encode(text=alt.Text("label:N"))
    return alt.LayerChart(layer=[solid, text]).properties(
        height=_STEP * max(1, rows["category"].n_unique()) * max(1, len(order)) // 4 * 3 + _STEP
    )


def axis_end(rows: pl.DataFrame, value: str = "value", label: str = "label") -> float:
    """Return where an axis from 0 has to end for the longest bar to have room for the longest label."""
    letters = max(map(len, rows[label].to_list()), default=0)
    room = min(_LETTER * letters + 10, _NARROW // 2)
    longest = max(map(float, rows[value].to_list()), default=0.0) or 1.0
    return longest * _NARROW / (_NARROW - room)


def _axis(rows: pl.DataFrame) -> alt.Axis:
    """Return the axis of values; counts have no ticks between whole numbers."""
    step = 1 if rows["value"].dtype.is_integer() else alt.Undefined
    return alt.Axis(tickCount=4, tickMinStep=step, format=",~f", domain=False)


def _legend(names: Sequence[str]) -> alt.Legend:
    """Return a legend with as many names in a line as there is room for, or where these are long one."""
    return alt.Legend() if sum(map(len, names)) <= _LEGEND_LETTERS else alt.Legend(columns=1)


def _with_commas(column: str) -> pl.Expr:
    """Return whole numbers as text with thousands separated."""
    digits = pl.col(column).cast(pl.String)
    return digits.str.reverse().str.replace_all(r"(\d{3})", "${1},").str.reverse().str.strip_chars(",")


def _tooltip(*names: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{name}:N") if name != "value" else alt.Tooltip("value:Q", format=".1f")
        for name in names
    ]
