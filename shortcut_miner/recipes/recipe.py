"""What a recipe is: its TOML file, read and checked as a whole before anything is downloaded."""

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

import shortcut_miner
from shortcut_miner.builders import builders
from shortcut_miner.errors import ConfigError, SourceError, near_names, problem_list, reason_of
from shortcut_miner.journal import is_plain_name

SUFFIX = ".toml"
# What a build takes beside its files and options: the run's own, which a recipe doesn't decide.
_OF_THE_RUN = {
    "out", "config", "limit", "threads", "backend", "memory", "executor", "shards", "work", "force",
}  # fmt: skip
_LIBRARY, _EXTRA = re.compile("[A-Za-z]\\w*", re.ASCII), re.compile("[a-z]+")
_HEX = set("0123456789abcdef")

Given = str | tuple[str, ...] | dict[str, str]  # a path, several, or paths by name such as models
Option = bool | int | float | str


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file to have.

    Attributes
    ----------
    urls : tuple of str
        Where it can be had, the first that works.
    licence : str
        What its authors allow.
    size : int or None
        Bytes.
    sha256 : str or None
        None: what is met first is trusted, and expected from then on, see :mod:`shortcut_miner.recipes.lock`.
    checked : bool
        Whether somebody downloaded it from these addresses and found it as it is told here.
    unpack : tuple of str
        Patterns of members that are unpacked into a folder of the archive's name, for readers that can't read
        them inside it; ``*`` matches any part of a path.
    note : str
        Where the digest is from, or what else to know.
    """

    urls: tuple[str, ...]
    licence: str
    size: int | None = None
    sha256: str | None = None
    checked: bool = False
    unpack: tuple[str, ...] = ()
    note: str = ""


class ScoreCell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which value of a table of scores is meant."""

    metric: str
    group: str
    subgroup: str
    model: str


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published number, how far from it a build may be, and why that far.

    Attributes
    ----------
    value : float
        The published number.
    tolerance : float
        As a share of the value; 0: exactly.
    reason : str
        Where the number is from, and why it may differ.
    count : str or None
        The number's name among the build's counts.
    figure : str or None
        Or among its figures.
    score : ScoreCell or None
        Or its place in the scores.
    """

    value: float
    tolerance: float
    reason: str
    count: str | None = None
    figure: str | None = None
    score: ScoreCell | None = None

    @property
    def name(self) -> str:
        """What is shown for it."""
        if self.score is not None:
            cell = self.score
            return f"{cell.metric} of {cell.model}, {cell.group} {cell.subgroup}"
        return self.count or self.figure or ""


class Score(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores that are computed after the build: model -> its answers, a file of the built folder."""

    predictions: dict[str, str]
    options: dict[str, Option] = {}


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recipe.

    Attributes
    ----------
    title : str
        What it makes, in a line.
    citation : str
        What to cite.
    command : str
        What builds it, such as "vqa-ce build".
    inputs : dict of str to str, tuple of str, or dict of str to str
        Option of the command -> a source's name, with the member's path behind it for an archive; several of
        them, or by name where the option takes names, as models' answers.
    options : dict of str to value
        Further options of the command.
    sources : dict of str to Source
        The files, by name.
    expected : tuple of Expected
        Published numbers.
    score : Score or None
        What is scored, where published numbers are scores.
    needs : dict of str to str
        Libraries of the command that are in an extra, and which: they are looked for before the downloads.
    note : str
        What else to know.
    """

    title: str
    citation: str
    command: str
    inputs: dict[str, Given]
    sources: dict[str, Source]
    options: dict[str, Option] = {}
    expected: tuple[Expected, ...] = ()
    score: Score | None = None
    needs: dict[str, str] = {}
    note: str = ""

    def paths_of(self, source: str) -> list[str]:
        """Return the inputs that are this source, or lie in it."""
        return [path for path in self.input_paths() if path.partition("/")[0] == source]

    def input_paths(self) -> Iterator[str]:
        """Give the paths of all inputs."""
        for given in self.inputs.values():
            yield from paths_in(given)


def paths_in(given: Given) -> tuple[str, ...]:
    """Return the paths that an option is given.

    >>> paths_in("a.json"), paths_in({"model": "b.json"})
    (('a.json',), ('b.json',))
    """
    if isinstance(given, str):
        return (given,)
    return tuple(given.values()) if isinstance(given, dict) else given


def recipes_folder() -> Path:
    """Return the folder of the program's own recipes: in the package, or beside it in a checkout."""
    package = Path(shortcut_miner.__file__).parent
    inside = package / "data_recipes"
    return inside if inside.is_dir() else package.parent / "data_recipes"


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with the program."""
    return sorted(path.stem for path in recipes_folder().glob(f"*{SUFFIX}"))


def find_recipe(name: str) -> tuple[str, Path]:
    """Return a recipe's name and file: one that comes with the program, or a TOML file by its path.

    Raises
    ------
    ConfigError
        No such name.
    """
    if name.endswith(SUFFIX):
        return Path(name).stem, Path(name)
    names = recipe_names()
    if name not in names:
        raise ConfigError(
            f"recipe: got {name!r}, expected one of {', '.join(names)}, or the path of a TOML file that ends "
            f"in {SUFFIX}.{near_names(name, names)} See: shortcut-miner recipe list."
        )
    return name, recipes_folder() / f"{name}{SUFFIX}"


def read_recipe(path: Path) -> Recipe:
    """Return a recipe from its TOML file.

    Raises
    ------
    SourceError
        It can't be read, or says what no recipe can say.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        recipe = msgspec.convert(content, Recipe)
    except OSError as error:
        raise SourceError(
            f"{path}: got {error.strerror or error}, expected the TOML file of a recipe. Check the path."
        ) from error
    except msgspec.ValidationError as error:
        raise SourceError(
            f"{path}: got a recipe that is not one ({reason_of(error)}), expected title, citation, command, "
            "inputs and sources. Compare with: shortcut-miner recipe show vqa-ce."
        ) from error
    except (ValueError, RecursionError) as error:  # broken TOML, or bytes that are no UTF-8
        raise SourceError(
            f"{path}: got broken TOML ({reason_of(error)}), expected a recipe. Correct it."
        ) from error
    if problems := [*_problems(recipe)]:
        title = (
            f"{path}: got a recipe that can't be followed, expected files and options that fit. Correct it."
        )
        raise SourceError(problem_list(title, problems))
    return recipe


