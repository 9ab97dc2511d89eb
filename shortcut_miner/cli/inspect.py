"""``inspect``."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import print_fields, print_json, print_text, progress
from shortcut_miner.cli.looking import PAST_LIMITS, READ_HERE, in_child
from shortcut_miner.cli.options import CHECK_FAILED, DEFAULT_SHOWN, DONE, INPUTS, MostShown, Shown
from shortcut_miner.errors import BackendError, ConfigError, SourceError
from shortcut_miner.journal import finish_interrupted

if TYPE_CHECKING:
    from shortcut_miner.sources.opening.reading import Reading
    from shortcut_miner.sources.recognise import FileKind

_TABLE_HINT = (
    "with --columns, vqa-ce build --table, rad build --questions and all score commands can read it; "
    "shortcut-miner mine too"
)

Paths = Annotated[tuple[Path, ...], Parameter(group=INPUTS, negative=())]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one file or folder is.

    Attributes
    ----------
    path : str
        As the user wrote it.
    kind : str
        Its format.
    counts : mapping of str to int
        What it holds.
    facts : mapping of str to str
        Size, checksum, provenance.
    notes : tuple of str
        What a reader decides.
    dropped : mapping of str to int
        Reason -> records that don't fit.
    problems : tuple of str
        What is wrong, in words.
    goes_to : str
        The commands and options that take it.
    """

    path: str
    kind: str
    counts: Mapping[str, int]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    problems: tuple[str, ...] = ()
    goes_to: str = ""


def inspect(paths: Paths, /, *, most: MostShown = 5, shown: Shown = DEFAULT_SHOWN) -> int:
    """Inspect files and folders.

    Parameters
    ----------
    paths : tuple of Path
        Files of any format that a command reads, folders of tables or of a Hugging Face dataset, or files and
        folders that a command wrote.
    most : int
        Most examples to print of what is wrong with a file.
    """
    with progress(shown) as on_stage:
        findings = []
        for path in (file for given in paths for file in _files(given)):
            if on_stage is not None:
                on_stage(f"inspect {path}")
            findings.append(_within_limits(path, most))
    if shown.format == "json":
        print_json({"files": [dataclasses.asdict(finding) for finding in findings]})
    else:
        for number, finding in enumerate(findings):
            if number:
                print_text("")
            print_text(finding.path)
            print_fields({f"  {name}": text for name, text in _in_words(finding).items()})
    return CHECK_FAILED if any(finding.problems for finding in findings) else DONE


def _files(path: Path) -> list[Path]:
    """Return what to look at: of a folder that no command wrote, its tables, a data set's by their splits."""
    from shortcut_miner.sources.questions.table_folders import splits_of
    from shortcut_miner.storage import MANIFEST

    if not path.is_dir():
        return [path]
    finish_interrupted(path)
    if (path / MANIFEST).is_file():
        return [path]
    return [file for files in splits_of(path).values() for file in files]


def _within_limits(path: Path, most: int) -> Finding:
    """Return :func:`find_out` of a file, or of its start alone if it takes too much to read."""
    from shortcut_miner.sources.opening.devices import is_pipe
    from shortcut_miner.sources.opening.limits import LargerError, given_limit, read_at_most

    if given_limit() is not None or path.is_dir():
        return find_out(path, most)
    if is_pipe(path):
        with read_at_most(READ_HERE):
            return find_out(path, most)
    if not path.is_file() or path.stat().st_size <= READ_HERE:
        try:
            with read_at_most(READ_HERE):
                return find_out(path, most)
        except LargerError:
            pass
    return in_child(find_out, path, most) or _by_start(path)


def _by_start(path: Path) -> Finding:
    from shortcut_miner.sources.recognise import recognise_start

    size = {"size": path.stat().st_size} if path.is_file() else {}
    try:
        shape = recognise_start(path)
    except SourceError as error:
        return Finding(path=str(path), kind="not known", counts={}, facts=size, problems=(str(error),))
    return Finding(
        path=str(path),
        kind=shape.kind,
        counts=shape.counts,
        facts=size,
        notes=(PAST_LIMITS,),
        goes_to=shape.goes_to,
    )


