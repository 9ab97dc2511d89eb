"""Options of the GQA-OOD room: what changes its result, and nothing else. The room's README has their table.

The preset ``code`` follows GQA-OOD's released scripts, ``paper`` the article (Kervadec et al., CVPR 2021).
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from shortcut_miner.options import (
    OnBadRow,
    ScoreOptions,
    as_paths,
    check_between,
    check_whole,
    fill_in,
    reject,
)

Preset = Literal["paper", "code"]
EntropyCut = Literal["mean-std", "none"]
NullGroup = Literal["group", "drop"]
_PRESETS: dict[str, dict[str, Any]] = {"paper": {"log_epsilon": 0.0}, "code": {"log_epsilon": 1e-9}}
_MOST_ALPHA = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GqaOodFiles:
    """Input files of ``gqa-ood build``.

    Attributes
    ----------
    questions : Path
        GQA questions JSON, or the folder over which it is split; or, with --group, questions of any other
        released set, or one Parquet, Arrow, CSV or JSONL table with question_id, answer and the group.
    annotations : Path, optional
        The annotations of a VQA questions JSON; other files have their answers in themselves.
    """

    questions: Path
    annotations: Path | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GqaOodConfig:
    """Options of ``gqa-ood build``. None means: what the preset says.

    Attributes
    ----------
    preset : {"paper", "code"}
        Compute the entropy as the article has it, or with the released scripts' 1e-9 in the logarithm.
    group : str, optional
        What groups questions: of GQA local (the default), global, structural, semantic or detailed; of other
        sets question_type, answer_type or split; of a table any column.
    alpha : float
        An answer is tail below (1 + alpha) times the mean count of its group's answers. Above -1.
    entropy_cut : {"mean-std", "none"}
        Keep the groups whose entropy is at most the mean minus the standard deviation, or all.
    null_group : {"group", "drop"}
        Questions without a group are a group of their own called "none", or are left out.
    log_epsilon : float, optional
        Added to each answer's share within the logarithm.
    as_gqa : bool
        Write head.json, tail.json and all.json as GQA question files, not as lists of ids.
    columns : str, optional
        Names in a table of questions, as in question_id=qid,answer=label.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    preset: Preset = "paper"
    group: str | None = None
    alpha: float = 0.2
    entropy_cut: EntropyCut = "mean-std"
    null_group: NullGroup = "group"
    log_epsilon: float | None = None
    as_gqa: bool = False
    columns: str | None = None
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value."""
        fill_in(self, _PRESETS)
        check_between(self, "alpha", -1, _MOST_ALPHA, above=True)
        check_between(self, "log_epsilon", 0, 1, below=True)
        if self.group is not None and not (isinstance(self.group, str) and self.group.strip()):
            reject("group", self.group, "the name of a column")
        if not isinstance(self.columns, str | None):
            reject("columns", self.columns, "text, such as question_id=qid,answer=label")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``gqa-ood score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    baseline : str, optional
        Model that all others are compared with, on the same resamples.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    baseline: str | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
