"""``vqa-ce build``, ``vqa-ce score`` and ``vqa-ce sweep``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import (
    note,
    print_frame,
    print_json,
    print_models,
    print_table,
    print_text,
    print_title,
)
from shortcut_miner.cli.kernels import IN_SHARDS, ROW_DIGESTS, kernel_names
from shortcut_miner.cli.loading import loading
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    METHOD,
    BuildOut,
    Compute,
    ConfigFile,
    DryRun,
    FirstRows,
    Force,
    Memory,
    MostShown,
    NamedFiles,
    Out,
    Shards,
    Shown,
    Threads,
    WhereToMine,
    Work,
    file_lists,
    numbers_list,
)
from shortcut_miner.cli.room import run_build, run_score, show_words
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig, VqaCeConfig, VqaCeFiles
from shortcut_miner.options import SweepScorer, memory_bytes
from shortcut_miner.timing import cost_text

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport
    from shortcut_miner.diagnostics.vqa_ce.score import ScoreReport
    from shortcut_miner.diagnostics.vqa_ce.sweep import SweepReport
    from shortcut_miner.timing import OnStage

# None never comes: what is missing is told before.
Files = Annotated[VqaCeFiles | None, Parameter(name="*", group=INPUTS, consume_multiple=1, negative=())]
Method = Annotated[VqaCeConfig, Parameter(name="*", group=METHOD)]
Numbers = Parameter(group=METHOD, converter=numbers_list, negative=(), consume_multiple=1)
Counts = Annotated[list[int], Numbers]
Confidences = Annotated[list[float], Numbers]
Scorer = Annotated[SweepScorer, Parameter(group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]

_DEFAULT_METHOD, _DEFAULT_SCORE = VqaCeConfig(), ScoreConfig()
_SHORT_GROUPS = ("overall", "subset", "answer_type")
# Column of the exploited shortcuts -> its heading.
_EXPLOITED = {
    "rule_id": "rule",
    "antecedent_words": "words",
    "antecedent_objects": "objects",
    "antecedent_attributes": "attributes",
    "answer": "answer",
    "firing_count": "fires",
    "agreement": "agrees",
    "counterexample_count": "counterexamples",
    "counterexample_agreement": "agrees there",
    "counterexample_q_value": "q there",
}
_NUMBERS = ("rule", "fires", "agrees", "counterexamples", "agrees there", "q there")
_SPARE = ("fires", "agrees", "rule", "q there")


def _kernels(files: Files, *scale: object) -> tuple[str, ...]:
    """Return the kernel files that a build needs, where some options of `scale` may be given."""
    is_table = files is not None and files.table is not None
    in_shards = any(option is not None for option in scale)
    return (*kernel_names(), *[ROW_DIGESTS] * is_table, *[IN_SHARDS] * in_shards)


def build(
    files: Files = None,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    threads: Threads = None,
    backend: Compute = "auto",
    memory: Memory = None,
    executor: WhereToMine = None,
    shards: Shards = None,
    work: Work = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a VQA-CE folder."""

    def run(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        with loading():
            from shortcut_miner.diagnostics.vqa_ce.build import build as build_folder
            from shortcut_miner.mining.sharding.distribution import Distribution

        assert files is not None
        return build_folder(
            files,
            method,
            target,
            limit=rows,
            threads=threads,
            backend=backend,
            distribution=Distribution(
                executor=executor, shards=shards, work=work, memory=memory_bytes(memory)
            ),
            force=force,
            on_stage=on_stage,
        )

    return run_build(
        run, out=out, dry_run=dry_run, shown=shown, show=show_words, backend=backend,
        kernels=_kernels(files, memory, executor, shards, work),
    )  # fmt: skip


def score(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    predictions: NamedFiles,
    soft_labels: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on a VQA-CE folder.

    Parameters
    ----------
    folder : Path
        What vqa-ce build wrote.
    predictions : list of str
        NAME=FILE for each model: JSON, JSONL, CSV, Parquet, Arrow or xlsx with ids and answers (or
        --columns), {id: answer}, VLMEvalKit results, lmms-eval or lm-eval samples, an inspect_ai log.
        NAME=F1,F2 or NAME=FOLDER joins the files of one model.
    soft_labels : Path, optional
        {answer: weight} of each question (LXMERT, OK-VQA), to score by weight instead of annotators' answers.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and exploited shortcuts (Parquet).
    most : int
        Most exploited shortcuts to print of each model.
    """
    files = file_lists(predictions, "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.vqa_ce.score import score as score_folder

        return score_folder(
            folder, files, method, target, soft_labels=soft_labels, force=force, on_stage=on_stage
        )

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=lambda report: score_document(report, most),
        show=lambda report: print_scores(report, most),
        kernels=("match",),
    )


def score_document(report: "ScoreReport", most: int) -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document: dict[str, Any] = {"scores": as_dict(report.scores)}
    if report.differences is not None:
        document["differences"] = as_dict(report.differences)
    exploited = report.exploited_shortcuts.group_by("model", maintain_order=True).head(most)
    return document | {"exploited_shortcuts": exploited.to_dicts()}


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print accuracies, differences to the baseline, and the shortcuts that each model exploits."""
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.score import CLASSIFIERS

    print_title("Accuracy in percent [95% interval]")
    print_accuracy(report.scores)
    if report.differences is not None:
        print_title("Difference in accuracy, question by question [95% interval]")
        print_accuracy(report.differences)
    for model in report.scores["model"].unique(maintain_order=True):
        if model in CLASSIFIERS:
            continue
        listed = report.exploited_shortcuts.filter(pl.col("model") == model)
        print_exploited(model, listed, most)


def print_exploited(model: str, listed: "pl.DataFrame", most: int) -> None:
    """Print the shortcuts that a model exploits, the surest first, or that it exploits none."""
    from shortcut_miner.diagnostics.vqa_ce.exploited import MAX_Q

    exploited = listed.filter("is_exploited")
    count = f"{len(exploited):,}" if len(exploited) else "none"
    print_title(f"Shortcuts of {model}: exploits {count} of the {len(listed):,} rules that fire often enough")
    if exploited.is_empty():
        print_text(
            "On no rule's counterexamples does it give the rule's answer more often than chance "
            f"(q < {MAX_Q})."
        )
        return
    if most:
        columns = [name for name in _EXPLOITED if name in exploited.columns]
        headings = [_EXPLOITED[name] for name in columns]
        print_table(headings, exploited.select(columns).head(most).rows(), right=_NUMBERS, spare=_SPARE)


def print_accuracy(summary: "pl.DataFrame") -> None:
    """Print a row a subgroup and a column a model; question types are many, so in files and JSON only."""
    import polars as pl

    from shortcut_miner.scoring.tables import value_text

    short = summary.filter(pl.col("group").is_in(_SHORT_GROUPS))
    print_models(short, ("group", "subgroup", "n"), value_text)


def sweep(
    files: Files = None,
    *,
    rows: FirstRows = None,
    min_counts: Counts = [8, 16, 32, 64],  # noqa: B006  # cyclopts shows it as the default; never changed
    min_confidences: Confidences = [0.2, 0.3, 0.5, 0.7, 0.9],  # noqa: B006
    scorer: Scorer = "auto",
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    threads: Threads = None,
    backend: Compute = "auto",
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Compare thresholds.

    Parameters
    ----------
    min_counts : list of int
        Thresholds in place of --min-count, with commas between them.
    min_confidences : list of float
        Thresholds in place of --min-confidence, with commas between them.
    scorer : str
        How the rule classifier's answers are scored.
    out : Path, optional
        Folder to write sweep.parquet, manifest.json and run.json.
    """

    def work(target: Path | None, on_stage: "OnStage | None") -> "SweepReport":
        from shortcut_miner.diagnostics.vqa_ce.sweep import sweep as sweep_thresholds

        assert files is not None
        return sweep_thresholds(
            files,
            method,
            target,
            min_counts=min_counts,
            min_confidences=min_confidences,
            scorer=scorer,
            limit=rows,
            threads=threads,
            backend=backend,
            force=force,
            on_stage=on_stage,
        )

    return run_build(
        work,
        out=out,
        dry_run=dry_run,
        shown=shown,
        kernels=_kernels(files),
        backend=backend,
        show=_show_sweep,
        needs_out=False,
    )


def _show_sweep(report: "SweepReport", shown: Shown, wall_seconds: float) -> None:
    if shown.format == "json":
        print_json({"sweep": report.sweep.to_dicts()})
    else:
        print_frame(report.sweep, spare=("easy", "hard", "classifier_rules"))
    note(shown, f"took {cost_text(report.costs, wall_seconds)}")


_BUILD_INPUTS = r"""
    --train-questions world/v2_OpenEnded_mscoco_train2014_questions.json \
    --train-annotations world/v2_mscoco_train2014_annotations.json \
    --val-questions world/v2_OpenEnded_mscoco_val2014_questions.json \
    --val-annotations world/v2_mscoco_val2014_annotations.json \
    --detections world/image_to_detection.json""".strip()
HELP = "Counterexamples, easy and hard questions of VQA data (Dancette et al., ICCV 2021)."
COMMANDS = (
    Command(
        ("vqa-ce", "build"),
        build,
        "Find the shortcuts of training questions and split validation questions by them.",
        f"{ENTER}\nshortcut-miner vqa-ce build \\\n    {_BUILD_INPUTS} \\\n    --out my-vqa-ce\n"
        "shortcut-miner vqa-ce build --table vqa-ce/questions.parquet \\\n"
        "    --columns labels=objects --val-share 0.3 --out ce-of-a-table",
    ),
    Command(
        ("vqa-ce", "score"),
        score,
        "Score models on the split of a build, and list the shortcuts that they exploit.",
        f"{ENTER}\nshortcut-miner vqa-ce score vqa-ce \\\n"
        "    --predictions leaning=world/shortcut_model_results.json \\\n"
        "    --predictions grounded=world/grounded_model_results.json \\\n"
        "    --baseline grounded",
    ),
    Command(
        ("vqa-ce", "sweep"),
        sweep,
        "Compare minimum counts and confidences by the accuracy of the rule classifier.",
        f"{ENTER}\nshortcut-miner vqa-ce sweep \\\n    {_BUILD_INPUTS} \\\n"
        "    --min-counts 8,16,32 --min-confidences 0.3,0.5,0.7",
    ),
)
