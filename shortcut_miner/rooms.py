"""The rooms: what ``shortcut_miner.NAME`` is in Python, loaded when it is asked for.

``shortcut-miner NAME`` follows from the name (its commands are in ``cli/NAME.py``), and so does the room's
part of the demo (``demo/NAME.py``; that of the first room is the demo's own subject, in ``demo/run.py``).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers, which read no names from a tuple
    from shortcut_miner.diagnostics.fpvg import fpvg as fpvg
    from shortcut_miner.diagnostics.gqa_ood import gqa_ood as gqa_ood
    from shortcut_miner.diagnostics.pairs import pairs as pairs
    from shortcut_miner.diagnostics.pope import pope as pope
    from shortcut_miner.diagnostics.rad import rad as rad
    from shortcut_miner.diagnostics.resplit import resplit as resplit
    from shortcut_miner.diagnostics.slices import slices as slices
    from shortcut_miner.diagnostics.swapmix import swapmix as swapmix
    from shortcut_miner.diagnostics.vqa_ce import vqa_ce as vqa_ce

# In the order of the README's table, which is that of the demo.
NAMES = ("vqa_ce", "rad", "fpvg", "swapmix", "gqa_ood", "pairs", "slices", "pope", "resplit")
WORDS = tuple(name.replace("_", "-") for name in NAMES)  # as commands name them


def __getattr__(name: str) -> Any:
    """Load a room on first use (PEP 562)."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = room = import_module(f"shortcut_miner.diagnostics.{name}.{name}")
    return room
