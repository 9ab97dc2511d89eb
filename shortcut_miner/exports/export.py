"""Export: the questions of a built folder, written as somebody's evaluator reads them."""

import dataclasses
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.datasets.folders import Run, publish, write_manifest
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.exports.exporter import Exported, Exporter
from shortcut_miner.exports.formats import FORMATS, exporter
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.journal import digest_of
from shortcut_miner.options import PathText, as_path, as_path_if_given, as_text_if_given, check_counts
from shortcut_miner.sources.images.image_files import Found, find_images
from shortcut_miner.storage import MANIFEST, InputRecord, Provenance
from shortcut_miner.timing import OnStage, StageCost, timed

COMMAND = "export"
_NOT_FOUND = "images not found"
_NO_IMAGES = "images whose file can't be read, is empty or is a text"
_NOWHERE = "OUT"  # in commands, where nothing was written


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExportFiles:
    """What an export reads: the built folder, and where images are."""

    folder: Path
    images: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote, for the console and for programs.

    Attributes
    ----------
    folder : Path
        What was exported.
    title : str
        What its questions are.
    to, consumer : str
        The format, and who reads it.
    out : Path or None
        The folder written; None where nothing was.
    questions : list of (str, str, int)
        Set, split and number of questions.
    images_asked, images_found : int or None
        Images of these questions, and how many have a place; None where nothing was said of images.
    images_missing : tuple of str
        Ids of those that were not found, or whose file is no image.
    run, read_back : str
        The commands that run the consumer, and that score what it writes.
    notes, warnings : tuple of str
        What was decided, and what is missing.
    costs : list of StageCost
        By stage.
    """

    folder: Path
    title: str
    to: str
    consumer: str
    out: Path | None
    questions: list[tuple[str, str, int]]
    images_asked: int
    images_found: int | None
    images_missing: tuple[str, ...]
    run: str
    read_back: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    costs: list[StageCost]

    @property
    def is_complete(self) -> bool:
        """False if images were asked for and some were not found."""
        return not self.images_missing

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        names = ("set", "split", "questions")
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return told | {
            "questions": [dict(zip(names, row, strict=True)) for row in self.questions],
            "is_complete": self.is_complete,
            "costs": [dataclasses.asdict(cost) for cost in self.costs],
        }


def export(
    folder: PathText,
    to: str,
    *,
    out: PathText | None = None,
    images: PathText | None = None,
    subsets: Sequence[str] = (),
    limit: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ExportReport:
    """Write the questions of a built folder as an evaluator reads them, and return how to run it.

    Parameters
    ----------
    folder : path
        What a ``build`` wrote; it is never changed.
    to : str
        The format; see :data:`shortcut_miner.exports.formats.FORMATS`.
    out : path, optional
        Folder to write; without it everything is made and thrown away.
    images : path, optional
        A folder, or a pattern with {image_id}; see
        :func:`shortcut_miner.sources.images.image_files.find_images`.
    subsets : sequence of str
        Splits to export; all of them by default.
    limit : int, optional
        The first questions of each split only, to try things out.
    force : bool
        Replace an export with other options.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.

    Examples
    --------
    >>> export("vqa-ce", "vqa-jsn")
    Traceback (most recent call last):
    shortcut_miner.errors.ConfigError: to: got 'vqa-jsn', expected one of vqa-json, ...
    """
    writer = exporter(to)
    path, target = as_path("folder", folder), as_path_if_given("out", out)
    check_counts(limit=limit)
    files = ExportFiles(folder=path, images=as_text_if_given("images", images))
    wanted = _as_names(subsets)
    run = Run(files=files, on_stage=on_stage, force=force)
    with timed(run.costs, "read", on_stage):
        questions = _some_of(read_question_sets(path), wanted, limit)
    config = {"to": to, "subsets": list(wanted), "images": "none", "limit": limit}
    with timed(run.costs, "look for images", on_stage):
        found = _images_of(questions, files.images, writer)
    config["images"] = found.images.kind
    run.check_out(target, COMMAND, config, ())
    provenance = _provenance(questions, found, config)
    exported = _write(target, run, writer, questions, found, provenance)
    place = _NOWHERE if target is None else shlex.quote(str(target))
    return ExportReport(
        folder=path,
        title=questions.title,
        to=writer.name,
        consumer=writer.consumer,
        out=target,
        questions=questions.counts(),
        images_asked=len(questions.image_ids()),
        images_found=None if found.images.kind == "none" else found.images.count,
        images_missing=found.missing,
        run=exported.run.replace("{out}", place),
        read_back=exported.read_back.replace("{out}", place),
        notes=tuple(dict.fromkeys((*found.notes, *exported.notes, *run.notes))),
        warnings=_warnings(found),
        costs=run.costs,
    )


def _as_names(subsets: Sequence[str]) -> tuple[str, ...]:
    if isinstance(subsets, str) or not all(isinstance(one, str) for one in subsets):
        raise ConfigError(f"subset: got {subsets!r}, expected a list of names. Change --subset.")
    return tuple(dict.fromkeys(subsets))


def _some_of(questions: QuestionSets, wanted: tuple[str, ...], limit: int | None) -> QuestionSets:
    """Return the chosen questions; where some are left out, a score must not miss answers to these."""
    some = questions.only(wanted).first(limit)
    if some.counts() == questions.counts():
        return some
    return dataclasses.replace(some, read_back=f"{some.read_back} --on-missing skip")


def _images_of(questions: QuestionSets, given: str | None, writer: Exporter) -> Found:
    """Return the images of questions: the folder's own, or those of --images."""
    if questions.images is None:
        return find_images(given, questions.image_ids().to_list())
    if given is not None:
        raise ConfigError(
            f"images: got {given} for a folder that holds its images, expected none. Leave --images out."
        )
    if not writer.holds_images:
        able = [name for name in FORMATS if exporter(name).holds_images]
        raise ConfigError(
            f"to: got {writer.name}, which names images by their files, expected a format that holds them: "
            f"{', '.join(able)}. Change --to."
        )
    asked = set(questions.image_ids())
    images = questions.images
    packed = {one: place for one, place in images.packed.items() if one in asked}
    return Found(images=dataclasses.replace(images, packed=packed))


