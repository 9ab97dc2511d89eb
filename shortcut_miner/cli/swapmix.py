"""``swapmix build``, ``swapmix score``, ``swapmix images`` and ``swapmix show``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import print_frame, print_models, print_title
from shortcut_miner.cli.kernels import SWAPMIX
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    METHOD,
    OUTPUT,
    SCALE,
    BuildOut,
    ConfigFile,
    DryRun,
    FirstRows,
    Force,
    MostShown,
    OptionalNamedFiles,
    Out,
    Shown,
    Threads,
    file_lists,
)
from shortcut_miner.cli.pictures import (
    FilesGiven,
    ImagesGiven,
    PictureOut,
    print_picture,
    target_picture,
)
from shortcut_miner.cli.room import run_build, run_score, show_words
from shortcut_miner.diagnostics.swapmix.config import ImagesConfig, ScoreConfig, SwapMixConfig, SwapMixFiles

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.datasets.drawn_images import ImagesReport
    from shortcut_miner.diagnostics.swapmix.outputs import BuildReport
    from shortcut_miner.diagnostics.swapmix.score import ScoreReport
    from shortcut_miner.timing import OnStage

Files = Annotated[SwapMixFiles, Parameter(name="*", group=INPUTS, consume_multiple=1, negative=())]
Method = Annotated[SwapMixConfig, Parameter(name="*", group=METHOD)]
Scoring = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
Drawing = Annotated[ImagesConfig, Parameter(name="*", group=METHOD)]
Results = Annotated[Path | None, Parameter(group=INPUTS)]

_DEFAULT_METHOD, _DEFAULT_SCORING, _DEFAULT_DRAWING = SwapMixConfig(), ScoreConfig(), ImagesConfig()


def build(
    files: Files,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    threads: Threads = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a SwapMix plan."""

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.swapmix.build import build as build_folder

        return build_folder(
            files, method, target, limit=rows, threads=threads, force=force, on_stage=on_stage
        )

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words, kernels=(SWAPMIX,))


