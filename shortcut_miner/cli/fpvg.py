"""``fpvg build``, ``fpvg score``, ``fpvg images`` and ``fpvg show``."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import print_frame, print_models, print_title
from shortcut_miner.cli.kernels import FPVG
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    METHOD,
    SCALE,
    BuildOut,
    ConfigFile,
    DryRun,
    FirstRows,
    Force,
    MostShown,
    NamedFiles,
    OptionalNamedFiles,
    Out,
    Shown,
    file_lists,
    named_files,
)
from shortcut_miner.cli.pictures import (
    FilesGiven,
    ImagesGiven,
    PictureOut,
    print_picture,
    target_picture,
)
from shortcut_miner.cli.room import run_build, run_score, show_words
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles, ImagesConfig, ScoreConfig

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.datasets.drawn_images import ImagesReport
    from shortcut_miner.diagnostics.fpvg.outputs import BuildReport
    from shortcut_miner.diagnostics.fpvg.report import ScoreReport
    from shortcut_miner.timing import OnStage

Files = Annotated[FpvgFiles, Parameter(name="*", group=INPUTS, consume_multiple=1, negative=())]
Method = Annotated[FpvgConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]

ImagesMethod = Annotated[ImagesConfig, Parameter(name="*", group=METHOD)]

_DEFAULT_METHOD, _DEFAULT_SCORE, _DEFAULT_IMAGES = FpvgConfig(), ScoreConfig(), ImagesConfig()


def build(
    files: Files,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build an FPVG folder."""

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.fpvg.build import build as build_folder

        return build_folder(files, method, target, limit=rows, force=force, on_stage=on_stage)

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words, kernels=(FPVG,))


