"""Colours and type of charts and pages: one palette, in a light and a dark form.

Hues are Okabe and Ito's, darkened or lightened to stand out from the paper; none is told from another by red
against green. Charts are made in the light form; on a page every colour is a CSS variable.
"""

from typing import Any

LIGHT = {
    "ink": "#1c2126",
    "muted": "#5b646e",
    "line": "#d9dee3",
    "paper": "#fdfdfc",
    "panel": "#f4f5f3",
    "blue": "#1f6fb2",
    "vermilion": "#c64f0a",
    "green": "#0b7f63",
    "amber": "#c98a00",
    "purple": "#a04c86",
    "sky": "#5aa9d6",
    "grey": "#8a939c",
    "night": "#14181d",
}
DARK = {
    "ink": "#e8eaec",
    "muted": "#a2abb5",
    "line": "#363d45",
    "paper": "#14181c",
    "panel": "#1c2227",
    "blue": "#62a8e5",
    "vermilion": "#f0843f",
    "green": "#35b896",
    "amber": "#e6b13a",
    "purple": "#d486bb",
    "sky": "#8fd0f0",
    "grey": "#7e8892",
    "night": "#14181d",
}
# Fills on which numbers are dark, on the light paper too.
PALE = ("amber", "sky", "grey")
SUBSET_COLOURS = {"easy": "blue", "counterexamples": "vermilion", "hard": "grey"}
MODALITY_COLOURS = {"words": "blue", "objects": "amber", "attributes": "purple", "multimodal": "green"}
VERDICT_COLOURS = {
    "real": "green",
    "redundant": "sky",
    "prior": "amber",
    "unstable": "purple",
    "chance": "grey",
}
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration of all charts: thin rules, no frame, text in ink."""
    text = {
        "labelColor": LIGHT["ink"],
        "titleColor": LIGHT["muted"],
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    return {
        "font": FONT,
        "background": None,
        "view": {"stroke": None},
        "axis": text
        | {
            "titleFontWeight": "normal",
            "gridColor": LIGHT["line"],
            "domainColor": LIGHT["grey"],
            "tickColor": LIGHT["grey"],
            "labelLimit": 130,
            "titlePadding": 8,
        },
        "axisX": {"labelOverlap": "parity", "labelSeparation": 6, "labelFlush": False},
        "legend": text | {"orient": "top", "title": None, "symbolType": "square", "labelLimit": 200},
        "title": {
            "color": LIGHT["ink"], "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 8,
            "frame": "bounds", "subtitleColor": LIGHT["muted"],
        },
        "text": {"color": LIGHT["ink"], "fontSize": 12},
    }  # fmt: skip


def _is_data(name: str, value: Any) -> bool:
    """Return whether a property holds texts of the data, which may look like a colour."""
    return name in ("values", "datasets", "domain") or (name == "title" and isinstance(value, str))


def with_variables(spec: Any) -> Any:
    """Return a chart's specification with the page's CSS variables in place of the light colours.

    >>> with_variables({"mark": {"color": LIGHT["blue"]}})
    {'mark': {'color': 'var(--blue)'}}
    """
    if isinstance(spec, dict):
        return {name: one if _is_data(name, one) else with_variables(one) for name, one in spec.items()}
    if isinstance(spec, list):
        return [with_variables(one) for one in spec]
    return _VARIABLES.get(spec, spec) if isinstance(spec, str) else spec