def score(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    predictions: OptionalNamedFiles = None,
    class_results: Results = None,
    attribute_results: Results = None,
    method: Scoring = _DEFAULT_SCORING,
    config: ConfigFile = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on a SwapMix plan.

    Parameters
    ----------
    folder : Path, optional
        What swapmix build wrote; none with --class-results.
    predictions : list of str, optional
        NAME=FILE for each model: Parquet, CSV, JSONL or JSON with question_id, perturbation and answer.
        NAME=F1,F2 joins the files of one model.
    class_results : Path, optional
        Result JSON of the released evaluation script's class (object) run, in place of a folder.
    attribute_results : Path, optional
        Result JSON of its attribute run.
    out : Path, optional
        Folder to write the scores (Parquet, JSON, Markdown, LaTeX), the flips per class and what became of
        each question (Parquet).
    most : int
        Most classes to print of each model.
    """
    files = file_lists(predictions or (), "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.swapmix.score import score_any

        return score_any(
            folder, files, class_results, attribute_results, method, target, force=force, on_stage=on_stage
        )

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=lambda report: score_document(report, most),
        show=lambda report: print_scores(report, most),
    )


def score_document(report: "ScoreReport", most: int) -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    flips = report.class_flips.group_by("model", "kind", maintain_order=True).head(most)
    document = {"scores": as_dict(report.scores), "class_flips": flips.to_dicts()}
    if report.curve is not None:
        document["curve"] = report.curve.to_dicts()
    if report.differences is not None:
        document["differences"] = as_dict(report.differences)
    return document


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print a row a metric and a column a model, and the classes whose swaps flip answers most often."""
    import polars as pl

    from shortcut_miner.scoring.tables import value_text

    print_title("Percent [95% interval]; reliances are of questions answered right without a swap")
    is_overall = pl.col("group") == "overall"
    print_metrics(report.scores.filter(is_overall))
    by_type = report.scores.filter(~is_overall, pl.col("metric") == "context_reliance")
    if len(by_type) and most:
        print_title("Context reliance by type of question")
        print_models(by_type, ("group", "subgroup"), count_text, most=most)
    if report.curve is not None:
        print_title("With the first k swaps of each kind and object")
        print_models(named(report.curve), ("metric", "k"), value_text)
    if report.differences is not None and len(report.differences):
        told = report.differences.filter(is_overall, pl.col("value").is_not_null())
        print_title(f"Difference to {report.differences['baseline'][0]} in points [95% interval]")
        print_models(named(told), ("metric",), value_text)
    for (model, kind), table in report.class_flips.group_by("model", "kind", maintain_order=True):
        print_title(f"{model}: objects whose {kind} swaps flip right answers, the most often first")
        print_frame(table.drop("model", "kind").head(most))


def print_metrics(scores: "pl.DataFrame") -> None:
    """Print a row a metric: each model's value, interval and n."""
    print_models(named(scores), ("metric",), count_text)


def named(scores: "pl.DataFrame") -> "pl.DataFrame":
    """Return scores with the names of their metrics in words."""
    import polars as pl

    return scores.with_columns(pl.col("metric").str.replace_all("_", " ", literal=True))


def count_text(row: dict[str, Any]) -> str:
    """Return a value with its interval, and of how many it is."""
    from shortcut_miner.scoring.tables import value_text

    return f"{value_text(row)} of {row['n']:,}"


def show(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    question_id: Annotated[str, Parameter(group=INPUTS)],
    /,
    *,
    images: ImagesGiven = None,
    donor_images: Annotated[str | None, Parameter(group=INPUTS)] = None,
    detections: FilesGiven = None,
    detections_info: FilesGiven = None,
    scene_graphs: FilesGiven = None,
    donor_detections: FilesGiven = None,
    donor_detections_info: FilesGiven = None,
    donor_scene_graphs: FilesGiven = None,
    perturbation: Annotated[int | None, Parameter(group=OUTPUT, validator=Number(gte=1))] = None,
    most: Annotated[int, Parameter(name="--limit", group=OUTPUT, validator=Number(gte=1, lte=50))] = 4,
    out: PictureOut = None,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Draw a question's swaps.

    Parameters
    ----------
    folder : Path
        What swapmix build wrote.
    question_id : str
        One of the questions in its plan.
    donor_images : str, optional
        Where the donors' images are, if not in --images.
    detections : list of Path, optional
        Boxes to draw in place of the folder's own.
    detections_info : list of Path, optional
        The file that their format needs beside.
    scene_graphs : list of Path, optional
        Objects to draw in place of the folder's own, of a perfect-sight plan.
    donor_detections : list of Path, optional
        The donors' boxes, likewise, if the build read others.
    donor_detections_info : list of Path, optional
        What --detections-info is, for the donors' boxes.
    donor_scene_graphs : list of Path, optional
        The donors' objects, likewise.
    perturbation : int, optional
        Draw this swap alone.
    most : int
        Most swaps to draw.
    """
    given = locals()
    from shortcut_miner.diagnostics.swapmix.show import ROLES
    from shortcut_miner.diagnostics.swapmix.show import show as show_question

    with target_picture(out, dry_run=dry_run) as target:
        picture = show_question(
            folder,
            question_id,
            images=images,
            donor_images=donor_images,
            perturbation=perturbation,
            boxes={role: given[role] for role in ROLES},
            out=target,
            limit=most,
        )
    return print_picture(picture, target, shown)


def images(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    images: Annotated[str, Parameter(group=INPUTS)],
    donor_images: Annotated[str | None, Parameter(group=INPUTS)] = None,
    rows: FirstRows = None,
    method: Drawing = _DEFAULT_DRAWING,
    config: ConfigFile = None,
    processes: Annotated[int, Parameter(group=SCALE, validator=Number(gte=1))] = 1,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Draw the images of a plan.

    Parameters
    ----------
    folder : Path
        What swapmix build wrote.
    images : str
        Folder with the images, which is looked through, or a pattern of paths such as images/{image_id}.jpg.
    donor_images : str, optional
        Where the donors' images are, if not in --images.
    processes : int
        How many draw at the same time.
    """

    def work(target: Path | None, on_stage: "OnStage | None") -> "ImagesReport":
        from shortcut_miner.diagnostics.swapmix.config import ImagesFiles
        from shortcut_miner.diagnostics.swapmix.images import images as draw_images

        files = ImagesFiles(folder=folder, images=images, donor_images=donor_images)
        return draw_images(
            files, method, target, processes=processes, limit=rows, force=force, on_stage=on_stage
        )

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words)


HELP = "Swaps of irrelevant objects, and how much a model leans on them (Gupta et al., CVPR 2022)."
COMMANDS = (
    Command(
        ("swapmix", "build"),
        build,
        "Plan swaps of irrelevant objects: which region takes which donor's features, per question.",
        f"{ENTER}\nshortcut-miner swapmix build \\\n"
        "    --questions world/val_balanced_questions.json \\\n"
        "    --scene-graphs world/val_sceneGraphs.json \\\n"
        "    --detections world/val_objects.jsonl \\\n"
        "    --embeddings world/word_vectors.txt --k 5 --out my-swapmix",
    ),
    Command(
        ("swapmix", "score"),
        score,
        "Score how often models change right answers when irrelevant objects are swapped.",
        f"{ENTER}\nshortcut-miner swapmix score swapmix \\\n"
        "    --predictions leaning=swapmix-answers/shortcut_model.parquet \\\n"
        "    --predictions grounded=swapmix-answers/grounded_model.parquet",
    ),
    Command(
        ("swapmix", "images"),
        images,
        "Draw images in which a region shows another object, for models that read pixels.",
        f"{ENTER}\nshortcut-miner swapmix images swapmix \\\n    --images images --sample 5 --out my-swaps",
    ),
    Command(
        ("swapmix", "show"),
        show,
        "Draw the region that a swap changes, beside the donor whose features it takes.",
        f"{ENTER}\nshortcut-miner swapmix show swapmix 00000000 --limit 2 --out swaps.png",
    ),
)
