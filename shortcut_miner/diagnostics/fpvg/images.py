"""Images for models that read pixels: of each question one in which the relevant boxes stay, and so on."""

import dataclasses
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.cards import Config, write_card
from shortcut_miner.datasets.folders import Run, options_of, publish, write_manifest, write_tables
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.fpvg.config import ImagesConfig, ImagesFiles
from shortcut_miner.diagnostics.fpvg.image_shards import (
    CONDITION_MARK,
    NO_IMAGE,
    NO_PIXELS,
    PIXELS,
    Shard,
    Written,
    write_shard,
)
from shortcut_miner.diagnostics.fpvg.outputs import FpvgFolder, needed_boxes, read_folder
from shortcut_miner.drafts import literal
from shortcut_miner.drawing.pillow import check_pillow
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.keyed_draws import draw_words, id_keys
from shortcut_miner.mining.executors import resolve_engine
from shortcut_miner.sources.images.image_files import Found, find_images
from shortcut_miner.storage import Provenance
from shortcut_miner.timing import OnStage, timed
from shortcut_miner.version import __version__

COMMAND = "fpvg images"
IDS = "ids.json"
_NOT_FOUND = "questions whose image was not found"
_QUESTIONS_A_SHARD = 500
_NAMES = ("images.parquet", "pixels_*.parquet", "predictions_*.json", IDS)
_TABLE = {
    **dict.fromkeys(("id", "question_id", "image_id", "condition", "fill", "file", "shard"), pl.String),
    **dict.fromkeys(("width", "height"), pl.UInt32),
    "kept_share": pl.Float64,
    **dict.fromkeys(("question", "answer", "source_sha256"), pl.String),
}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ImagesReport(reports.BuildReport):
    """What ``fpvg images`` did.

    Attributes
    ----------
    read_back : str
        The command that scores what a model answers.
    """

    read_back: str

    @property
    def images(self) -> pl.DataFrame:
        """A row an image, in the order of their numbers; the card says what the columns are."""
        return self._table("images")


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
        boxes = needed_boxes(files.folder)
        asked = _asked(folder, config, limit)
    with timed(run.costs, "look for images", on_stage):
        found = _found(files, asked)
    missing = asked.filter(pl.col("image_id").is_in(found.missing))["question_id"].to_list()
    here = asked.filter(~pl.col("image_id").is_in(found.missing))
    done: list[Written] = []

    def draw(target: Path | None) -> None:
        shards = _shards(here, boxes, found, config, target)
        done.extend(_written(shards, len(here), processes, on_stage))

    def write(target: Path) -> None:
        draw(target)
        _write(target, folder, done, missing, config, limit)

    if out is None:
        with timed(run.costs, "draw", on_stage):
            draw(None)
    else:
        publish(out, run, write, notes=found.notes, warnings=_warnings(found, done), stage="draw")
    return _report(folder, run, found, done, missing, config, limit, out)


# ---- what is asked for ----


def _asked(folder: FpvgFolder, config: ImagesConfig, limit: int | None) -> pl.DataFrame:
    """Return the questions to draw, by image and id."""
    evaluable = folder.regions.filter("is_evaluable")
    lists = evaluable.select("question_id", "relevant", "irrelevant")[:limit]
    if config.sample is not None and config.sample < len(lists):
        words = draw_words(id_keys(lists["question_id"], config.seed, "fpvg sample"), 0)
        lists = lists[np.sort(np.argsort(words, kind="stable")[: config.sample])]
    if lists.is_empty():
        raise SourceError(f"{folder.path}: got no evaluable question, expected some. Give another build.")
    questions = folder.questions.select("question_id", "image_id", "question", "answer")
    return questions.join(lists, on="question_id", how="inner", validate="1:1").sort(
        "image_id", "question_id"
    )


def _found(files: ImagesFiles, asked: pl.DataFrame) -> Found:
    found = find_images(files.images, asked["image_id"].unique(maintain_order=True).to_list())
    if found.images.kind == "addresses":
        raise ConfigError(
            f"--images {files.images}: got addresses, expected files. Download the images, and give their "
            "folder."
        )
    if not found.images.places:
        raise SourceError(
            f"--images {files.images}: got none of the {len(found.missing):,} images of these questions "
            f"({examples(found.missing)}), expected them. Give the folder that holds them."
        )
    return found


# ---- the work ----


