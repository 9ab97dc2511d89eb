"""Curves: a value with its interval over a number, a line a model."""

import altair as alt
import polars as pl

from shortcut_miner.report.theme import LIGHT

COLOURS = ("blue", "vermilion", "green", "purple", "amber", "sky", "grey")


def curves(
    table: pl.DataFrame,
    *,
    x: str,
    row: str,
    units: tuple[str, str],
    title: str | None = None,
    digits: int = 0,
) -> alt.LayerChart:
    """Return a line a row's name, with a point and its interval at each x; further names repeat the colours.

    Parameters
    ----------
    table : pl.DataFrame
        value, low, high (null: no interval) Float64 in percent, and both columns named below.
    x, row : str
        Columns: the number below, and what each line is called.
    units : (str, str)
        Titles of both axes.
    title : str, optional
        Above the chart.
    digits : int
        Decimals of the numbers below: with 0 each of them is a tick.
    """
    rows = table.select("value", "low", "high", x=x, row=row)
    names = rows["row"].unique(maintain_order=True).to_list()
    colours = [LIGHT[COLOURS[position % len(COLOURS)]] for position in range(len(names))]
    ticks = (
        {"values": sorted({*rows["x"].to_list()}), "format": "d"}
        if digits == 0
        else {"format": f".{digits}f"}
    )
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        x=alt.X(
            "x:Q", title=units[0], scale=alt.Scale(zero=False, padding=14),
            axis=alt.Axis(**ticks, grid=False),
        ),
        color=alt.Color(
            "row:N", sort=None, scale=alt.Scale(domain=names, range=colours),
            legend=alt.Legend(symbolType="circle", symbolOpacity=1, columns=2),
        ),
    )  # fmt: skip
    y = alt.Y("value:Q", title=units[1], scale=alt.Scale(domainMin=0, nice=True),
              axis=alt.Axis(tickCount=4, domain=False))  # fmt: skip
    line = base.mark_line(strokeWidth=2).encode(y=y)
    interval = base.mark_rule(strokeWidth=2.5, opacity=0.55).encode(
        y=alt.Y("low:Q", title=units[1]), y2=alt.Y2("high:Q")
    )
    dots = base.mark_circle(size=70, opacity=1).encode(
        y=y,
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("x:Q"), alt.Tooltip("value:Q", format=".1f")],
    )
    chart = alt.LayerChart(layer=[line, interval, dots]).properties(height=220)
    return chart.properties(title=title) if title else chart
