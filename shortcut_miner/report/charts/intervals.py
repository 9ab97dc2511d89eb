"""Values with their intervals: a point and a line a row, and the number at the right."""

import altair as alt
import polars as pl

from shortcut_miner.report.theme import LIGHT

_STEP = 26


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
        Of the axis; None makes it hold the data and 0, with a rule at 0, as for differences.
    colour : str
        A name of the palette.
    """
    rows = table.select(row=row, value="value", low="low", high="high", label=_label())
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=True, nice=True)
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        y=alt.Y("row:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True, offset=4))
    )
    axis = alt.Axis(tickCount=3, domain=False)
    line = base.mark_rule(color=LIGHT[colour], strokeWidth=2.5, opacity=0.55).encode(
        x=alt.X("low:Q", title=unit, scale=scale, axis=axis), x2=alt.X2("high:Q")
    )
    dot = base.mark_circle(color=LIGHT[colour], size=70, opacity=1).encode(
        x=alt.X("value:Q", title=unit, scale=scale, axis=axis),
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("label:N")],
    )
    text = base.mark_text(align="left", dx=8, fontSize=12).encode(
        x=alt.value("width"), text=alt.Text("label:N")
    )
    layers = [line, dot, text]
    if domain is None:
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=LIGHT["muted"])
        layers.insert(0, zero.encode(x=alt.X("zero:Q", title=unit, scale=scale, axis=axis)))
    chart = alt.LayerChart(layer=layers).properties(height=_STEP * max(1, len(rows)))
    return chart.properties(title=title) if title else chart


def _label() -> pl.Expr:
    value, low, high = (pl.col(name).round(1).cast(pl.String) for name in ("value", "low", "high"))
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
    y = alt.Y("row:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, offset=4))
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
    text = base.mark_text(align="left", dx=8, fontSize=11, color=LIGHT["muted"]).encode(
        x=alt.value("width"), text=alt.Text("label:N")
    )
    chart = alt.LayerChart(layer=[line, dots, text]).properties(height=(_STEP - 4) * max(1, len(table)))
    return chart.properties(title=title) if title else chart