def _shards(
    asked: pl.DataFrame, boxes: pl.DataFrame, found: Found, config: ImagesConfig, folder: Path | None
) -> Iterator[Shard]:
    numbered = asked.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    for number, part in enumerate(numbered.iter_slices(_QUESTIONS_A_SHARD)):
        ids = part["image_id"].unique(maintain_order=True)
        yield Shard(
            number=number,
            questions=part,
            boxes=boxes.filter(pl.col("image_id").is_in(ids.implode())),
            places={one: found.images.places[one] for one in ids},
            config=config,
            folder=folder,
        )


def _written(
    shards: Iterator[Shard], total: int, processes: int, on_stage: OnStage | None
) -> Iterator[Written]:
    """Give what the shards came to, in their order; few are under way at a time."""
    engine = resolve_engine(f"local[{processes}]" if processes > 1 else None)
    finished = 0
    with engine.open(Path()) as pool:
        waiting: deque[tuple[int, Future[Written]]] = deque()

        def oldest() -> Written:
            nonlocal finished
            size, future = waiting.popleft()
            if on_stage is not None:
                on_stage(f"draw: {finished:,} of {total:,} questions")
            result = future.result()
            finished += size
            return result

        for shard in shards:
            waiting.append((len(shard.questions), pool.submit(write_shard, shard)))
            if len(waiting) > 2 * engine.workers - 1:
                yield oldest()
        while waiting:
            yield oldest()


# ---- what is written beside the images ----


def _table(done: Sequence[Written]) -> pl.DataFrame:
    return pl.DataFrame([row for one in done for row in one.rows], schema=_TABLE)


def _left_out(done: Sequence[Written], missing: Sequence[str]) -> dict[str, list[str]]:
    found = {_NOT_FOUND: [*missing]}
    for reason in (NO_IMAGE, NO_PIXELS):
        found[reason] = [question for one in done for question in one.left_out.get(reason, ())]
    return {reason: questions for reason, questions in found.items() if questions}


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
    _write_card(target)
    write_manifest(target, provenance, figures)


def _skeleton(table: pl.DataFrame, condition: str) -> bytes:
    """Return what a model is to answer under one condition, a line an image; "all" is the image as it is."""
    if condition == "all":
        rows = table.unique("question_id", keep="first", maintain_order=True).with_columns(
            id=pl.col("question_id") + CONDITION_MARK + "all", file=None, shard=None
        )
    else:
        rows = table.filter(condition=condition)
    records = rows.select(
        "image_id", "file", "shard", "question", question_id="id", answer=pl.lit(None, pl.String)
    ).iter_rows(named=True)
    return b"[\n" + b",\n".join(map(msgspec.json.encode, records)) + b"\n]\n"


def _write_card(target: Path) -> None:
    """Write README.md, with which the images open as one data set."""
    configs = []
    for name, paths in (
        ("images", [target / "images.parquet"]),
        ("pixels", sorted(target.glob("pixels_*.parquet"))),
    ):
        read = [pq.ParquetFile(literal(path)) for path in paths]
        rows = sum(one.metadata.num_rows for one in read)
        schema = read[0].schema_arrow if read else PIXELS
        files, shown = {"train": [path.name for path in paths]}, ("image",) if name == "pixels" else ()
        if rows:
            configs.append(Config(name=name, files=files, rows={"train": rows}, schema=schema, images=shown))
    text = (
        f"# {COMMAND}\n\nWritten by shortcut_miner {__version__}. "
        '`datasets.load_dataset(FOLDER, "pixels")["train"]` has the images; `images` says what each is.\n'
    )
    if configs:
        write_card(target, configs, text, default="images")


# ---- what is told ----


def _warnings(found: Found, done: Sequence[Written]) -> tuple[str, ...]:
    told = []
    absent = [one for one in found.missing if one not in found.broken]
    for what, ids in (("images not found", absent), ("files that are no images", [*found.broken.values()])):
        told += [f"{what}: {len(ids):,} ({examples(ids)}); their questions are left out"] if ids else []
    return (*told, *(text for one in done for text in one.broken))


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
        warnings=_warnings(found, done),
        costs=run.costs,
        is_complete=not left_out.keys() & {_NOT_FOUND, NO_IMAGE},
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
    lost = [f"{len(questions):,} {reason}" for reason, questions in left_out.items()]
    return {
        "drawn": f"{counts['drawn']:,} images of {counts['drawn_questions']:,} questions about "
        f"{counts['drawn_images']:,} images",
        "kept": f"{', '.join(kept) or 'nothing'} of the pixels, on average",
        "left out": "; ".join(lost) if lost else "none",
        "score": read_back,
    }
