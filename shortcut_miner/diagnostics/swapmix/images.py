"""Images for models that read pixels: each row of a plan with the donor's patch in the region's place."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

import msgspec
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.drawn_images import (
    FILES,
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
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.swapmix.config import ImagesConfig, ImagesFiles, check_k
from shortcut_miner.diagnostics.swapmix.image_shards import (
    NO_DONOR,
    PIXELS,
    Shard,
    write_shard,
)
from shortcut_miner.diagnostics.swapmix.outputs import COUNTED
from shortcut_miner.diagnostics.swapmix.plan_folder import (
    PlanBoxes,
    SwapMixFolder,
    needed_boxes_of,
    read_folder,
)
from shortcut_miner.diagnostics.swapmix.plan_reader import PlanReader, scan_plan
from shortcut_miner.drawing.pillow import check_pillow
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.image_files import Found, Images
from shortcut_miner.storage import Provenance
from shortcut_miner.timing import OnStage, timed

COMMAND = "swapmix images"
PREDICTIONS = "predictions.json"
_IMAGES_A_SHARD = 1000
_NO_DONOR_FILE = "questions with a donor whose image was not found"
_NAMES = (*FILES, PREDICTIONS)
_TABLE = {
    **dict.fromkeys(("id", "question_id", "image_id"), pl.String),
    "perturbation": pl.UInt32,
    **dict.fromkeys(("kind", "content"), pl.String),
    **dict.fromkeys(("left", "top", "right", "bottom"), pl.UInt32),
    "is_clipped": pl.Boolean,
    **dict.fromkeys(("file", "shard"), pl.String),
    **dict.fromkeys(("width", "height"), pl.UInt32),
    **dict.fromkeys(("question", "answer", "source_sha256", "donor_image_id", "donor_sha256"), pl.String),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What is to be drawn.

    Attributes
    ----------
    folder : SwapMixFolder
    plan : PlanReader
    boxes : PlanBoxes
    asked : pl.DataFrame
        question_id, image_id, question, answer, count: its images, of the questions that can be drawn.
    found, donors : Found
        Where their images are, and those of their donors.
    missing : mapping of str to list of str
        Reason -> questions that can't be drawn.
    """

    folder: SwapMixFolder
    plan: PlanReader
    boxes: PlanBoxes
    asked: pl.DataFrame
    found: Found
    donors: Found
    missing: dict[str, list[str]]


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
    """Draw an image for each row of a plan, the original's too, and write them.

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
        work = _work(files, config, limit)
    done: list[Written] = []

    def draw(target: Path | None) -> None:
        shards = _shards(work, config, target)
        done.extend(all_written(write_shard, shards, len(work.asked), processes, on_stage))

    def write(target: Path) -> None:
        draw(target)
        _write(target, work, done, config, limit)

    if out is None:
        with timed(run.costs, "draw", on_stage):
            draw(None)
    else:
        publish(out, run, write, notes=_notes(work), warnings=_warnings(work, done), stage="draw")
    return _report(work, run, done, config, limit, out)


# ---- what is asked for ----


def _work(files: ImagesFiles, config: ImagesConfig, limit: int | None) -> _Work:
    folder = read_folder(files.folder, "drawn")
    check_k(config.k, folder.manifest["config"]["k"])
    boxes = needed_boxes_of(files.folder, has_regions=folder.has_regions)
    planned = folder.questions.filter(pl.col("exclusion").is_null())[:limit]
    asked = drawn_sample(planned, config.sample, config.seed, "swapmix sample").select(
        "question_id", "image_id", "question", "answer"
    )
    if asked.is_empty():
        raise SourceError(f"{files.folder}: got no question in the plan, expected some. Give another build.")
    found = found_images(files.images, asked["image_id"].unique(maintain_order=True).to_list())
    asked, wanted = _with_counts(files.folder, asked, config)
    donors = _found_donors(files, wanted)
    is_lost = asked["image_id"].is_in(found.missing)
    lacking = _lacking(files.folder, asked, config, set(donors.missing))
    lacks_donor = asked["question_id"].is_in(lacking) & ~is_lost
    return _Work(
        folder=folder,
        plan=scan_plan(files.folder),
        boxes=boxes,
        asked=asked.filter(~(is_lost | lacks_donor)),
        found=found,
        donors=donors,
        missing={
            reason: asked.filter(flags)["question_id"].to_list()
            for reason, flags in ((NOT_FOUND, is_lost), (_NO_DONOR_FILE, lacks_donor))
        },
    )


def _found_donors(files: ImagesFiles, wanted: Sequence[str]) -> Found:
    if not wanted:
        return Found(images=Images())
    if files.donor_images is None:
        return found_images(files.images, wanted)
    return found_images(files.donor_images, wanted, "--donor-images")


def _with_counts(path: Path, asked: pl.DataFrame, config: ImagesConfig) -> tuple[pl.DataFrame, list[str]]:
    """Return the questions with `count`, their rows to draw, and the images of all their donors."""
    counts, donors = [], set[str]()
    for rows in _rows_of_each(path, asked, config):
        counts.append(len(rows))
        donors.update(rows["donor_image_id"].drop_nulls().to_list())
    return asked.with_columns(count=pl.Series(counts, dtype=pl.Int64)), sorted(donors)


def _lacking(path: Path, asked: pl.DataFrame, config: ImagesConfig, lost: set[str]) -> list[str]:
    """Return the questions with a donor whose image is lost."""
    if not lost:
        return []
    each = zip(asked["question_id"], _rows_of_each(path, asked, config), strict=True)
    return [one for one, rows in each if not lost.isdisjoint(rows["donor_image_id"].drop_nulls().to_list())]


def _rows_of_each(path: Path, asked: pl.DataFrame, config: ImagesConfig) -> Iterator[pl.DataFrame]:
    plan = scan_plan(path, columns=["swap_index", "donor_image_id"])
    return (_first_swaps(plan.frame(one), config) for one in asked["question_id"])


def _first_swaps(rows: pl.DataFrame, config: ImagesConfig) -> pl.DataFrame:
    """Return the rows to draw: the original, and the first k swaps of each kind and object."""
    if config.k is None:
        return rows
    return rows.filter(pl.col("swap_index").is_null() | (pl.col("swap_index") <= config.k))


# ---- the work ----


def _shards(work: _Work, config: ImagesConfig, folder: Path | None) -> Iterator[tuple[int, Shard]]:
    """Give the files to write, with their numbers of questions: a question is never in two."""
    asked = work.asked.with_columns(place=pl.col("count").cum_sum() - pl.col("count"))
    numbered = asked.with_columns(shard=pl.col("place") // _IMAGES_A_SHARD)
    key = "region_index" if work.folder.has_regions else "object_id"
    named = pl.col(key).cast(pl.String)
    own, donors = (boxes.with_columns(key=named) for boxes in (work.boxes.own, work.boxes.of_donors))
    for number, (_, part) in enumerate(numbered.group_by("shard", maintain_order=True)):
        rows = pl.concat([_first_swaps(work.plan.frame(one), config) for one in part["question_id"]])
        rows = rows.with_columns(key=named, donor_key=pl.col(f"donor_{key}").cast(pl.String))
        images = part["image_id"].unique(maintain_order=True)
        used = rows.select(image_id="donor_image_id", key="donor_key").drop_nulls().unique()
        shard = Shard(
            number=number,
            questions=part,
            rows=rows,
            boxes=own.filter(pl.col("image_id").is_in(images.implode())),
            donor_boxes=donors.join(used, on=["image_id", "key"], how="semi"),
            places={one: work.found.images.places[one] for one in images},
            donor_places={one: work.donors.images.places[one] for one in used["image_id"].unique()},
            config=config,
            folder=folder,
        )
        yield len(part), shard


# ---- what is written beside the images ----


def _left_out(work: _Work, done: Sequence[Written]) -> dict[str, list[str]]:
    found = questions_left_out(done, work.missing[NOT_FOUND], (NO_IMAGE, NO_DONOR))
    lacking = work.missing[_NO_DONOR_FILE]
    return found | ({_NO_DONOR_FILE: lacking} if lacking else {})


def _described(
    work: _Work, done: Sequence[Written], config: ImagesConfig, limit: int | None
) -> tuple[Provenance, pl.DataFrame]:
    table = pl.DataFrame([row for one in done for row in one.rows], schema=_TABLE)
    counts = table.select(**COUNTED["images"]).row(0, named=True)
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=(build_record(work.folder.swaps.parent, work.folder.manifest),),
        counts=counts,
        dropped={reason: len(questions) for reason, questions in _left_out(work, done).items()},
    )
    return provenance, table


def _write(
    target: Path, work: _Work, done: Sequence[Written], config: ImagesConfig, limit: int | None
) -> None:
    provenance, table = _described(work, done, config, limit)
    write_tables(target, provenance, {"images": table})
    asked = table.select(
        "image_id", "file", "shard", "question", question_id="id", answer=pl.lit(None, pl.String)
    )
    records = b",\n".join(map(msgspec.json.encode, asked.iter_rows(named=True)))
    (target / PREDICTIONS).write_bytes(b"[\n" + records + b"\n]\n")
    describe_images(target, COMMAND, PIXELS)
    write_manifest(target, provenance)


# ---- what is told ----


def _notes(work: _Work) -> tuple[str, ...]:
    return (*work.found.notes, *work.donors.notes)


def _warnings(work: _Work, done: Sequence[Written]) -> tuple[str, ...]:
    return (*image_warnings(work.found, done), *image_warnings(work.donors, (), "donors' "))


def _report(
    work: _Work, run: Run, done: Sequence[Written], config: ImagesConfig, limit: int | None, out: Path | None
) -> ImagesReport:
    provenance, table = _described(work, done, config, limit)
    left_out, counts = _left_out(work, done), provenance.counts
    built = work.folder.swaps.parent
    words = ["shortcut-miner swapmix score", quote(str(built)), "--predictions NAME=FILE"]
    words += [f"--k {config.k}"] if config.k is not None else []
    is_whole = counts["drawn_questions"] == work.folder.questions["exclusion"].null_count()
    words += [] if is_whole else ["--on-missing skip"]
    swaps = f"{counts['pasted']:,} donors pasted, {counts['filled']:,} regions filled"
    empty = counts["empty_regions"]
    shown = {
        "drawn": f"{counts['drawn']:,} images of {counts['drawn_questions']:,} questions about "
        f"{counts['drawn_images']:,} images",
        "swaps": f"{swaps}, {empty:,} without a pixel on their image",
        "clipped": f"{counts['clipped']:,} with a box that reaches outside its image",
        "left out": left_out_words(left_out),
        "score": " ".join(words),
    }
    nothing = f"regions without a pixel on their image, whose swap changes nothing: {empty:,}"
    return ImagesReport(
        command=COMMAND,
        out=out,
        counts=dict(counts),
        dropped=dict(provenance.dropped),
        figures={},
        words=shown,
        notes=tuple(dict.fromkeys((*_notes(work), *([nothing] if empty else []), *run.notes))),
        warnings=_warnings(work, done),
        costs=run.costs,
        is_complete=not left_out,
        tables=reports.tables_of(out, provenance, {"images": lambda: table}),
        read_back=shown["score"],
    )