def _provenance(questions: QuestionSets, found: Found, config: Mapping[str, Any]) -> Provenance:
    """Return the record of an export: of its folder, the manifest stands for all files."""
    digest = digest_of(questions.path / MANIFEST)
    assert digest is not None  # it was read
    record = InputRecord(
        role="folder",
        name=f"{questions.path.resolve().name}/{MANIFEST}",
        size=digest.size,
        sha256=digest.sha256,
        content_sha256=digest.sha256,
    )
    counts = {split if split == name else f"{name}_{split}": n for name, split, n in questions.counts()}
    if found.images.kind != "none":
        counts["images"] = found.images.count
    counted = {_NOT_FOUND: len(found.missing) - len(found.broken), _NO_IMAGES: len(found.broken)}
    dropped = {reason: count for reason, count in counted.items() if count}
    return Provenance(command=COMMAND, config=config, inputs=(record,), counts=counts, dropped=dropped)


def _write(
    out: Path | None,
    run: Run,
    writer: Exporter,
    questions: QuestionSets,
    found: Found,
    provenance: Provenance,
) -> Exported:
    """Let the exporter write into the folder; without `out`, into one that is thrown away."""
    images = dataclasses.replace(found.images, on_stage=run.on_stage)
    if out is None:
        with (
            tempfile.TemporaryDirectory(prefix="shortcut-miner-export-") as temporary,
            timed(run.costs, "write", run.on_stage),
        ):
            exported = writer.write(questions, images, Path(temporary))
            names = sorted(path.name for path in Path(temporary).iterdir())
            run.check_out(None, COMMAND, provenance.config, names)
            return exported
    done: list[Exported] = []

    def write(folder: Path) -> None:
        done.append(writer.write(questions, images, folder))
        run.notes.extend(done[0].notes)
        write_manifest(folder, provenance)

    publish(out, run, write, notes=found.notes, warnings=_warnings(found))
    return done[0]


def _warnings(found: Found) -> tuple[str, ...]:
    asked = len(found.missing) + found.images.count
    absent = [one for one in found.missing if one not in found.broken]
    told = {_NOT_FOUND: absent, _NO_IMAGES: [Path(one).name for one in found.broken.values()]}
    return tuple(
        f"{what}: {len(these):,} of {asked:,} ({examples(these)})" for what, these in told.items() if these
    )
