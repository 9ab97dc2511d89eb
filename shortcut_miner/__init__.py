"""Mine multimodal shortcuts from VQA data and build the datasets that expose them.

Names are loaded when first used (PEP 562), so that importing the package, or asking for a command's help,
loads neither Polars nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.vqa_ce.build import build as build_vqa_ce
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.score import score as score_vqa_ce
    from shortcut_miner.errors import ShortcutMinerError
    from shortcut_miner.mining.frames.mlxtend import from_mlxtend, to_mlxtend
    from shortcut_miner.mining.frames.tables import match_rules, mine_rules
    from shortcut_miner.scoring.accuracy import score_questions
    from shortcut_miner.sources.answers.predictions import read_predictions
    from shortcut_miner.sources.questions.vqa import read_vqa

_PUBLIC = {
    "mine_rules": ("shortcut_miner.mining.frames.tables", "mine_rules"),
    "match_rules": ("shortcut_miner.mining.frames.tables", "match_rules"),
    "to_mlxtend": ("shortcut_miner.mining.frames.mlxtend", "to_mlxtend"),
    "from_mlxtend": ("shortcut_miner.mining.frames.mlxtend", "from_mlxtend"),
    "build_vqa_ce": ("shortcut_miner.diagnostics.vqa_ce.build", "build"),
    "score_vqa_ce": ("shortcut_miner.diagnostics.vqa_ce.score", "score"),
    "VqaCeConfig": ("shortcut_miner.diagnostics.vqa_ce.config", "VqaCeConfig"),
    "VqaCeFiles": ("shortcut_miner.diagnostics.vqa_ce.config", "VqaCeFiles"),
    "read_vqa": ("shortcut_miner.sources.questions.vqa", "read_vqa"),
    "read_predictions": ("shortcut_miner.sources.answers.predictions", "read_predictions"),
    "score_questions": ("shortcut_miner.scoring.accuracy", "score_questions"),
    "ShortcutMinerError": ("shortcut_miner.errors", "ShortcutMinerError"),
}

__all__ = [
    "ShortcutMinerError",
    "VqaCeConfig",
    "VqaCeFiles",
    "build_vqa_ce",
    "from_mlxtend",
    "match_rules",
    "mine_rules",
    "read_predictions",
    "read_vqa",
    "score_questions",
    "score_vqa_ce",
    "to_mlxtend",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'shortcut_miner' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *_PUBLIC])
