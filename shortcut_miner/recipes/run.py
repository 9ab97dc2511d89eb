"""Following a recipe: find or download its files, build, compare with published numbers, pin the files."""

import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shortcut_miner import rooms
from shortcut_miner.builders import builders
from shortcut_miner.claims import claimed
from shortcut_miner.datasets.cards import CARD
from shortcut_miner.datasets.reports import BuildReport
from shortcut_miner.dry_runs import as_if_made
from shortcut_miner.errors import ConfigError, SourceError, missing_library, problem_list
from shortcut_miner.journal import locked
from shortcut_miner.options import PathText, as_path, as_path_if_given, check_counts
from shortcut_miner.publishing import check_target
from shortcut_miner.recipes.checks import Check, check_all
from shortcut_miner.recipes.downloads import Download, download_all
from shortcut_miner.recipes.finding import Found, find_source, held, shelf_of
from shortcut_miner.recipes.lock import LOCK_NAME, Pin, Pins, add_to_lock, check_lock_place, pinned, read_lock
from shortcut_miner.recipes.patience import Patience
from shortcut_miner.recipes.recipe import Given, Recipe, find_recipe, folder_of, read_recipe
from shortcut_miner.recipes.unpacking import unpack_members
from shortcut_miner.storage import RUN_RECORD
from shortcut_miner.timing import OnStage

