"""The rooms, a line each: what ``shortcut_miner.NAME`` is in Python.

``shortcut-miner NAME`` follows from it (its commands are in ``cli/NAME.py``), and so does the room's part of
the demo (``demo/NAME.py``; that of the first room is the demo's own subject, in ``demo/run.py``).
"""

# In the order of the README's table, which is that of the demo.
# isort: off
from shortcut_miner.diagnostics.vqa_ce import vqa_ce as vqa_ce
from shortcut_miner.diagnostics.rad import rad as rad
from shortcut_miner.diagnostics.fpvg import fpvg as fpvg
from shortcut_miner.diagnostics.swapmix import swapmix as swapmix
from shortcut_miner.diagnostics.gqa_ood import gqa_ood as gqa_ood
from shortcut_miner.diagnostics.pairs import pairs as pairs
from shortcut_miner.diagnostics.slices import slices as slices
from shortcut_miner.diagnostics.pope import pope as pope
from shortcut_miner.diagnostics.resplit import resplit as resplit
# isort: on

NAMES = tuple(
    name
    for name, value in globals().items()
    if getattr(value, "__name__", "").startswith("shortcut_miner.diagnostics.")
)
WORDS = tuple(name.replace("_", "-") for name in NAMES)  # as commands name them