def score(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    all_: Annotated[list[str], Parameter(name="--all", group=INPUTS, consume_multiple=1, negative=())],
    relevant: NamedFiles,
    irrelevant: NamedFiles,
    ids: OptionalNamedFiles = None,
    importance: OptionalNamedFiles = None,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on an FPVG folder.

    Parameters
    ----------
    folder : Path
        What fpvg build wrote.
    all_ : list of str
        NAME=FILE for each model: its answers with all regions. NAME@SEED=FILE for several runs of a model;
        NAME=F1,F2 or NAME=FOLDER joins the files of one.
        With a column probability (of the answer given with all regions) in all three files of a model,
        sufficiency and comprehensiveness too.
    relevant : list of str
        NAME=FILE: its answers with the relevant regions only.
    irrelevant : list of str
        NAME=FILE: its answers with the irrelevant regions only.
    ids : list of str, optional
        NAME=FILE: lists of questions to evaluate instead of all evaluable ones; of two lists also the drop.
    importance : list of str, optional
        NAME=FILE, or NAME:METHOD=FILE for several methods: question_id, region_index and importance of a
        model's regions; or in place of importance the probability of its answer without that region.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and what is known of each question.
    most : int
        Most types of question to print.
    """
    given = {"--all": all_, "--relevant": relevant, "--irrelevant": irrelevant}
    files = [file_lists(values, option) for option, values in given.items()]

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.fpvg.answers import runs_of
        from shortcut_miner.diagnostics.fpvg.score import score as score_folder

        return score_folder(
            folder,
            runs_of(*files),
            method,
            target,
            id_lists=named_files(ids or (), "--ids"),
            importance=named_files(importance or (), "--importance"),
            force=force,
            on_stage=on_stage,
        )

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=score_document,
        show=lambda report: print_scores(report, most),
    )


def score_document(report: "ScoreReport") -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document: dict[str, Any] = {"scores": as_dict(report.scores), "outcomes": report.outcomes.to_dicts()}
    for name in ("seeds", "drops", "quadrants", "flips"):
        table = getattr(report, name)
        if table is not None:
            document[name] = table.to_dicts()
    return document


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print FPVG, accuracies and ratios over all questions, FPVG+ per type, and what else there is."""
    import polars as pl

    from shortcut_miner.diagnostics.fpvg.report import SHOWN_METRICS

    scores = report.scores
    print_title("Shares and accuracies in percent, ratios as they are [95% interval]")
    print_metrics(scores.filter(pl.col("subgroup") == "all", pl.col("metric").is_in(SHOWN_METRICS)))
    by_type = scores.filter(pl.col("subgroup") != "all", pl.col("metric") == "fpvg_plus")
    if len(by_type) and most:
        print_title("FPVG+ by type of question")
        print_metrics(by_type, most)
    for name, title in (("seeds", "Median and largest deviation over runs"), ("drops", "Drop between lists")):
        table = getattr(report, name)
        if table is not None:
            print_title(title)
            is_shown = pl.col("metric").is_in(SHOWN_METRICS)
            is_whole = pl.col("subgroup") == "all" if "subgroup" in table.columns else True
            print_frame(table.filter(is_shown, is_whole), spare=("subgroup", "runs"))


def print_metrics(scores: "pl.DataFrame", most: int | None = None) -> None:
    """Print a row a figure and subgroup, at most so many, and a column a model."""
    from shortcut_miner.scoring.tables import value_text

    cell = partial(value_text, interval_digits=2)
    print_models(scores, ("metric", "group", "subgroup", "n"), cell, most=most)


def show(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    question_id: Annotated[str, Parameter(group=INPUTS)],
    /,
    *,
    images: ImagesGiven = None,
    detections: FilesGiven = None,
    detections_info: FilesGiven = None,
    most: MostShown = 100,
    out: PictureOut = None,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Draw a question's regions.

    Parameters
    ----------
    folder : Path
        What fpvg build wrote.
    question_id : str
        One of its questions.
    detections : list of Path, optional
        Boxes to draw in place of the folder's own.
    detections_info : list of Path, optional
        The file that their format needs beside.
    most : int
        Most regions to draw of each list.
    """
    from shortcut_miner.diagnostics.fpvg.show import show as show_question

    with target_picture(out, dry_run=dry_run) as target:
        picture = show_question(
            folder,
            question_id,
            images=images,
            detections=detections,
            detections_info=detections_info,
            out=target,
            limit=most,
        )
    return print_picture(picture, target, shown)


def images(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    images: Annotated[str, Parameter(group=INPUTS)],
    rows: FirstRows = None,
    method: ImagesMethod = _DEFAULT_IMAGES,
    config: ConfigFile = None,
    processes: Annotated[int, Parameter(group=SCALE, validator=Number(gte=1))] = 1,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Draw the images that a model is shown under each condition.

    Parameters
    ----------
    folder : Path
        What fpvg build wrote.
    images : str
        Folder with the images, which is looked through, or a pattern of paths such as
        images/{image_id:012d}.jpg.
    processes : int
        How many draw at the same time.
    """

    def work(target: Path | None, on_stage: "OnStage | None") -> "ImagesReport":
        from shortcut_miner.diagnostics.fpvg.config import ImagesFiles
        from shortcut_miner.diagnostics.fpvg.images import images as draw_images

        files = ImagesFiles(folder=folder, images=images)
        return draw_images(
            files, method, target, processes=processes, limit=rows, force=force, on_stage=on_stage
        )

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words, kernels=(FPVG,))


HELP = "Faithful and plausible visual grounding of VQA models (Reich et al., EMNLP Findings 2023)."
COMMANDS = (
    Command(
        ("fpvg", "build"),
        build,
        "Find the regions of each image that a question is about, and those that it is not about.",
        f"{ENTER}\nshortcut-miner fpvg build \\\n"
        "    --questions world/val_balanced_questions.json \\\n"
        "    --scene-graphs world/val_sceneGraphs.json \\\n"
        "    --detections world/val_objects.jsonl \\\n"
        "    --out my-fpvg",
    ),
    Command(
        ("fpvg", "score"),
        score,
        "Score whether models' answers rest on the relevant regions, from three runs of each.",
        f"{ENTER}\nshortcut-miner fpvg score fpvg \\\n"
        "    --all grounded=world/grounded_model_all_regions.json \\\n"
        "    --relevant grounded=world/grounded_model_relevant_regions.json \\\n"
        "    --irrelevant grounded=world/grounded_model_irrelevant_regions.json",
    ),
    Command(
        ("fpvg", "images"),
        images,
        "Draw images in which only the relevant or only the irrelevant regions stay, for models of pixels.",
        f"{ENTER}\nshortcut-miner fpvg images fpvg --images images --sample 20 --out my-images",
    ),
    Command(
        ("fpvg", "show"),
        show,
        "Draw the relevant and the irrelevant regions of one question on its image.",
        f"{ENTER}\nshortcut-miner fpvg show fpvg 00000000 --out regions.png",
    ),
)