def find_out(path: Path, most: int) -> Finding:
    """Return what a file or folder is, with at most `most` examples of what is wrong.

    Raises
    ------
    SourceError
        There is no such file, or it can't be opened.
    """
    from shortcut_miner.sources.opening.devices import is_pipe
    from shortcut_miner.sources.recognise import recognise

    finish_interrupted(path if path.is_dir() else path.parent)
    if path.is_dir():
        return _written_folder(path)
    if provenance := _provenance(path):
        return _written_table(path, provenance)
    try:
        kind = recognise(path)
    except SourceError as error:
        if isinstance(error.__cause__, FileNotFoundError | PermissionError):
            raise
        return Finding(path=str(path), kind="not known", counts={}, problems=tuple(str(error).splitlines()))
    facts = {"size": kind.file.size, "packing": list(kind.packing), "sha256": kind.file.sha256}
    finding = Finding(
        path=str(path),
        kind=kind.kind,
        counts=kind.counts,
        facts=facts,
        notes=kind.notes,
        goes_to=kind.goes_to,
    )
    if is_pipe(path):
        return dataclasses.replace(finding, notes=(*kind.notes, "rows not checked: a pipe is read once"))
    return _with_rows(finding, kind, path, most)


def _with_rows(finding: Finding, kind: "FileKind", path: Path, most: int) -> Finding:
    """Read the file as a command would, and add what that tells."""
    reader = _readers().get(kind.kind)
    if reader is None:
        if kind.is_table:
            return dataclasses.replace(finding, notes=(*finding.notes, _TABLE_HINT))
        if kind.is_known or kind.goes_to:
            return finding
        return dataclasses.replace(finding, problems=("no command reads this format",))
    try:
        reading = reader(path, on_bad_row="error")
    except (ConfigError, BackendError) as error:  # it is not read without another file, or a library
        return dataclasses.replace(finding, notes=(*finding.notes, f"rows not checked: {error}"))
    except SourceError as error:
        shown, rest = _shortened(str(error).splitlines(), most)
        problems = (*shown, *rest)
        try:
            reading = reader(path, on_bad_row="skip")
        except SourceError:
            return dataclasses.replace(finding, problems=problems)
        return dataclasses.replace(finding, notes=reading.notes, dropped=reading.dropped, problems=problems)
    counts = {**finding.counts, "rows read": len(reading.table)}
    return dataclasses.replace(finding, counts=counts, notes=reading.notes)


def _shortened(lines: list[str], most: int) -> tuple[list[str], list[str]]:
    """Return the title with the first `most` problems, and a line that counts the others."""
    title, *problems = lines
    shown = [problem.removeprefix("  - ") for problem in problems[:most]]
    return [title, *shown], ["..."] if len(problems) > most else []


def _readers() -> dict[str, Callable[..., "Reading"]]:
    """Return the reader of each format; other commands have readers of their own for some formats."""
    from shortcut_miner.sources.answers.formats import PREDICTIONS, SOFT_LABELS
    from shortcut_miner.sources.answers.predictions import read_predictions
    from shortcut_miner.sources.answers.soft_labels import read_soft_labels
    from shortcut_miner.sources.images import regions
    from shortcut_miner.sources.images.formats import LABELS, SCENE_GRAPHS
    from shortcut_miner.sources.images.labels import read_labels
    from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
    from shortcut_miner.sources.questions.formats import ANNOTATIONS, GQA, QUESTIONS, SETS
    from shortcut_miner.sources.questions.gqa import read_gqa_questions
    from shortcut_miner.sources.questions.question_sets import read_question_set
    from shortcut_miner.sources.questions.vqa import read_vqa_annotations, read_vqa_questions

    families = (
        (SETS, read_question_set),
        (QUESTIONS, read_vqa_questions),
        (ANNOTATIONS, read_vqa_annotations),
        (GQA, read_gqa_questions),
        ((*regions.WITHOUT_BOXES, *regions.FORMATS), regions.read_regions),
        (LABELS, read_labels),
        (SCENE_GRAPHS, read_scene_graphs),
        (PREDICTIONS, read_predictions),
        (SOFT_LABELS, read_soft_labels),
    )
    return {one.kind: read for formats, read in families for one in formats}


