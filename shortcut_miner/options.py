"""What the options of all rooms share: names of choices, presets, and checks of values, in one set of words.

A config is a frozen dataclass that calls these in its ``__post_init__``. A field whose type is a ``Literal``
takes one of its values; one that may be None takes what the preset says. Nothing here is imported from
outside the standard library: configs are read before anything heavy is.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar, Union, get_args, get_origin

from shortcut_miner.errors import ConfigError, examples

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PathText = str | PathLike[str]
PathTexts = PathText | Sequence[PathText]  # one or several
_MOST_SHOWN = 60  # characters of a wrong value
# Measured: what a run holds of the smallest tables, and rounded up.
_LEAST_MEMORY = 500_000_000

OnBadRow = Literal["error", "skip"]
OnMissing = Literal["error", "skip"]
OnExtra = Literal["error", "ignore"]
OnDuplicate = Literal["error", "first", "last"]
ItemKinds = Literal["words", "objects", "both"]
Tokenizer = Literal["basic_english", "spacy", "spacy-lemma"]
SupersetFilter = Literal["immediate", "all", "none"]
AnswerTies = Literal["first", "lexicographic"]
SweepScorer = Literal["auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact"]
Scorer = Literal[SweepScorer, "soft-labels"]
BackendName = Literal["auto", "numba", "cupy"]

# How to find the answer in a model's text, or "after:TEXT".
EXTRACTIONS = ("first-line", "last-word", "choices")
AFTER = "after:"

_Config = TypeVar("_Config", bound="DataclassInstance")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """How models' answers are read: the options that all ``score`` commands share, and ``power``.

    Attributes
    ----------
    columns : str, optional
        Names in the files of answers, as in question_id=qid,answer=response.
    on_missing : {"error", "skip"}
        Stop at questions that a model gives no answer to, or leave them out for all models (exit code 3).
    on_extra : {"error", "ignore"}
        Stop at answers to questions that nobody asked, or leave them out (exit code 3).
    on_duplicate : {"error", "first", "last"}
        Stop at a question answered twice, or keep its first or its last answer (exit code 3).
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    extract : str, optional
        Take the answer out of sentences: the first-line, the last-word, what comes after:TEXT, or of the
        choices (accepted answers, and common right ones) the longest. Texts without it stay as they are.
    """

    answer_columns: ClassVar[tuple[str, ...]] = ("question_id", "answer")  # that `columns` may name

    columns: str | None = None
    on_missing: OnMissing = "error"
    on_extra: OnExtra = "error"
    on_duplicate: OnDuplicate = "error"
    on_bad_row: OnBadRow = "error"
    extract: str | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        fill_in(self)
        named_columns(self.columns, self.answer_columns)
        check_extract(self.extract)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions(AnswerOptions):
    """What all ``score`` commands share: a room's ``ScoreConfig`` is one of these with options of its own.

    Attributes
    ----------
    tex_intervals : bool
        Write intervals into scores.tex too.
    """

    tex_intervals: bool = False


def check_extract(how: str | None) -> None:
    """Raise ConfigError for what is no way to find an answer in a text."""
    if how is None or how in EXTRACTIONS:
        return
    if not isinstance(how, str) or not how.startswith(AFTER) or not how.removeprefix(AFTER).strip():
        reject("extract", how, f"one of {', '.join(EXTRACTIONS)}, or {AFTER}TEXT with a text")


def named_columns(mapping: str | None, known: Sequence[str]) -> dict[str, str]:
    """Return our column -> the file's, for those that are named.

    Raises
    ------
    ConfigError
        A part that is no NAME=COLUMN, a name that is none of `known`, or one that comes twice.

    >>> named_columns("answer=label, question_id=qid", ["question_id", "answer"])
    {'answer': 'label', 'question_id': 'qid'}
    """
    if not isinstance(mapping, str | None):
        reject("columns", mapping, f"text, such as {known[-1]}=label")
    names: dict[str, str] = {}
    for part in mapping.split(",") if mapping else ():
        ours, separator, theirs = (one.strip() for one in part.partition("="))
        if not (separator and theirs) or ours not in known:
            raise ConfigError(
                f"columns: got {part!r}, expected NAME=COLUMN with NAME one of {', '.join(known)}. "
                "Change --columns."
            )
        if names.setdefault(ours, theirs) != theirs:
            raise ConfigError(
                f"columns: got {ours} twice ({names[ours]} and {theirs}), expected it once. Change --columns."
            )
    return names


def named_items(names: str | None) -> tuple[str, ...]:
    """Return the columns whose values are items.

    Raises
    ------
    ConfigError
        A blank name, one that comes twice, or one with "=", which stands between a column and its value.

    >>> named_items("genre, source"), named_items(None)
    (('genre', 'source'), ())
    """
    if names is None:
        return ()
    check_texts(item_columns=names)
    listed = tuple(one.strip() for one in names.split(","))
    if len({*listed}) < len(listed) or any(not one or "=" in one for one in listed):
        reject("item_columns", names, "different names of columns with commas between, without =")
    return listed


def option_name(name: str) -> str:
    """Return a field's option on the command line.

    >>> option_name("min_count")
    '--min-count'
    """
    return "--" + name.replace("_", "-")


def reject(name: str, value: object, expected: str) -> NoReturn:
    """Raise the ConfigError for an option's value."""
    raise ConfigError(f"{name}: got {_shown(value)}, expected {expected}. Change {option_name(name)}.")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MOST_SHOWN else type(value).__name__


