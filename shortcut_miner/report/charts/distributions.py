"""Histograms of confidences, and the plane of sufficiency and comprehensiveness."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from shortcut_miner.report.theme import LIGHT


def histograms(table: pl.DataFrame, *, parts: Mapping[str, str], unit: str, counted: str) -> alt.LayerChart:
    """Return one outlined histogram a part over the same bins.

    Parameters
    ----------
    table : pl.DataFrame
        part, low, high (the bin), count.
    parts : mapping of str to str
        Part -> a name of the palette.
    unit, counted : str
        Titles of both axes.
    """
    order = list(parts)
    scale = alt.Scale(domain=order, range=[LIGHT[parts[name]] for name in order])
    rows = table.select("part", "low", "high", "count").to_dicts()
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("low:Q", title=unit, axis=alt.Axis(grid=False, tickCount=5), scale=alt.Scale(nice=False)),
        x2=alt.X2("high:Q"),
        color=alt.Color("part:N", scale=scale, legend=alt.Legend(symbolOpacity=1)),
        tooltip=[
            alt.Tooltip("part:N"),
            alt.Tooltip("low:Q"),
            alt.Tooltip("high:Q"),
            alt.Tooltip("count:Q", format=","),
        ],
    )
    y = alt.Y("count:Q", title=counted, axis=alt.Axis(tickCount=4, tickMinStep=1, format=",~f", domain=False))
    filled = base.mark_rect(opacity=0.2).encode(y=y, y2=alt.Y2Datum(0))
    tops = base.transform_filter("datum.count > 0").mark_rule(strokeWidth=2.5, strokeCap="butt").encode(y=y)
    return alt.LayerChart(layer=[filled, tops]).properties(height=220)


def plane(table: pl.DataFrame, *, x: str, y: str, name: str, units: tuple[str, str]) -> alt.LayerChart:
    """Return a named point a row.

    Parameters
    ----------
    table : pl.DataFrame
        One row a point.
    x, y, name : str
        Columns.
    units : (str, str)
        Titles of both axes.
    """
    rows = table.select(x=x, y=y, name=name)
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        x=alt.X("x:Q", title=units[0], scale=alt.Scale(zero=True, padding=50)),
        y=alt.Y("y:Q", title=units[1], scale=alt.Scale(zero=True, padding=50)),
    )
    dots = base.mark_circle(size=90, color=LIGHT["blue"], opacity=1).encode(
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("x:Q", format=".3f"), alt.Tooltip("y:Q", format=".3f")]
    )
    text = base.mark_text(dy=-13).encode(text=alt.Text("name:N"))
    return alt.LayerChart(layer=[dots, text]).properties(height=280)