def _provenance(path: Path) -> dict[str, Any]:
    """Return the provenance of a Parquet file that we wrote; {} for any other file."""
    from shortcut_miner.storage import PROVENANCE_ERRORS, read_provenance

    try:
        return read_provenance(path) if path.is_file() else {}
    except PROVENANCE_ERRORS:
        return {}


def _written_table(path: Path, provenance: Mapping[str, Any]) -> Finding:
    from shortcut_miner.columnar import COLUMNAR_ERRORS, look_at_columns, read_through
    from shortcut_miner.errors import reason_of
    from shortcut_miner.sources.opening.limits import check_looked_at

    facts: dict[str, Any] = {"size": path.stat().st_size, "provenance": dict(provenance)}
    finding = Finding(path=str(path), kind=_written_by(provenance), counts={}, facts=facts)
    try:
        seen = look_at_columns(path)
        check_looked_at(str(path), seen.total * len(seen.names))
        found = read_through(path)
    except COLUMNAR_ERRORS as error:
        problem = f"got a damaged table ({reason_of(error)}), expected a complete one. Run the build again."
        return dataclasses.replace(finding, problems=(f"{path}: {problem}",))
    facts["columns"] = list(found.types)
    return dataclasses.replace(finding, counts={"rows": found.total})


def _written_by(provenance: Mapping[str, Any]) -> str:
    return f"written by shortcut-miner {provenance.get('version')}, {provenance.get('command')}"


def _written_folder(path: Path) -> Finding:
    from shortcut_miner.datasets.folders import open_folder

    folder = open_folder(path)
    counts, problems = {}, []
    for name in sorted(file.stem for file in path.glob("*.parquet")):
        try:
            counts[f"rows in {name}.parquet"] = folder.row_count(name)
        except SourceError as error:
            problems.append(str(error))
    return Finding(
        path=str(path),
        kind=_written_by(folder.manifest),
        counts=counts,
        facts={"provenance": folder.manifest},
        problems=tuple(problems),
    )


def _in_words(finding: Finding) -> dict[str, str]:
    """Return the lines to print of a finding."""
    provenance = finding.facts.get("provenance", {})
    fields = {
        "is": finding.kind,
        "for": finding.goes_to,
        "holds": ", ".join(f"{count:,} {what}" for what, count in finding.counts.items()),
        "columns": ", ".join(finding.facts.get("columns", ())),
        "from": ", ".join(f"{one['role']} {one['name']}" for one in provenance.get("inputs", ())),
        "config": ", ".join(
            f"{key}={json.dumps(value)}" for key, value in provenance.get("config", {}).items()
        ),
        "counts": ", ".join(f"{key} {value:,}" for key, value in provenance.get("counts", {}).items()),
        "left out": "; ".join(f"{n:,} {reason}" for reason, n in provenance.get("dropped", {}).items()),
        "size": f"{finding.facts['size']:,} bytes" if "size" in finding.facts else "",
        "packed": " in ".join(reversed(finding.facts.get("packing", ()))),
        "sha256": finding.facts.get("sha256", ""),
        "notes": "; ".join(dict.fromkeys(finding.notes)),
        "bad": "; ".join(f"{count:,} x {reason}" for reason, count in finding.dropped.items()),
    }
    first, *others = finding.problems or ("not looked for" if PAST_LIMITS in finding.notes else "nothing",)
    if any("--" in line for line in finding.problems):
        others.append("(options are those of the command that reads the file)")
    indented = "".join(f"\n    {line}" for line in others)
    return {name: text for name, text in fields.items() if text} | {"wrong": first + indented}
