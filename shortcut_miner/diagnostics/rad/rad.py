"""RAD from Python: ``shortcut_miner.rad``.

Yes/no augmentations of any VQA questions, and the RAD score (Rosenberg et al., ACL 2021). Paths are text or
Path; options are named and mean the same as on the command line (see :class:`RadConfig` and
:class:`ScoreConfig`, which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.rad.config import (
    Correct,
    Draw,
    Mode,
    PairFiles,
    PoolBy,
    Preset,
    RadConfig,
    RadFiles,
    ScoreConfig,
    Surface,
)
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    as_path_if_given,
    check_counts,
    fields_from,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.rad.aligned_scores import ScoreReport
    from shortcut_miner.diagnostics.rad.outputs import BuildReport

__all__ = ["PairFiles", "RadConfig", "RadFiles", "ScoreConfig", "build", "score"]


def build(
    *,
    questions: PathText,
    annotations: PathText | None = None,
    pools: PathText | None = None,
    balance: PathText | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    force: bool = False,
    leak_check: bool = False,
    config: RadConfig | None = None,
    preset: Preset = "paper",
    draw: Draw | None = None,
    types: str = "all",
    mode: Mode = "grammar",
    forms: str | None = None,
    pool_by: PoolBy = "type",
    exclude_annotators: bool = True,
    min_agreement: int | None = None,
    exclude_doubtful: bool | None = None,
    surface: Surface | None = None,
    soft_targets: bool | None = None,
    per_question: int = 1,
    seed: int = 0,
    spacy_model: str = "en_core_web_sm",
    split: str | None = None,
    columns: str | None = None,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build made: ``augmentations``, ``skipped``, ``pools``, ``questions``, as Polars frames.

    Parameters
    ----------
    questions, annotations, pools, balance
        See :class:`RadFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    leak_check : bool
        Also measure how far the answers can be guessed from text alone, into leak.json (extra ``leak``).
    config : RadConfig, optional
        All options at once, in place of those that follow.
    preset, draw, ...
        See :class:`RadConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError, BackendError
        Bad input or options, a folder that can't be written, no spaCy model; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.rad.build import build as build_folder

    return build_folder(
        fields_from(RadFiles, given),
        options_from(RadConfig, config, given),
        as_path_if_given("out", out),
        limit=limit,
        force=force,
        check_leak=leak_check,
    )


def score(
    folder: PathText | None = None,
    *,
    original: Mapping[str, PathTexts],
    augmented: Mapping[str, PathTexts],
    pairs: PathText | None = None,
    questions: PathText | None = None,
    annotations: PathText | None = None,
    augmented_questions: PathText | None = None,
    augmented_annotations: PathText | None = None,
    out: PathText | None = None,
    force: bool = False,
    config: ScoreConfig | None = None,
    columns: str | None = None,
    on_missing: OnMissing = "error",
    on_extra: OnExtra = "error",
    on_duplicate: OnDuplicate = "error",
    on_bad_row: OnBadRow = "error",
    extract: str | None = None,
    tex_intervals: bool = False,
    correct: Correct = "equal",
    threshold: float = 0.5,
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return models' RAD scores on a build, or on any aligned pair of sets of questions.

    Parameters
    ----------
    folder : path, optional
        What a build wrote; without it, `pairs` and the files of two other sets.
    original, augmented : mapping of str to path or sequence of path
        Model -> its answers to the original questions, and to the augmented ones: a file, several, or a
        folder of them.
    pairs, questions, annotations, augmented_questions, augmented_annotations
        See :class:`PairFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals,
    correct, threshold, baseline, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.rad.score import score as score_files
    from shortcut_miner.diagnostics.rad.score import source_of

    return score_files(
        source_of(as_path_if_given("folder", folder), fields_from(PairFiles, given)),
        original,
        augmented,
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        force=force,
    )


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
