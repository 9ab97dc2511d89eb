"""Images for models that read pixels: of each question one in which the relevant boxes stay, and so on."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.drawn_images import (
    FILES,
    MARK,
    NO_IMAGE,
    NOT_FOUND,
    ImagesReport,
    Written,
    all_written,
    describe_images,
    drawn_sample,
    found_images,
    image_warnings,
    left_out_words,
    questions_left_out,
)
from shortcut_miner.datasets.folders import Run, options_of, publish, write_manifest, write_tables
from shortcut_miner.datasets.image_boxes import needed_boxes
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.fpvg import outputs
from shortcut_miner.diagnostics.fpvg.config import ImagesConfig, ImagesFiles
from shortcut_miner.diagnostics.fpvg.image_shards import NO_PIXELS, PIXELS, Shard, write_shard
from shortcut_miner.diagnostics.fpvg.outputs import FpvgFolder, read_folder
from shortcut_miner.drawing.pillow import check_pillow
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.images.image_files import Found
from shortcut_miner.storage import Provenance
from shortcut_miner.timing import OnStage, timed

COMMAND = "fpvg images"
IDS = "ids.json"
_QUESTIONS_A_SHARD = 500
_NAMES = (*FILES, "predictions_*.json", IDS)
_TABLE = {
    **dict.fromkeys(("id", "question_id", "image_id", "condition", "fill", "file", "shard"), pl.String),
    **dict.fromkeys(("width", "height"), pl.UInt32),
    "kept_share": pl.Float64,
    **dict.fromkeys(("question", "answer", "source_sha256"), pl.String),
}


def images(
    files: ImagesFiles,
    config: ImagesConfig,
    out: Path | None,
    *,
    processes: int = 1,
    limit: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ImagesReport:
    """Draw the images of a build's evaluable questions under each condition, and write them.

    Parameters
    ----------
    files : ImagesFiles
        The build, and where its images are.
    config : ImagesConfig
        Options.
    out : Path or None
        Folder to write; None draws and throws away.
    processes : int
        How many draw at the same time; the files are the same for any number.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a run with other options.
    on_stage : callable, optional
        Told the name of each stage, and how many questions are done.

    Raises
    ------
    SourceError
        Not such a folder, one without boxes, or no image is found.
    ConfigError
        No folder of images, or an output folder that can't be written; nothing on disk is changed then.
    BackendError
        No Pillow.
    """
    check_pillow()
    run = Run(files=files, on_stage=on_stage, force=force)
    run.check_out(out, COMMAND, options_of(config, limit), _NAMES)
    with timed(run.costs, "read", on_stage):
        folder = read_folder(files.folder)
        boxes = needed_boxes(files.folder, outputs.COMMAND)
        asked = _asked(folder, config, limit)
    with timed(run.costs, "look for images", on_stage):
        found = found_images(files.images, asked["image_id"].unique(maintain_order=True).to_list())
    missing = asked.filter(pl.col("image_id").is_in(found.missing))["question_id"].to_list()
    here = asked.filter(~pl.col("image_id").is_in(found.missing))
    done: list[Written] = []

    def draw(target: Path | None) -> None:
        shards = _shards(here, boxes, found, config, target)
        done.extend(all_written(write_shard, shards, len(here), processes, on_stage))

    def write(target: Path) -> None:
        draw(target)
        _write(target, folder, done, missing, config, limit)

    if out is None:
        with timed(run.costs, "draw", on_stage):
            draw(None)
    else:
        publish(out, run, write, notes=found.notes, warnings=image_warnings(found, done), stage="draw")
    return _report(folder, run, found, done, missing, config, limit, out)


# ---- what is asked for ----


def _asked(folder: FpvgFolder, config: ImagesConfig, limit: int | None) -> pl.DataFrame:
    """Return the questions to draw, by image and id."""
    evaluable = folder.regions.filter("is_evaluable")
    lists = evaluable.select("question_id", "relevant", "irrelevant")[:limit]
    lists = drawn_sample(lists, config.sample, config.seed, "fpvg sample")
    if lists.is_empty():
        raise SourceError(f"{folder.path}: got no evaluable question, expected some. Give another build.")
    questions = folder.questions.select("question_id", "image_id", "question", "answer")
    return questions.join(lists, on="question_id", how="inner", validate="1:1").sort(
        "image_id", "question_id"
    )


# ---- the work ----


def _shards(
    asked: pl.DataFrame, boxes: pl.DataFrame, found: Found, config: ImagesConfig, folder: Path | None
) -> Iterator[tuple[int, Shard]]:
    numbered = asked.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    for number, part in enumerate(numbered.iter_slices(_QUESTIONS_A_SHARD)):
        ids = part["image_id"].unique(maintain_order=True)
        shard = Shard(
            number=number,
            questions=part,
            boxes=boxes.filter(pl.col("image_id").is_in(ids.implode())),
            places={one: found.images.places[one] for one in ids},
            config=config,
            folder=folder,
        )
        yield len(part), shard


# ---- what is written beside the images ----


def _table(done: Sequence[Written]) -> pl.DataFrame:
    return pl.DataFrame([row for one in done for row in one.rows], schema=_TABLE)


def _left_out(done: Sequence[Written], missing: Sequence[str]) -> dict[str, list[str]]:
    return questions_left_out(done, missing, (NO_IMAGE, NO_PIXELS))


def _described(
    folder: FpvgFolder,
    done: Sequence[Written],
    missing: Sequence[str],
    config: ImagesConfig,
    limit: int | None,
) -> tuple[Provenance, dict[str, float], pl.DataFrame]:
    table = _table(done)
    counts = {
        "drawn": len(table),
        "drawn_questions": table["question_id"].n_unique(),
        "drawn_images": table["image_id"].n_unique(),
    }
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=(build_record(folder.path, folder.manifest),),
        counts=counts,
        dropped={reason: len(questions) for reason, questions in _left_out(done, missing).items()},
    )
    means = table.group_by("condition").agg(pl.col("kept_share").mean()).sort("condition")
    return provenance, {f"mean_kept_share_{name}": share for name, share in means.iter_rows()}, table


def _write(
    target: Path,
    folder: FpvgFolder,
    done: Sequence[Written],
    missing: Sequence[str],
    config: ImagesConfig,
    limit: int | None,
) -> None:
    provenance, figures, table = _described(folder, done, missing, config, limit)
    write_tables(target, provenance, {"images": table})
    whole = table["question_id"].unique(maintain_order=True).sort().to_list()
    (target / IDS).write_bytes(msgspec.json.encode(whole))
    for condition in ("all", *config.conditions):
        (target / f"predictions_{condition}.json").write_bytes(_skeleton(table, condition))
    describe_images(target, COMMAND, PIXELS)
    write_manifest(target, provenance, figures)


def _skeleton(table: pl.DataFrame, condition: str) -> bytes:
    """Return what a model is to answer under one condition, a line an image; "all" is the image as it is."""
    if condition == "all":
        rows = table.unique("question_id", keep="first", maintain_order=True).with_columns(
            id=pl.col("question_id") + MARK + "all", file=None, shard=None
        )
    else:
        rows = table.filter(condition=condition)
    records = rows.select(
        "image_id", "file", "shard", "question", question_id="id", answer=pl.lit(None, pl.String)
    ).iter_rows(named=True)
    return b"[\n" + b",\n".join(map(msgspec.json.encode, records)) + b"\n]\n"


# ---- what is told ----


def _report(
    folder: FpvgFolder,
    run: Run,
    found: Found,
    done: Sequence[Written],
    missing: Sequence[str],
    config: ImagesConfig,
    limit: int | None,
    out: Path | None,
) -> ImagesReport:
    provenance, figures, table = _described(folder, done, missing, config, limit)
    left_out = _left_out(done, missing)
    place = "OUT" if out is None else quote(str(out))
    names = " ".join(f"--{name} NAME=FILE" for name in ("all", "relevant", "irrelevant"))
    read_back = f"shortcut-miner fpvg score {quote(str(folder.path))} {names} --ids drawn={place}/{IDS}"
    emptied = left_out.get(NO_PIXELS, [])
    notes = [f"{NO_PIXELS}: {len(emptied):,} ({examples(emptied)}), left out"] if emptied else []
    return ImagesReport(
        command=COMMAND,
        out=out,
        counts=dict(provenance.counts),
        dropped=dict(provenance.dropped),
        figures=dict(figures),
        words=_words(provenance.counts, figures, left_out, read_back),
        notes=tuple(dict.fromkeys((*found.notes, *notes, *run.notes))),
        warnings=image_warnings(found, done),
        costs=run.costs,
        is_complete=not left_out.keys() & {NOT_FOUND, NO_IMAGE},
        tables=reports.tables_of(out, provenance, {"images": lambda: table}),
        read_back=read_back,
    )


def _words(
    counts: Mapping[str, int],
    figures: Mapping[str, Any],
    left_out: Mapping[str, Sequence[str]],
    read_back: str,
) -> dict[str, str]:
    kept = [f"{100 * share:.1f}% {name.removeprefix('mean_kept_share_')}" for name, share in figures.items()]
    return {
        "drawn": f"{counts['drawn']:,} images of {counts['drawn_questions']:,} questions about "
        f"{counts['drawn_images']:,} images",
        "kept": f"{', '.join(kept) or 'nothing'} of the pixels, on average",
        "left out": left_out_words(left_out),
        "score": read_back,
    }