def _problems(recipe: Recipe) -> Iterator[str]:
    for name, source in recipe.sources.items():
        yield from (f"source {name!r}: {problem}" for problem in _source_problems(name, source))
        if not recipe.paths_of(name):
            yield f"source {name!r}: no input is made of it"
    for path in recipe.input_paths():
        if path.partition("/")[0] not in recipe.sources:
            yield f"input {path!r}: no source of its name"
        elif not all(_is_plain_part(part) for part in path.split("/")):
            yield f"input {path!r}: leads out of its archive, or is no path in one"
    for library, extra in recipe.needs.items():
        # To look for what is in a package imports the package.
        if not (_LIBRARY.fullmatch(library) and _EXTRA.fullmatch(extra)):
            yield f"needs: {library!r} from {extra!r} is no library's name and an extra's"
    build = builders().get(recipe.command)
    if build is None:
        yield f"command: {recipe.command!r} is none of {', '.join(builders())}"
        return
    known = {*inspect.signature(build).parameters} - _OF_THE_RUN
    for name in (*recipe.inputs, *recipe.options):
        if name not in known:
            yield f"{name}: no option of {recipe.command}.{near_names(name, known)}"
    for name in sorted({*recipe.inputs} & {*recipe.options}):
        yield f"{name}: among the inputs and the options"
    for one in recipe.expected:
        if sum(given is not None for given in (one.count, one.figure, one.score)) != 1:
            yield f"expected {one.value}: not exactly one of count, figure and score"
        if one.tolerance < 0 or not one.reason:
            yield f"expected {one.name}: no tolerance of 0 or more, or no reason"
        if one.score is not None and recipe.score is None:
            yield f"expected {one.name}: a score, but nothing is scored"
    for model, file in (recipe.score.predictions if recipe.score else {}).items():
        if not is_plain_name(file):
            yield f"score of {model}: {file!r} is no file of the built folder"


def _source_problems(name: str, source: Source) -> Iterator[str]:
    if not is_plain_name(name):
        yield "its name is no plain file name"
    if not source.urls:
        yield "it has no address"
    for url in source.urls:
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            yield f"{url!r} is no http or https address"
    if source.size is not None and source.size < 1:
        yield f"its size is {source.size}"
    if source.sha256 is not None and not (len(source.sha256) == 64 and set(source.sha256) <= _HEX):
        yield f"{source.sha256!r} is no SHA-256 in 64 lower-case hexadecimal digits"
    if source.unpack and Path(name).suffix != ".zip":
        yield "unpack is for a .zip alone"


def _is_plain_part(part: str) -> bool:
    r"""Return whether a part of a path goes one level down, and nowhere else.

    >>> [_is_plain_part(part) for part in ("a b.json", "..", ".", "", "a\\b", "\0")]
    [True, False, False, False, False, False]
    """
    return part.isprintable() and part not in ("", ".", "..") and "\\" not in part


def folder_of(name: str) -> str:
    """Return the folder that a source's members are unpacked into."""
    return Path(name).stem


def as_plain(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as JSON has it."""
    plain: dict[str, Any] = msgspec.to_builtins(recipe)
    return plain
