"""What cyclopts leaves to us: all that is missing at once, whole numbers, and the TOML file of options."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from cyclopts import CycloptsError, Token
from cyclopts.utils import is_option_like

from shortcut_miner.cli.options import METHOD, OUT_IS_NEEDED
from shortcut_miner.errors import ConfigError, SourceError, examples, near_names, problem_list, reason_of

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument, ArgumentCollection

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}


class MissingOptionsError(CycloptsError):
    """Needed arguments and options that were not given, all of them."""

    missing: Sequence[str] = ()
    instead: Sequence[str] = ()
    known: Sequence[str] = ()

    def in_words(self) -> str:
        """Return what is missing, and which unknown options may be meant."""
        advice = "a value. Give it" if len(self.missing) == 1 else "a value for each. Give them"
        unknown = filter(is_option_like, self.unused_tokens or ())
        meant = [f" {token} is unknown.{near_names(token, self.known, limit=1)}" for token in unknown]
        instead = f", or {' and '.join(self.instead)} instead" if self.instead else ""
        return f"{', '.join(self.missing)}: missing, expected {advice}{instead}.{''.join(meant)}"


def prepare_arguments(app: "App", commands: tuple[str, ...], arguments: "ArgumentCollection") -> None:
    """Take in the config file, and check what cyclopts does not; called before any value is converted."""
    _check_all_given(arguments)
    _merge_config_file(arguments)
    _check_whole_numbers(arguments)
    _check_paths(arguments)
    _allow_unpacking(arguments)


def _check_all_given(arguments: "ArgumentCollection") -> None:
    """Raise MissingOptionsError, with ``--out`` of a build among the missing where others are."""
    missing = [one.name for one in arguments if one.required and not (one.children or one.has_tokens)]
    lacking, instead = _ways_begun(arguments)
    if missing := [*lacking, *missing]:
        out, dry_run = arguments.get("--out", None), arguments.get("--dry-run", None)
        is_needed = out is not None and (out.parameter.help or "").endswith(OUT_IS_NEEDED)
        if is_needed and not any(one is not None and one.has_tokens for one in (out, dry_run)):
            missing.append("--out")
        error = MissingOptionsError()
        error.missing, error.instead = missing, instead
        error.known = [one.name for one in arguments]
        raise error


def _ways_begun(arguments: "ArgumentCollection") -> tuple[list[str], list[str]]:
    """Return what is missing of files that are taken in one of several ways, and what may be instead.

    A dataclass of files names its ``ways``: of each, what it needs and what may be beside. The one that was
    begun counts, else the first.
    """
    for argument in arguments:
        hints = get_args(argument.hint) or (argument.hint,)
        if ways := next((hint.ways for hint in hints if hasattr(hint, "ways")), ()):
            options = {one.field_info.name: one for one in argument.children}
            begun = [way for way in ways if any(options[name].has_tokens for part in way for name in part)]
            if len(begun) > 1:
                break  # the dataclass itself tells
            chosen, _ = begun[0] if begun else ways[0]
            missing = [options[name].name for name in chosen if not options[name].has_tokens]
            others = [options[name].name for needed, _ in ways if needed != chosen for name in needed]
            return missing, others if missing and not begun else []
    return [], []


def _check_whole_numbers(arguments: "ArgumentCollection") -> None:
    """Raise ConfigError for 2.5 where a whole number is expected: cyclopts would round it."""
    for argument in arguments:
        if argument.hint in (int, int | None):
            for token in argument.tokens:
                if "." in token.value:
                    name = f"{token.keyword or argument.name}" + (
                        "" if token.source == "cli" else f" in {token.source}"
                    )
                    raise ConfigError(f"{name}: got {token.value}, expected a whole number. Change it.")


def _check_paths(arguments: "ArgumentCollection") -> None:
    """Raise ConfigError for an empty path: it would be read as the present folder."""
    for argument in arguments:
        for token in argument.tokens if _is_path(argument.hint) else ():
            if not token.value.strip():
                name = token.keyword or argument.name
                raise ConfigError(
                    f"{name}: got an empty path, expected a file or folder. Name it, or . for this one."
                )


def _is_path(hint: Any) -> bool:
    return hint is Path or any(map(_is_path, get_args(hint)))


def _merge_config_file(arguments: "ArgumentCollection") -> None:
    """Fill in options of the group "Method" that were not given from the TOML file named by ``--config``.

    Options win over the file, the file over a preset, and a preset over defaults.
    """
    option = arguments.get("--config", None)
    if option is None or not option.tokens:
        return
    path = option.tokens[-1].value
    fields = {
        argument.keys[0] if argument.keys else argument.field_info.name: argument
        for argument in arguments
        if _is_method(argument) and argument is not option and not argument.children
    }
    values = _read_config_file(path, {name: argument.hint for name, argument in fields.items()})
    for name, value in values.items():
        if not fields[name].tokens:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            fields[name].append(Token(keyword=name, value=text, source=path))


def _allow_unpacking(arguments: "ArgumentCollection") -> None:
    """Allow what ``--max-unpacked`` says for the rest of the run, which has a context of its own."""
    option = arguments.get("--max-unpacked", None)
    if option is not None and option.tokens:
        from shortcut_miner.sources.opening.limits import allow_unpacking

        allow_unpacking(option.tokens[-1].value)


def _is_method(argument: "Argument") -> bool:
    groups = argument.parameter.group
    return isinstance(groups, tuple) and METHOD in groups


def _read_config_file(path: str, hints: Mapping[str, Any]) -> dict[str, Any]:
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(
            f"--config {path}: got {error.strerror or error}, expected a TOML file. Check the path."
        ) from error
    except ValueError as error:  # broken TOML, or bytes that are no UTF-8
        raise SourceError(
            f"--config {path}: got broken TOML ({reason_of(error)}), expected lines such as min_count = 8. "
            "Correct it."
        ) from error
    problems = [
        f"{name}: got no such option.{near_names(name.replace('-', '_'), hints)}"
        for name in values
        if name not in hints
    ]
    problems += [
        f"{name}: got {_as_written(value)}, expected {_expected(hints[name])}"
        for name, value in values.items()
        if name in hints and not _fits(value, hints[name])
    ]
    if problems:
        names = examples(hints, limit=len(hints))
        title = f"--config {path}: got options that don't fit, expected some of {names}. Correct them."
        raise ConfigError(problem_list(title, problems))
    return values


def _kind(hint: Any) -> Any:
    """Return the type that a value of an option has: bool, int, float, a list, or else text."""
    first = get_args(hint)[0] if get_origin(hint) in (Union, UnionType) else hint
    return first if first in _KINDS or get_origin(first) is list else str


def _expected(hint: Any) -> str:
    kind = _kind(hint)
    return _KINDS.get(kind, "a list of numbers such as [8, 16]")


def _fits(value: object, hint: Any) -> bool:
    """Return whether a TOML value is what Python takes for the option: text is no number there either."""
    kind = _kind(hint)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(one, get_args(kind)[0]) for one in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _as_written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
