"""``recipe NAME``, ``recipe list`` and ``recipe show``."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.command import Command
from shortcut_miner.cli.console import (
    note,
    print_fields,
    print_json,
    print_table,
    print_title,
    progress,
    tell,
    warn,
)
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.options import (
    CHECK_FAILED,
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    OUTPUT,
    FirstRows,
    Force,
    MostShown,
    Shown,
)

if TYPE_CHECKING:
    from shortcut_miner.recipes.recipe import Recipe, Source
    from shortcut_miner.recipes.run import RecipeReport

HELP = "Published datasets from their sources: download, verify, build, compare with the published numbers."
_DEFAULT_DATA = Path("shortcut-miner-data")


def recipe(
    name: Annotated[str, Parameter(group=INPUTS)],
    /,
    *,
    data_dir: Annotated[Path, Parameter(group=INPUTS)] = _DEFAULT_DATA,
    lock: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    offline: Annotated[bool, Parameter(group=INPUTS, negative=(), show_default=False)] = False,
    rows: FirstRows = None,
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    force: Force = False,
    dry_run: Annotated[bool, Parameter(group=OUTPUT, negative=(), show_default=False)] = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Follow a recipe.

    Parameters
    ----------
    name : str
        One of shortcut-miner recipe list, or the path of a TOML file.
    data_dir : Path
        Folder that has the files, or some of them, by digest, name, or unpacked; what is missing is
        downloaded into it.
    lock : Path, optional
        File with size and SHA-256 of what was used first, which must stay the same. Default: one in
        --data-dir.
    offline : bool
        Download nothing: a missing file is an error.
    out : Path, optional
        Folder to write. Default: one of the recipe's name.
    dry_run : bool
        Only say which files are there, and which would be downloaded.
    """
    from shortcut_miner.claims import check_place
    from shortcut_miner.recipes.run import run_recipe

    if out is not None:
        check_place(out)
    started = time.perf_counter()
    with progress(shown) as told, watched(shown, told, None) as compiling:
        done = run_recipe(
            name,
            data_dir=data_dir,
            lock=lock,
            out=out,
            offline=offline,
            limit=rows,
            force=force,
            dry_run=dry_run,
            on_stage=told and compiling.on_stage,
        )
    _remarks(done, shown)
    seconds = time.perf_counter() - started
    if shown.format == "json":
        print_json(document(done, seconds))
    else:
        print_fields(in_words(done, seconds))
    if not done.agrees:
        return CHECK_FAILED
    return DONE if done.built is None or done.built.is_complete else INCOMPLETE


def _remarks(done: "RecipeReport", shown: Shown) -> None:
    if done.built is not None:
        for text in done.built.notes:
            note(shown, f"note: {text}")
        for text in done.built.warnings:
            warn(text)
        if done.recipe.expected and not done.checks:
            note(shown, "note: published numbers are not compared with --limit")
    for url, pin in done.trusted.items():
        note(shown, f"note: trusted on first use, and expected from now on: {pin.name}, {url}")
    for check in done.checks:
        if not check.is_met:
            tell(f"{check.expected.name}: got {check.in_words()}. {check.expected.reason}", "missed", "red")


def document(done: "RecipeReport", seconds: float) -> dict[str, Any]:
    """Return everything as one JSON object."""
    paths: dict[str, Any] = {}
    for option, given in done.inputs.items():
        if isinstance(given, dict):
            paths[option] = {name: str(path) for name, path in given.items()}
        else:
            paths[option] = [*map(str, given)] if isinstance(given, tuple) else str(given)
    return {
        "recipe": done.name,
        "command": done.recipe.command,
        "data_dir": done.data_dir,
        "lock": done.lock,
        "found": done.found,
        "downloaded": done.downloaded,
        "missing": done.missing,
        "inputs": paths,
        "expected": [
            {
                "name": one.expected.name,
                "expected": one.expected.value,
                "got": one.got,
                "tolerance": one.expected.tolerance,
                "is_met": one.is_met,
            }
            for one in done.checks
        ],
        "agrees": done.agrees,
        "built": None if done.built is None else done.built.as_dict(seconds),
    }


