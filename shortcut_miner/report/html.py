"""Pages as one HTML file: template, style, scripts and data in it, nothing to load when it is opened."""

import functools
import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from shortcut_miner.report import theme
from shortcut_miner.report.extra import needs
from shortcut_miner.report.pages import Figure, Grid, RoomPage, Section, cell
from shortcut_miner.schemas import ANTECEDENT
from shortcut_miner.single_files import Kind, start_of
from shortcut_miner.version import __version__

FIRST_RULES = 25  # in the HTML itself, for readers without scripts
_MARK, _MARKED_WITHIN = b'<meta name="generator" content="shortcut_miner report">', 1024  # bytes
# What would end a script element, or a line of one.
_ESCAPES = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


def _is_report(path: Path) -> bool:
    return _MARK in start_of(path, _MARKED_WITHIN)


PAGE = Kind(name="report.html", thing="report", writer="report", is_ours=_is_report)


def page_html(title: str, rooms: Sequence[RoomPage]) -> str:
    """Return the whole page.

    Parameters
    ----------
    title : str
        Of the page.
    rooms : sequence of RoomPage
        In the order to show.
    """
    jinja2 = needs("jinja2")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(_text("report.html"))
    specs = dict(_specs(rooms))
    return str(
        template.render(
            title=title,
            rooms=rooms,
            version=__version__,
            light=theme.LIGHT,
            dark=theme.DARK,
            style=_text("report.css"),
            script=_text("report.js"),
            vega=vega_bundle() if specs else "",
            data=as_script_data({"config": theme.with_variables(theme.config()), "charts": specs}),
            rules=_rule_tables(rooms),
            slug=slug,
            first_rules=first_rules,
            section_id=section_id,
            figure_id=figure_id,
        )
    )


def _text(name: str) -> str:
    return (files("shortcut_miner.report") / "templates" / name).read_text(encoding="utf-8")


@functools.cache  # a second of work for the same 800 kB
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that has no closing tag in it."""
    bundle = str(needs("vl_convert").javascript_bundle())
    return re.sub(r"</(?=script)", r"<\\/", bundle, flags=re.IGNORECASE)


def as_script_data(value: Any) -> str:
    r"""Return JSON that can stand in a script element, whatever texts it holds.

    >>> as_script_data(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def slug(text: str) -> str:
    """Return text as an id of the page.

    >>> slug("Rules by length")
    'rules-by-length'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def section_id(position: int, section: Section) -> str:
    """Return the id of a section of the room at a position."""
    return f"room-{position}-{slug(section.title)}"


def figure_id(position: int, figure: Figure, chart: int) -> str:
    """Return the id of a figure's chart of the room at a position."""
    return f"chart-{position}-{figure.name}-{chart}"


def _specs(rooms: Sequence[RoomPage]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each chart's id and specification, as wide as its place on the page."""
    for position, room in enumerate(rooms):
        for section in room.sections:
            for figure in section.figures:
                for number, chart in enumerate(figure.charts):
                    spec = chart.to_dict(validate=False) | {"width": "container"}
                    spec.pop("config", None)
                    yield figure_id(position, figure, number), theme.with_variables(spec)


def _rule_tables(rooms: Sequence[RoomPage]) -> dict[str, str]:
    """Return the data of each rule table, by its section's id."""
    return {
        section_id(position, section): as_script_data(section.rules)
        for position, room in enumerate(rooms)
        for section in room.sections
        if section.rules is not None
    }


def first_rules(section: Section) -> Grid:
    """Return the first rules of a table as text."""
    assert section.rules is not None
    texts, columns = section.rules["texts"], section.rules["columns"]
    count = min(FIRST_RULES, len(columns["rule_id"]))
    items = [
        " + ".join(texts[one] for name in ANTECEDENT if name in columns for one in columns[name][row])
        for row in range(count)
    ]
    numbers = [name for name in ("rule_count", "antecedent_count", "confidence", "lift") if name in columns]
    rows = tuple(
        (items[row], texts[columns["answer"][row]], *(cell(columns[name][row]) for name in numbers))
        for row in range(count)
    )
    return Grid(
        headings=("Words + objects", "Answer", *(name.replace("_", " ").capitalize() for name in numbers)),
        is_number=(False, False, *(True for _ in numbers)),
        rows=rows,
    )
