"""Values with their intervals: a point and a line a row, and the number at the right."""

import altair as alt
import polars as pl

from shortcut_miner.report.theme import LIGHT

_STEP = 26
# Between names and the axis: a point at its start reaches out of it.
_OFFSET = 10
_LINE = 13  # pixels
_ARROW = "lastindexof(datum.label, ' \u2192 ')"
_MINUS = "\u2212"  # as axes have it
_PADDING = 0.06  # of an axis, at both of its ends


def interval_dots(
    table: pl.DataFrame,
    *,
    row: str,
    unit: str,
    title: str | None = None,
    domain: tuple[float, float] | None = (0.0, 100.0),
    colour: str = "blue",
) -> alt.LayerChart:
    """Return a point a row, at its value, with a line over its interval and both in numbers.

    Parameters
    ----------
    table : pl.DataFrame
        value, low, high (null: no interval) Float64, and the column `row`.
    row : str
        What each row is called.
    unit : str
        Of the values, for the axis.
    title : str, optional
        Above the chart.
    domain : (float, float), optional
        Of the axis; None makes it that of :func:`around_zero`. There is a rule at 0 within it.
    colour : str
        A name of the palette.
    """
    rows = table.select(row=row, value="value", low="low", high="high", label=_label())
    start, end = domain or around_zero(rows)
    scale = alt.Scale(domain=[start, end], nice=False)
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        y=alt.Y(
            "row:N",
            sort=None,
            title=None,
            axis=alt.Axis(ticks=False, domain=False, grid=True, offset=_OFFSET),
        )
    )
    axis = alt.Axis(tickCount=3, domain=False)
    line = base.mark_rule(color=LIGHT[colour], strokeWidth=2.5, opacity=0.55).encode(
        x=alt.X("low:Q", title=unit, scale=scale, axis=axis), x2=alt.X2("high:Q")
    )
    dot = base.mark_circle(color=LIGHT[colour], size=70, opacity=1).encode(
        x=alt.X("value:Q", title=unit, scale=scale, axis=axis),
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("label:N")],
    )
    text = base.mark_text(align="left", dx=10, fontSize=12).encode(
        x=alt.value("width"), text=alt.Text("label:N")
    )
    layers = [line, dot, text]
    if start < 0:
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=LIGHT["muted"])
        layers.insert(0, zero.encode(x=alt.X("zero:Q", title=unit, scale=scale, axis=axis)))
    chart = alt.LayerChart(layer=layers).properties(height=_STEP * max(1, len(rows)))
    return chart.properties(title=title) if title else chart


def around_zero(table: pl.DataFrame) -> tuple[float, float]:
    """Return an axis that holds all intervals of a table, and 0, with some room at both ends."""
    values = [one for name in ("value", "low", "high") for one in table[name].drop_nulls().to_list()]
    start, end = min(0.0, *values), max(0.0, *values)
    room = _PADDING * (end - start or 1.0)
    return start - room, end + room


def _label() -> pl.Expr:
    digits = (pl.col(name).round(1).cast(pl.String) for name in ("value", "low", "high"))
    value, low, high = (one.str.replace("-", _MINUS, literal=True) for one in digits)
    whole = pl.format("{} [{}, {}]", value, low, high)
    return pl.when(pl.col("low").is_null()).then(value).otherwise(whole)


def dumbbells(
    table: pl.DataFrame,
    *,
    row: str,
    start: str,
    end: str,
    names: tuple[str, str],
    label: str,
    unit: str,
    title: str | None = None,
) -> alt.LayerChart:
    """Return a line a row from one value to another, with a hollow and a full point at its ends.

    A row's name goes on in a second line at its last arrow, so that narrow charts keep a rule's answer.

    Parameters
    ----------
    table : pl.DataFrame
        One row a line, in the order to show.
    row, start, end, label : str
        Columns: the row's name, both values in percent, and what stands at the right.
    names : (str, str)
        What both values are, for the legend.
    unit : str
        For the axis.
    title : str, optional
        Above the chart.
    """
    lines = table.select(row=row, start=start, end=end, label=label)
    points = pl.concat(
        lines.select("row", "label", value=column, part=pl.lit(name))
        for column, name in zip(("start", "end"), names, strict=True)
    )
    scale, axis = alt.Scale(domain=[0, 100]), alt.Axis(tickCount=3, domain=False)
    two_lines = f"[slice(datum.label, 0, {_ARROW}), slice(datum.label, {_ARROW} + 1)]"
    names_axis = alt.Axis(
        ticks=False, domain=False, offset=_OFFSET, labelOffset=-_LINE // 2, labelLineHeight=_LINE,
        labelExpr=f"{_ARROW} < 0 ? datum.label : {two_lines}",
    )  # fmt: skip
    y = alt.Y("row:N", sort=None, title=None, axis=names_axis)
    base = alt.Chart(alt.InlineData(values=lines.to_dicts())).encode(y=y)
    line = base.mark_rule(strokeWidth=2, color=LIGHT["vermilion"], opacity=0.5).encode(
        x=alt.X("start:Q", title=unit, scale=scale, axis=axis), x2=alt.X2("end:Q")
    )
    colours = alt.Scale(domain=list(names), range=[LIGHT["grey"], LIGHT["vermilion"]])
    dots = (
        alt.Chart(alt.InlineData(values=points.to_dicts()))
        .mark_circle(size=64, opacity=1)
        .encode(
            y=y,
            x=alt.X("value:Q", title=unit, scale=scale, axis=axis),
            color=alt.Color("part:N", scale=colours, legend=alt.Legend(columns=1, symbolType="circle")),
            tooltip=[
                alt.Tooltip("row:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("value:Q", format=".1f"),
                alt.Tooltip("label:N"),
            ],
        )
    )
    text = base.mark_text(align="left", dx=10, fontSize=11, color=LIGHT["muted"]).encode(
        x=alt.value("width"), text=alt.Text("label:N")
    )
    chart = alt.LayerChart(layer=[line, dots, text]).properties(height=(_STEP + 8) * max(1, len(table)))
    return chart.properties(title=title) if title else chart
