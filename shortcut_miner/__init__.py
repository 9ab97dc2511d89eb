"""Mine multimodal shortcuts from VQA data and build the datasets that expose them.

The rooms, such as ``vqa_ce``, each have ``build`` and ``score`` (see :mod:`shortcut_miner.rooms`). All names
are loaded when first used (PEP 562), so that importing the package, or asking for a command's help, loads
neither Polars nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortcut_miner.errors import ShortcutMinerError as ShortcutMinerError
from shortcut_miner.rooms import NAMES as _ROOMS
from shortcut_miner.version import __version__ as __version__

if TYPE_CHECKING:
    from shortcut_miner.comparing import power as power
    from shortcut_miner.demo.files import write_demo_world as write_demo_world
    from shortcut_miner.diagnostics.vqa_ce.build import build as build_vqa_ce
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig as VqaCeConfig
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeFiles as VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.score import score as score_vqa_ce
    from shortcut_miner.exports.export import export as export
    from shortcut_miner.leaking import check_leaks as check_leaks
    from shortcut_miner.mining.frames.mlxtend import from_mlxtend as from_mlxtend
    from shortcut_miner.mining.frames.mlxtend import to_mlxtend as to_mlxtend
    from shortcut_miner.mining.frames.tables import match_rules as match_rules
    from shortcut_miner.mining.frames.tables import mine_rules as mine_rules
    from shortcut_miner.recipes.run import run_recipe as run_recipe
    from shortcut_miner.repeating import repeat as repeat
    from shortcut_miner.report.report import write_html_report as write_html_report
    from shortcut_miner.rooms import *  # noqa: F403
    from shortcut_miner.scoring.accuracy import score_questions as score_questions
    from shortcut_miner.sources.answers.predictions import read_predictions as read_predictions
    from shortcut_miner.sources.opening.limits import max_unpacked as max_unpacked
    from shortcut_miner.sources.questions.vqa import read_vqa as read_vqa
    from shortcut_miner.verifying import verify as verify

_LAZY = {name: ("shortcut_miner.rooms", name) for name in _ROOMS} | {
    "mine_rules": ("shortcut_miner.mining.frames.tables", "mine_rules"),
    "match_rules": ("shortcut_miner.mining.frames.tables", "match_rules"),
    "to_mlxtend": ("shortcut_miner.mining.frames.mlxtend", "to_mlxtend"),
    "from_mlxtend": ("shortcut_miner.mining.frames.mlxtend", "from_mlxtend"),
    "build_vqa_ce": ("shortcut_miner.diagnostics.vqa_ce.build", "build"),
    "score_vqa_ce": ("shortcut_miner.diagnostics.vqa_ce.score", "score"),
    "VqaCeConfig": ("shortcut_miner.diagnostics.vqa_ce.config", "VqaCeConfig"),
    "VqaCeFiles": ("shortcut_miner.diagnostics.vqa_ce.config", "VqaCeFiles"),
    "power": ("shortcut_miner.comparing", "power"),
    "check_leaks": ("shortcut_miner.leaking", "check_leaks"),
    "export": ("shortcut_miner.exports.export", "export"),
    "repeat": ("shortcut_miner.repeating", "repeat"),
    "run_recipe": ("shortcut_miner.recipes.run", "run_recipe"),
    "write_html_report": ("shortcut_miner.report.report", "write_html_report"),
    "read_vqa": ("shortcut_miner.sources.questions.vqa", "read_vqa"),
    "read_predictions": ("shortcut_miner.sources.answers.predictions", "read_predictions"),
    "max_unpacked": ("shortcut_miner.sources.opening.limits", "max_unpacked"),
    "verify": ("shortcut_miner.verifying", "verify"),
    "score_questions": ("shortcut_miner.scoring.accuracy", "score_questions"),
    "write_demo_world": ("shortcut_miner.demo.files", "write_demo_world"),
}

__all__ = [
    "ShortcutMinerError",
    "VqaCeConfig",
    "VqaCeFiles",
    "build_vqa_ce",
    "check_leaks",
    "export",
    "from_mlxtend",
    "match_rules",
    "max_unpacked",
    "mine_rules",
    "power",
    "read_predictions",
    "read_vqa",
    "repeat",
    "run_recipe",
    "score_questions",
    "score_vqa_ce",
    "to_mlxtend",
    "verify",
    "write_demo_world",
    "write_html_report",
]
__all__.extend(_ROOMS)


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'shortcut_miner' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
