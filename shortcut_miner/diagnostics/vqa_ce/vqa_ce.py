"""VQA-CE from Python: ``shortcut_miner.vqa_ce``.

Counterexamples, easy and hard questions of VQA data (Dancette et al., ICCV 2021). Paths are text or Path;
options are named and mean the same as on the command line (see :class:`VqaCeConfig` and :class:`ScoreConfig`,
which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.vqa_ce.config import (
    Preset,
    ScoreConfig,
    SupportRounding,
    Vote,
    VqaCeConfig,
    VqaCeFiles,
)
from shortcut_miner.options import (
    AnswerTies,
    BackendName,
    ItemKinds,
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    Scorer,
    SupersetFilter,
    SweepScorer,
    Tokenizer,
    as_path,
    as_path_if_given,
    as_text_if_given,
    check_counts,
    fields_from,
    memory_bytes,
    options_from,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shortcut_miner.datasets.pictures import Picture
    from shortcut_miner.diagnostics.vqa_ce.explain import Explanation
    from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport
    from shortcut_miner.diagnostics.vqa_ce.score import ScoreReport
    from shortcut_miner.diagnostics.vqa_ce.sweep import SweepReport

__all__ = ["ScoreConfig", "VqaCeConfig", "VqaCeFiles", "build", "explain", "score", "show", "sweep"]


def build(
    *,
    train_questions: PathText | None = None,
    train_annotations: PathText | None = None,
    val_questions: PathText | None = None,
    val_annotations: PathText | None = None,
    table: PathTexts | None = None,
    val_table: PathTexts | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    threads: int | None = None,
    backend: BackendName = "auto",
    memory: str | int | None = None,
    executor: "str | Executor | None" = None,
    shards: int | None = None,
    work: PathText | None = None,
    force: bool = False,
    config: VqaCeConfig | None = None,
    columns: str | None = None,
    item_columns: str | None = None,
    split_column: str | None = None,
    val_share: float | None = None,
    preset: Preset = "code",
    items: ItemKinds | None = None,
    tokenizer: Tokenizer = "basic_english",
    min_count: int | None = None,
    min_support: float | None = None,
    max_antecedent: int = 4,
    min_confidence: float = 0.3,
    score_threshold: float = 0.5,
    top_answers: int = 3000,
    answer_ties: AnswerTies = "first",
    superset_filter: SupersetFilter | None = None,
    vote: Vote | None = None,
    support_rounding: SupportRounding | None = None,
    empty_rule: bool | None = None,
    keep_dropped: bool = False,
    keep_matches: bool = False,
    max_rules: int | None = None,
    holdout: bool = False,
    seed: int = 0,
    max_q: float = 0.05,
    max_improvement_p: float = 0.05,
    min_val_count: int = 10,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build found: ``rules``, ``split``, ``questions`` and more, as Polars frames.

    Parameters
    ----------
    train_questions, train_annotations, val_questions, val_annotations, table, val_table, detections,
    detections_info
        See :class:`VqaCeFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first questions of both splits only, to try things out.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    backend : {"auto", "numba", "cupy"}
        What does the search; "auto" takes the best that is there. The result is the same for any.
    memory : str or int, optional
        The most that this process, with its workers on this machine, may hold, such as "4GB"; tables are then
        read a batch at a time. The result is the same for any amount that holds the rules. Default: what is
        free.
    executor : str or Executor, optional
        Who mines: "local[N]", "dask://HOST:PORT", "slurm:NAME=VALUE,...", or an executor of any engine.
    shards : int, optional
        Parts to mine one by one; default: as few as memory allows, and some for each worker.
    work : path, optional
        Folder for what is in between, on a disk that all workers share; a run that was killed is gone on
        with. Default: a hidden folder beside `out`.
    force : bool
        Replace the folder of a build with other options.
    config : VqaCeConfig, optional
        All options at once, in place of those that follow.
    columns, preset, items, ...
        See :class:`VqaCeConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    BackendError
        The backend is not available.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit, threads=threads)
    from shortcut_miner.diagnostics.vqa_ce.build import build as build_folder
    from shortcut_miner.mining.sharding.distribution import Distribution

    return build_folder(
        fields_from(VqaCeFiles, given),
        options_from(VqaCeConfig, config, given),
        as_path_if_given("out", out),
        limit=limit,
        threads=threads,
        backend=backend,
        distribution=Distribution(
            executor=executor, shards=shards, work=as_path_if_given("work", work), memory=memory_bytes(memory)
        ),
        force=force,
    )


def score(
    folder: PathText,
    predictions: Mapping[str, PathTexts],
    *,
    soft_labels: PathText | None = None,
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
    scorer: Scorer = "auto",
    baseline: str | None = None,
    min_count: int = 5,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return models' accuracies on the subsets of a build, and the shortcuts that they exploit.

    Parameters
    ----------
    folder : path
        What a build wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its file of answers to the evaluated questions, several files, or a folder of them.
    soft_labels : path, optional
        Weights of each question's answers, to score by weight.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals,
    scorer, baseline, min_count, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.vqa_ce.score import score as score_folder

    return score_folder(
        as_path("folder", folder),
        predictions,
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        soft_labels=as_path_if_given("soft_labels", soft_labels),
        force=force,
    )


def explain(
    folder: PathText, question_id: str | int, *, verdict: str | None = None, max_q: float | None = None
) -> "Explanation":
    """Return the rules of a build that fire on one question, and why it is in its subset.

    Parameters
    ----------
    folder : str or Path
        What :func:`build` wrote.
    question_id : str or int
        One of the evaluated questions.
    verdict : str, optional
        List rules with this verdict only.
    max_q : float, optional
        List rules whose q_value_by is below this only.

    Raises
    ------
    SourceError
        The folder can't be read.
    ConfigError
        It has no such question, or rules without verdicts.
    """
    from shortcut_miner.diagnostics.vqa_ce.explain import explain as explain_question

    return explain_question(as_path("folder", folder), str(question_id), verdict=verdict, max_q=max_q)


def show(
    folder: PathText,
    question_id: str | int,
    *,
    images: PathText | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    rule: int | None = None,
    verdict: str | None = None,
    max_q: float | None = None,
    out: PathText | None = None,
) -> "Picture":
    """Return a picture of a question's image with the objects of a rule that fires on it.

    Parameters
    ----------
    folder : str or Path
        What :func:`build` wrote.
    question_id : str or int
        One of the evaluated questions.
    images : path, optional
        Folder of the images, or a pattern of paths with {image_id}; without it, boxes are drawn on an empty
        page.
    detections, detections_info : path or sequence of path, optional
        Boxes with labels, of the detector whose labels the build read; by default what it read, if that has
        boxes.
    rule : int, optional
        ``rule_id`` of one of the rules that fire; by default the first of them that has objects.
    verdict, max_q
        See :func:`explain`: which of the rules to choose from.
    out : path, optional
        PNG to write; nothing is written without it.

    Raises
    ------
    SourceError, ConfigError, BackendError
        A file, an image or a box that is not there, no such question or rule, or no Pillow.
    """
    from shortcut_miner.diagnostics.vqa_ce.show import show as show_question

    return show_question(
        as_path("folder", folder),
        explain(folder, question_id, verdict=verdict, max_q=max_q),
        images=as_text_if_given("images", images),
        detections=detections,
        detections_info=detections_info,
        rule=rule,
        out=as_path_if_given("out", out),
    )


def sweep(
    *,
    train_questions: PathText | None = None,
    train_annotations: PathText | None = None,
    val_questions: PathText | None = None,
    val_annotations: PathText | None = None,
    table: PathTexts | None = None,
    val_table: PathTexts | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    min_counts: Sequence[int] = (8, 16, 32, 64),
    min_confidences: Sequence[float] = (0.2, 0.3, 0.5, 0.7, 0.9),
    scorer: SweepScorer = "auto",
    out: PathText | None = None,
    limit: int | None = None,
    threads: int | None = None,
    backend: BackendName = "auto",
    force: bool = False,
    config: VqaCeConfig | None = None,
    columns: str | None = None,
    item_columns: str | None = None,
    split_column: str | None = None,
    val_share: float | None = None,
    preset: Preset = "code",
    items: ItemKinds | None = None,
    tokenizer: Tokenizer = "basic_english",
    max_antecedent: int = 4,
    score_threshold: float = 0.5,
    top_answers: int = 3000,
    answer_ties: AnswerTies = "first",
    superset_filter: SupersetFilter | None = None,
    vote: Vote | None = None,
    support_rounding: SupportRounding | None = None,
    empty_rule: bool | None = None,
    keep_dropped: bool = False,
    keep_matches: bool = False,
    max_rules: int | None = None,
    holdout: bool = False,
    seed: int = 0,
    max_q: float = 0.05,
    max_improvement_p: float = 0.05,
    min_val_count: int = 10,
    on_bad_row: OnBadRow = "error",
) -> "SweepReport":
    """Return the rule classifier's accuracy over minimum counts and confidences, from one search.

    Parameters
    ----------
    train_questions, train_annotations, val_questions, val_annotations, table, val_table, detections,
    detections_info
        See :class:`VqaCeFiles`.
    min_counts, min_confidences : sequence
        Thresholds to combine.
    scorer : str
        How the classifier's answers are scored.
    out, limit, threads, backend, force
        As for :func:`build`.
    config : VqaCeConfig, optional
        All options at once, in place of those that follow; without thresholds.
    columns, preset, items, ...
        See :class:`VqaCeConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        As for :func:`build`; thresholds without meaning, or a search that ``max_rules`` cuts.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit, threads=threads)
    from shortcut_miner.diagnostics.vqa_ce.sweep import sweep as sweep_thresholds

    return sweep_thresholds(
        fields_from(VqaCeFiles, given),
        options_from(VqaCeConfig, config, given),
        as_path_if_given("out", out),
        min_counts=min_counts,
        min_confidences=min_confidences,
        scorer=scorer,
        limit=limit,
        threads=threads,
        backend=backend,
        force=force,
    )


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