def memory_bytes(given: str | int | None, name: str = "memory", least: int = _LEAST_MEMORY) -> int | None:
    """Return an amount of memory in bytes, for the option `name`; a number alone is bytes already.

    Raises
    ------
    ConfigError
        No amount, or less than a run takes whatever it works on.

    >>> memory_bytes("4GB"), memory_bytes("512 MB"), memory_bytes("1.5GiB"), memory_bytes(None)
    (4000000000, 512000000, 1610612736, None)
    """
    if given is None:
        return None
    found = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]+)?)\s*([KMGT]i?)?B?\s*", str(given), re.IGNORECASE)
    if found is None or not isinstance(given, str | Integral):
        reject(name, given, "an amount such as 4GB or 512MB")
    number, unit = found.groups()
    base = 1024 if unit and unit.lower().endswith("i") else 1000
    size = int(float(number) * base ** (" KMGT".index(unit[0].upper()) if unit else 0))
    if size < least:
        reject(name, given, "500MB or more, most of which libraries and kernels take")
    return size


def fill_in(config: "DataclassInstance", presets: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Check every choice of a config, then give options that are None the value of its preset.

    Parameters
    ----------
    config : dataclass
        Under construction: its fields are set in place.
    presets : mapping of str to mapping, optional
        Preset -> option -> value; the config then has a field ``preset``.
    """
    for field in dataclasses.fields(config):
        types = _types(field.type)
        choices = [one for part in types if get_origin(part) is Literal for one in get_args(part)]
        value = getattr(config, field.name)
        if value is None and type(None) in types:
            continue
        if choices and not (isinstance(value, str) and value in choices):
            reject(field.name, value, f"one of {', '.join(choices)}")
        if bool in types and not isinstance(value, bool):
            reject(field.name, value, "True or False")
    if presets is not None:
        for name, value in presets[getattr(config, "preset")].items():  # noqa: B009  # not every config has one
            if getattr(config, name) is None:
                object.__setattr__(config, name, value)


def _types(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type that it is."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def check_counts(**counts: int | None) -> None:
    """Raise ConfigError unless each argument is a whole number of 1 or more, or None."""
    for name, value in counts.items():
        if value is not None and not (isinstance(value, Integral) and value >= 1):
            reject(name, value, "a whole number of 1 or more")


def check_baseline(baseline: str | None, models: Iterable[str]) -> None:
    """Raise ConfigError for a baseline that is none of the models."""
    known = [*models]
    if baseline is not None and baseline not in known:
        raise ConfigError(
            f"baseline: got {baseline!r}, expected one of {', '.join(known)}. Name one of them."
        )


def check_texts(**texts: object) -> None:
    """Raise ConfigError unless each argument is a text."""
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name}: got {_shown(value)}, expected a text. Pass a text.")


def check_whole(config: object, name: str, low: int, high: int | None = None) -> None:
    """Raise ConfigError unless a field is a whole number from `low` on, up to `high` if that is given."""
    value = getattr(config, name)
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        span = f"from {low} to {high}" if high is not None else f"of {low} or more"
        reject(name, value, f"a whole number {span}")


def check_between(
    config: object, name: str, low: float, high: float, *, above: bool = False, below: bool = False
) -> None:
    """Raise ConfigError unless a field is a number from `low` to `high`, or `above` it, or `below` it."""
    value = getattr(config, name)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or (above and value == low) or (below and value == high):
        start = f"above {low}" if above else f"from {low}"
        span = (
            f"{start}, {'below' if below else 'at most'} {high}"
            if above or below
            else f"from {low} to {high}"
        )
        reject(name, value, f"a number {span}")


def as_paths(files: "DataclassInstance") -> None:
    """Turn the texts in a dataclass of files into Paths, in place; a field of type tuple takes several."""
    for field in dataclasses.fields(files):
        value = getattr(files, field.name)
        if value is not None or field.default is dataclasses.MISSING:
            takes_several = any(get_origin(one) is tuple for one in _types(field.type))
            paths = as_path_tuple(field.name, value) if takes_several else as_path(field.name, value)
            object.__setattr__(files, field.name, paths)


def as_path(name: str, value: object) -> Path:
    """Return a path that was given as text or Path; anything else is a ConfigError."""
    if isinstance(value, str | PathLike):
        return Path(value)
    raise ConfigError(f"{name}: got {_shown(value)}, expected a path. Give {option_name(name)}.")


def as_path_tuple(name: str, value: object) -> tuple[Path, ...]:
    """Return one path or several as a tuple; anything else, and nothing at all, is a ConfigError.

    >>> as_path_tuple("detections", "a.tsv"), as_path_tuple("detections", ["a.tsv", "b.tsv"])
    ((PosixPath('a.tsv'),), (PosixPath('a.tsv'), PosixPath('b.tsv')))
    """
    several = value if isinstance(value, list | tuple) else [value]
    if not several:
        raise ConfigError(f"{name}: got no file, expected at least one. Give {option_name(name)}.")
    return tuple(as_path(name, one) for one in several)


def as_path_if_given(name: str, value: object) -> Path | None:
    """Return :func:`as_path`, or None for None."""
    return None if value is None else as_path(name, value)


def as_text_if_given(name: str, value: object) -> str | None:
    """Return a path as text, or None for None; text stays as it is, as a pattern of addresses must."""
    return value if value is None or isinstance(value, str) else str(as_path(name, value))


def fields_from(kind: type[_Config], given: Mapping[str, Any]) -> _Config:
    """Return a dataclass of the fields that `given` has for it."""
    return kind(
        **{field.name: given[field.name] for field in dataclasses.fields(kind) if field.name in given}
    )


def options_from(kind: type[_Config], config: _Config | None, given: Mapping[str, Any]) -> _Config:
    """Return the config that a function was given: as an object, or as keyword arguments, but not both.

    An argument that equals its default is taken as left out.

    >>> @dataclasses.dataclass(frozen=True, kw_only=True)
    ... class Seeded:
    ...     seed: int = 0
    >>> options_from(Seeded, None, {"seed": 5, "out": None})
    Seeded(seed=5)
    >>> options_from(Seeded, Seeded(seed=3), {"seed": 0})
    Seeded(seed=3)
    """
    if config is None:
        return fields_from(kind, given)
    if not isinstance(config, kind):
        raise ConfigError(
            f"config: got {type(config).__name__}, expected {kind.__name__}. Give its options by name."
        )
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    beside = [name for name, value in defaults.items() if name in given and given[name] != value]
    if beside:
        raise ConfigError(
            f"config: got a {kind.__name__} and {examples(beside)} beside it, expected one or the other. "
            "Put all options into the config, or leave it out."
        )
    return config


def named_paths(name: str, files: Mapping[str, PathText]) -> dict[str, Path]:
    """Return {model: file} with Paths.

    Raises
    ------
    ConfigError
        Not a mapping, or something in it that is no path.

    >>> named_paths("predictions", {"m": "m.json"})
    {'m': PosixPath('m.json')}
    """
    return {model: as_path(name, file) for model, file in _named(name, files).items()}


def named_path_lists(name: str, files: Mapping[str, PathTexts]) -> dict[str, list[Path]]:
    """Return {model: files} with Paths, of one file or several a model; see :func:`named_paths`.

    >>> named_path_lists("original", {"m": "m.json", "n": ["1.json", "2.json"]})["n"]
    [PosixPath('1.json'), PosixPath('2.json')]
    """
    return {model: [*as_path_tuple(name, given)] for model, given in _named(name, files).items()}


def _named(name: str, files: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(files, Mapping):
        raise ConfigError(f"{name}: got {files!r}, expected {{model: file}}. Name the model of each file.")
    return {str(model): file for model, file in files.items()}
