"""Charts as files for papers: PNG, SVG and Vega-Lite JSON, a column of a page wide."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.journal import digest_of
from shortcut_miner.publishing import check_target, staged_folder
from shortcut_miner.report.extra import needs
from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.html import slug
from shortcut_miner.report.pages import RoomPage
from shortcut_miner.report.theme import LIGHT, config
from shortcut_miner.storage import MANIFEST, InputRecord, Provenance, write_json
from shortcut_miner.timing import OnStage, in_parts

COMMAND = "report"
WIDTH = 340  # pixels: 90 mm at 96 to the inch
_SCALE = 4
_COUNTED = re.compile(r"(?<=[\"#])(clip|gradient_)\d+(?=[\")])")
_NAMES = ("*.png", "*.svg", "*.vl.json")


def check_charts_target(out: Path) -> None:
    """Raise ConfigError now, not after the work, if charts can't be written into `out`."""
    check_target(out, command=COMMAND, config=_options(), names=_NAMES, force=True)


def write_charts(
    out: Path, rooms: Sequence[FoundRoom], pages: Sequence[RoomPage], on_stage: OnStage | None = None
) -> int:
    """Write every chart of some pages three times, with a manifest, and return how many charts there are.

    Parameters
    ----------
    out : Path
        The folder.
    rooms, pages : sequence
        What was read, and what it became.
    on_stage : callable, optional
        Told how many charts are drawn.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.publishing.staged_folder`.
    """
    vl_convert = needs("vl_convert")
    folders = [one for room in rooms for one in room.folders]
    specs = dict(_specs(rooms, pages))
    with staged_folder(out, force=True) as staging:
        for name, spec in in_parts([*specs.items()], "charts", on_stage, "charts"):
            text = json.dumps(spec, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
            (staging / f"{name}.vl.json").write_text(text + "\n", encoding="utf-8")
            svg = with_own_numbers(vl_convert.vegalite_to_svg(spec))
            (staging / f"{name}.svg").write_text(svg, encoding="utf-8")
            (staging / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=_SCALE))
        record = Provenance(
            command=COMMAND,
            config=_options(),
            inputs=[_record(one.command, one.path) for one in folders],
            counts={"charts": len(specs)},
            dropped={},
        )
        write_json(record.for_manifest(), staging / MANIFEST)
    return len(specs)


def with_own_numbers(svg: str) -> str:
    """Return an SVG whose ids count from 0, whatever was drawn before it in this process.

    >>> with_own_numbers('<clipPath id="clip7"/><g clip-path="url(#clip7)"/>')
    '<clipPath id="clip0"/><g clip-path="url(#clip0)"/>'
    """
    ids: dict[str, int] = {}
    return _COUNTED.sub(lambda found: f"{found[1]}{ids.setdefault(found[0], len(ids))}", svg)


def _options() -> dict[str, Any]:
    return {"width": WIDTH, "scale": _SCALE}


def _narrow(wide: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration for charts on paper, with two names in a line of a legend."""
    return wide | {
        "background": LIGHT["paper"],
        "legend": wide["legend"] | {"columns": 2},
        "title": wide["title"] | {"limit": WIDTH},
    }


def _record(command: str, path: Path) -> InputRecord:
    digest = digest_of(path / MANIFEST)
    assert digest is not None  # it was read
    return InputRecord(
        role=command, name=f"{path.resolve().name}/{MANIFEST}", size=digest.size, sha256=digest.sha256,
        content_sha256=digest.sha256,
    )  # fmt: skip


def _specs(rooms: Sequence[FoundRoom], pages: Sequence[RoomPage]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give each chart's name and its whole specification."""
    several = len({room.name for room in rooms}) < len(rooms)
    for room, page in zip(rooms, pages, strict=True):
        start = slug(room.place or room.name) if several else slug(room.name)
        for figure in (one for section in page.sections for one in section.figures):
            for number, chart in enumerate(figure.charts, start=1):
                part = f"-{number}" if len(figure.charts) > 1 else ""
                spec = chart.to_dict(validate=False) | {
                    "width": WIDTH,
                    "autosize": {"type": "fit-x", "contains": "padding"},
                    "config": _narrow(config()),
                }
                yield f"{start}-{slug(figure.name)}{part}", spec