DATA_FOLDER = "shortcut-miner-data"
Inputs = Path | tuple[Path, ...] | dict[str, Path]
_EVERY_BUILD = ("questions.parquet", CARD, RUN_RECORD)
_WAIT_SECONDS = 0.5
_DEFAULT_PATIENCE = Patience()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecipeReport:
    """What came of a recipe.

    Attributes
    ----------
    name : str
        The recipe.
    recipe : Recipe
        What it says.
    data_dir, lock : Path
        Where the files are, and what pins them.
    inputs : dict of str to Path, tuple of Path or dict of str to Path
        Option of the command -> what it reads.
    found, downloaded, missing : tuple of str
        Sources that were there, that were downloaded, and that a dry run would download.
    trusted : dict of str to Pin
        What was pinned now, as nothing was known of it before: address -> name, size and SHA-256.
    built : BuildReport or None
        What the build did; None after a dry run.
    checks : tuple of Check
        The published numbers beside the build's.
    """

    name: str
    recipe: Recipe
    data_dir: Path
    lock: Path
    inputs: Mapping[str, Inputs] = dataclasses.field(default_factory=dict)
    found: tuple[str, ...] = ()
    downloaded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    trusted: Mapping[str, Pin] = dataclasses.field(default_factory=dict)
    built: BuildReport | None = None
    checks: tuple[Check, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether all published numbers are met."""
        return all(check.is_met for check in self.checks)


def run_recipe(
    recipe: str,
    *,
    data_dir: PathText = DATA_FOLDER,
    lock: PathText | None = None,
    out: PathText | None = None,
    offline: bool = False,
    limit: int | None = None,
    force: bool = False,
    dry_run: bool = False,
    patience: Patience = _DEFAULT_PATIENCE,
    on_stage: OnStage | None = None,
) -> RecipeReport:
    """Follow a recipe.

    Parameters
    ----------
    recipe : str
        The name of one that comes with the program, or the path of a TOML file.
    data_dir : path
        Folder that has the files already, or some of them; the others are downloaded into it.
    lock : path, optional
        The lock file; default: one in `data_dir`.
    out : path, optional
        Folder to write; default: one of the recipe's name.
    offline : bool
        Download nothing: what is missing is an error.
    limit : int, optional
        Use the first questions only, to try things out; published numbers are not compared then.
    force : bool
        Replace the folder of a build with other options.
    dry_run : bool
        Only say which files are there and which would be downloaded.
    patience : Patience
        With servers.
    on_stage : callable, optional
        Told what is being done.

    Raises
    ------
    SourceError
        A recipe, lock file, download or input that is not as expected.
    ConfigError
        No such recipe, or a folder that can't be used.
    BackendError
        A library is missing.
    """
    check_counts(limit=limit)
    name, path = find_recipe(str(recipe))
    told = read_recipe(path)
    data = as_path("data_dir", data_dir)
    lock_path = as_path_if_given("lock", lock) or data / LOCK_NAME
    with _making(data):
        as_if_made(data, is_written=False)
    pins = read_lock(lock_path)
    report = RecipeReport(name=name, recipe=told, data_dir=data, lock=lock_path)
    target = as_path_if_given("out", out) or Path(name)
    if dry_run:
        there, missing = _look(told, data, pins)
        _check_target(told, target, there)
        return dataclasses.replace(report, found=tuple(there), missing=tuple(missing))
    _check_first(told, target, lock_path, pins)
    got = _gather(told, data, pins, offline, patience, on_stage)
    if on_stage is not None:
        on_stage(told.command)
    with claimed(target):
        built = builders()[told.command](**got.inputs, **told.options, out=target, limit=limit, force=force)
        checks = _compare(told, built, target) if limit is None else ()
    new = _new_pins(told, got, pins)
    if new:
        add_to_lock(lock_path, new)
    return dataclasses.replace(
        report,
        inputs=got.inputs,
        found=tuple(source for source in told.sources if source not in got.downloads),
        downloaded=tuple(got.downloads),
        trusted={url: pin for url, pin in new.items() if _was_open(told, url)},
        built=built,
        checks=checks,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Gathered:
    """A recipe's files: where each source lies, which were downloaded, and what the command reads."""

    there: Mapping[str, Found]
    downloads: Mapping[str, Download]
    inputs: Mapping[str, Inputs]


def _gather(
    recipe: Recipe, data: Path, pins: Pins, offline: bool, patience: Patience, on_stage: OnStage | None
) -> _Gathered:
    """Find, download and unpack what a recipe needs."""
    with _alone(data, on_stage):
        there, missing = _look(recipe, data, pins)
        if missing and offline:
            raise _not_there(recipe, data, missing)
        wanted = {name: recipe.sources[name] for name in missing}
        downloads = download_all(wanted, data, pins, patience=patience, on_stage=on_stage) if wanted else {}
        there |= {name: held(recipe, name, data / name, one.digest) for name, one in downloads.items()}
        return _Gathered(there, downloads, _inputs(recipe, _unpacked(recipe, there, data, on_stage)))


def _check_first(recipe: Recipe, target: Path, lock: Path, pins: Pins) -> None:
    """Raise for what would be in the way when everything has been downloaded."""
    for library, extra in recipe.needs.items():
        if find_spec(library) is None:
            raise missing_library(recipe.command, library, extra)
    _check_target(recipe, target)
    if any(pinned(source, pins) is None for source in recipe.sources.values()):
        check_lock_place(lock)


def _check_target(recipe: Recipe, target: Path, there: Mapping[str, Found] | None = None) -> None:
    """Raise ConfigError if the recipe can't build into a folder, as far as that is known before the build."""
    inputs = {name: [*found.paths.values()] for name, found in (there or {}).items()}
    check_target(target, command=recipe.command, config={}, names=_EVERY_BUILD, inputs=inputs, force=True)


@contextmanager
def _alone(data: Path, on_stage: OnStage | None) -> Iterator[None]:
    """Let one run at a time put files into a folder; the next one finds them."""
    with _making(data):
        data.mkdir(parents=True, exist_ok=True)
    tell = on_stage or (lambda stage: None)
    with ExitStack() as held_lock:
        while not _is_taken(data, held_lock):
            tell(f"wait for another run in {data}")
            time.sleep(_WAIT_SECONDS)  # not in the lock itself: Ctrl-C would not be seen there
        tell("find the files")
        yield


@contextmanager
def _making(data: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"--data-dir {data}: got {error.strerror or error}, expected a folder. Choose another one."
        ) from error


def _is_taken(data: Path, held_lock: ExitStack) -> bool:
    try:
        held_lock.enter_context(locked(data, wait=False))
    except BlockingIOError:
        return False
    return True


def _look(recipe: Recipe, data: Path, pins: Pins) -> tuple[dict[str, Found], list[str]]:
    """Return the sources that a folder has, and the names of the others."""
    shelf = shelf_of(data)
    looked = {name: find_source(recipe, name, shelf, pins) for name in recipe.sources}
    there = {name: found for name, found in looked.items() if found is not None}
    return there, [name for name in looked if name not in there]


def _not_there(recipe: Recipe, data: Path, missing: list[str]) -> SourceError:
    title = (
        f"{data}: got none of {len(missing)} files, expected them there (--offline). Put them into this "
        "folder, by their names, or as files of their digests, or unpacked."
    )
    return SourceError(problem_list(title, [f"{name}: {recipe.sources[name].urls[0]}" for name in missing]))


def _unpacked(
    recipe: Recipe, there: Mapping[str, Found], data: Path, on_stage: OnStage | None
) -> dict[str, Path]:
    """Return where each input lies, after unpacking what has to be."""
    paths: dict[str, Path] = {}
    for name, found in there.items():
        patterns = recipe.sources[name].unpack
        for one, path in found.paths.items():
            is_whole = patterns and found.file is not None and one == name
            paths[one] = (
                unpack_members(path, patterns, data / folder_of(name), on_stage=on_stage)
                if is_whole
                else path
            )
    return paths


def _inputs(recipe: Recipe, paths: Mapping[str, Path]) -> dict[str, Inputs]:
    return {option: _input(given, paths) for option, given in recipe.inputs.items()}


def _input(given: Given, paths: Mapping[str, Path]) -> Inputs:
    if isinstance(given, dict):
        return {name: paths[one] for name, one in given.items()}
    return paths[given] if isinstance(given, str) else tuple(paths[one] for one in given)


def _compare(recipe: Recipe, built: BuildReport, folder: Path) -> tuple[Check, ...]:
    scores = None
    if recipe.score is not None:
        front: Any = getattr(rooms, recipe.command.split()[0].replace("-", "_"))
        answers = {model: folder / file for model, file in recipe.score.predictions.items()}
        scores = front.score(folder, answers, **recipe.score.options).scores
    return check_all(recipe.expected, built.counts, built.figures, scores)


def _new_pins(recipe: Recipe, got: _Gathered, pins: Pins) -> dict[str, Pin]:
    """Return what the lock file does not say yet of the files that were used."""
    new: dict[str, Pin] = {}
    for name, found in got.there.items():
        done = got.downloads.get(name)
        used = found.pins if done is None else {done.url: Pin(name, done.digest)}
        if pinned(recipe.sources[name], pins) is None:
            new |= {url: pin for url, pin in used.items() if url not in pins}
    return new


def _was_open(recipe: Recipe, url: str) -> bool:
    """Return whether the recipe itself left open what an address gives."""
    address = url.partition("#")[0]
    return any(address in source.urls and source.sha256 is None for source in recipe.sources.values())