def in_words(done: "RecipeReport", seconds: float) -> dict[str, str]:
    """Return what was read, built and compared, as the console prints it."""
    fields = {"recipe": f"{done.name}: {done.recipe.title}", "data": str(done.data_dir)}
    fields |= {f"  {name}": "found" for name in done.found}
    fields |= {f"  {name}": "downloaded" for name in done.downloaded}
    fields |= {f"  {name}": _to_download(done.recipe.sources[name]) for name in done.missing}
    if done.built is None:
        return fields | {"written": "nothing (dry run)"}
    fields |= done.built.in_words(seconds)
    if done.checks:
        met = sum(check.is_met for check in done.checks)
        fields["published"] = f"{met} of {len(done.checks)} numbers met"
        fields |= {f"  {check.expected.name}": check.in_words() for check in done.checks}
    return fields


def _to_download(source: "Source") -> str:
    size = "" if source.size is None else f" ({source.size:,} bytes)"
    return f"to download from {source.urls[0]}{size}"


def list_recipes(*, most: MostShown = 100, shown: Shown = DEFAULT_SHOWN) -> int:
    """List the recipes.

    Parameters
    ----------
    most : int
        Most recipes to print.
    """
    from shortcut_miner.recipes.recipe import find_recipe, read_recipe, recipe_names

    recipes = {name: read_recipe(find_recipe(name)[1]) for name in recipe_names()[:most]}
    if shown.format == "json":
        print_json({"recipes": {name: one.title for name, one in recipes.items()}})
    else:
        print_table(
            ("recipe", "command", "makes"), [(name, one.command, one.title) for name, one in recipes.items()]
        )
    return DONE


def show(
    name: Annotated[str, Parameter(group=INPUTS)],
    /,
    *,
    most: MostShown = 100,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Show a recipe.

    Parameters
    ----------
    name : str
        One of shortcut-miner recipe list, or the path of a TOML file.
    most : int
        Most files and published numbers to print.
    """
    from shortcut_miner.recipes.checks import number_text
    from shortcut_miner.recipes.recipe import as_plain, find_recipe, read_recipe

    title, path = find_recipe(name)
    told = read_recipe(path)
    if shown.format == "json":
        print_json({"recipe": title, "file": path, **as_plain(told)})
        return DONE
    print_fields(_about(title, path, told))
    print_title("Files")
    for number, (source_name, source) in enumerate(list(told.sources.items())[:most]):
        if number:
            print_fields({"": ""})
        print_fields(_source_words(source_name, source))
    if told.expected and most:
        print_title("Published numbers")
        print_table(
            ("number", "published", "tolerance", "why"),
            [
                (one.name, number_text(one.value), f"{one.tolerance:.0%}", one.reason)
                for one in told.expected[:most]
            ],
            right=("published", "tolerance"),
        )
    return DONE


def _about(name: str, path: Path, told: "Recipe") -> dict[str, str]:
    fields = {
        "recipe": f"{name}: {told.title}",
        "file": str(path),
        "cite": told.citation,
        "command": told.command,
    }
    for option, given in told.inputs.items():
        named = [f"{name}={path}" for name, path in given.items()] if isinstance(given, dict) else given
        fields[f"  {option}"] = named if isinstance(named, str) else ", ".join(named)
    fields |= {f"  {option}": str(value) for option, value in told.options.items()}
    return fields | ({"note": told.note} if told.note else {})


def _source_words(name: str, source: "Source") -> dict[str, str]:
    fields = {
        "file": name,
        "from": ", ".join(source.urls),
        "size": "not known" if source.size is None else f"{source.size:,} bytes",
        "SHA-256": source.sha256 or "not known: what is met first is trusted, and pinned in the lock file",
        "checked": "yes" if source.checked else "no: nobody has compared these addresses and digests yet",
        "licence": source.licence,
    }
    return fields | ({"note": source.note} if source.note else {})


COMMANDS = (
    Command(
        ("recipe",),
        recipe,
        HELP,
        "shortcut-miner recipe list\nshortcut-miner recipe show vqa-ce\n"
        "shortcut-miner recipe vqa-ce --data-dir my-data --dry-run",
    ),
    Command(
        ("recipe", "list"),
        list_recipes,
        "List the recipes that come with shortcut-miner, by the names they go by.",
        "shortcut-miner recipe list",
    ),
    Command(
        ("recipe", "show"),
        show,
        "Show a recipe: its files, where they come from, who may use them, and the published numbers.",
        "shortcut-miner recipe show vqa-ce",
    ),
)
