"""The formats of ``shortcut-miner export --to``, a line each: its name, and the module that writes it.

A module is loaded when its format is asked for. Its ``EXPORTER`` is an
:class:`shortcut_miner.exports.exporter.Exporter`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from shortcut_miner.errors import ConfigError, near_names

if TYPE_CHECKING:
    from shortcut_miner.exports.exporter import Exporter

FORMATS = {
    "vqa-json": "vqa_json",
    "huggingface": "huggingface",
    "lmms-eval": "lmms_eval",
    "inspect-ai": "inspect_ai",
    "vlmevalkit": "vlmevalkit",
    "lxmert": "lxmert",
    "lavis": "lavis",
    "mmf": "mmf",
}


def exporter(name: str) -> "Exporter":
    """Return the exporter of a name.

    Raises
    ------
    ConfigError
        There is none; the message lists all.
    """
    if name not in FORMATS:
        raise ConfigError(
            f"to: got {name!r}, expected one of {', '.join(FORMATS)}. Change --to.{near_names(name, FORMATS)}"
        )
    found: Exporter = import_module(f"{__package__}.{FORMATS[name]}").EXPORTER
    return found
