"""The tree of commands: the rooms' own, by the names in :mod:`shortcut_miner.rooms`, and the others."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cyclopts import App, Parameter

from shortcut_miner import rooms
from shortcut_miner.cli import recipe
from shortcut_miner.cli.arguments import prepare_arguments
from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

# Their modules are loaded when they run; a room's when its commands are asked about.
_OTHER_COMMANDS = (
    Command(
        ("demo",),
        "shortcut_miner.cli.demo:demo",
        "Write a small world with planted shortcuts, find them, and score two models on it.",
        "shortcut-miner demo",
    ),
    Command(
        ("warm-up",),
        "shortcut_miner.cli.warm_up:warm_up",
        "Compile everything that is compiled at first use, so that no later run has to wait for it.",
        "shortcut-miner warm-up",
    ),
    Command(
        ("mine",),
        "shortcut_miner.cli.mine:mine",
        "Mine rules from any Parquet, CSV or JSONL table of words, labels and answers.",
        f"{ENTER}\nshortcut-miner mine vqa-ce/questions.parquet \\\n"
        "    --words question --objects objects --min-count 20 --out my-rules",
    ),
    Command(
        ("shard",),
        "shortcut_miner.cli.shards:shard",
        "Cut the search of a table into shards, for the machines of a cluster to mine.",
        f"{ENTER}\nshortcut-miner shard vqa-ce/questions.parquet \\\n"
        "    --words question --objects objects --min-count 20 \\\n"
        "    --shards 2 --work shards\n"
        "shortcut-miner mine --work shards --shard 0    # anywhere\n"
        "shortcut-miner mine --work shards --shard 1",
    ),
    Command(
        ("merge",),
        "shortcut_miner.cli.shards:merge",
        "Put together what the shards of a table found, as mine finds it.",
        f"{ENTER}\nshortcut-miner shard vqa-ce/questions.parquet \\\n"
        "    --words question --objects objects --min-count 20 \\\n"
        "    --shards 1 --work one-shard\n"
        "shortcut-miner mine --work one-shard --shard 0\n"
        "shortcut-miner merge one-shard --out my-merged-rules",
    ),
    Command(
        ("rules",),
        "shortcut_miner.cli.rules:rules",
        "Look up rules by item, answer, kind, strength and verdict.",
        f"{ENTER}\nshortcut-miner rules vqa-ce --contains sport --verdict real",
    ),
    Command(
        ("explain",),
        "shortcut_miner.cli.rules:explain",
        "Show the rules that fire on one question, and why it is in its subset.",
        f"{ENTER}\nshortcut-miner explain vqa-ce 101496000",
    ),
    Command(
        ("export",),
        "shortcut_miner.cli.export:export",
        "Write a built folder's questions as other people's evaluators read them, with the commands that do.",
        f"{ENTER}\nshortcut-miner export vqa-ce --to huggingface --out vqa-ce-hf\n"
        "shortcut-miner export vqa-ce --to lmms-eval --subset hard --out lmms",
    ),
    Command(
        ("power",),
        "shortcut_miner.cli.power:power",
        "Say whether a set is big enough to tell two models apart: least difference, power, needed rows.",
        "shortcut-miner power --n 3169 --discordant 0.2\n"
        f"{ENTER}\nshortcut-miner power vqa-ce \\\n"
        "    --predictions grounded=world/grounded_model_results.json \\\n"
        "    --predictions shortcut=world/shortcut_model_results.json",
    ),
    Command(
        ("leak-check",),
        "shortcut_miner.cli.leaks:leak_check",
        "Say how far a set can be answered without images: from text, objects' names, and by rules.",
        f"{ENTER}\nshortcut-miner leak-check vqa-ce",
    ),
    Command(
        ("verify",),
        "shortcut_miner.cli.verify:verify",
        "Check a folder's files, counts and inputs by its manifest, and name what differs (exit code 1).",
        f"{ENTER}\nshortcut-miner verify vqa-ce --data-dir world",
    ),
    Command(
        ("report",),
        "shortcut_miner.cli.report:report",
        "Write one HTML file about what was built and scored: charts, models, and a table of all rules.",
        f"{ENTER}\nshortcut-miner report . --out all-rooms.html\n"
        "shortcut-miner report vqa-ce --scores vqa-ce-scores --out vqa-ce.html",
    ),
    Command(
        ("repeat",),
        "shortcut_miner.cli.repeat:repeat",
        "Build a folder again from its own record, and say whether the bytes agree (exit code 1 if not).",
        f"{ENTER}\nshortcut-miner repeat vqa-ce",
    ),
    Command(
        ("inspect",),
        "shortcut_miner.cli.inspect:inspect",
        "Say what files are, what they hold, and what is wrong with them (exit code 1).",
        f"{ENTER}\nshortcut-miner inspect world/image_to_detection.json vqa-ce",
    ),
)
_EXIT_CODES = """\
Exit codes: 0 done; 1 a check failed; 2 bad usage or bad input; 3 finished but incomplete;
101 a bug in shortcut-miner; 130 interrupted."""


def commands() -> tuple[Command, ...]:
    """Return all commands, those of the rooms first."""
    of_rooms = (command for name in rooms.NAMES for command in _room(name).COMMANDS)
    return (*of_rooms, *_OTHER_COMMANDS, *recipe.COMMANDS)


def build_app(asked: str = "") -> App:
    """Return the command line application, or as much of it as a command line that begins so needs."""
    app = App(
        name="shortcut-miner",
        help="Mine multimodal shortcuts from VQA data and build the datasets that expose them.",
        help_format="plaintext",
        help_epilogue=f"Start here:\n\n  shortcut-miner demo\n\n{_EXIT_CODES}",
        version=__version__,
        config=prepare_arguments,
        default_parameter=Parameter(json_list=False, json_dict=False),  # a name may begin with a bracket
        suppress_keyboard_interrupt=False,
        console=_console_for_help(),
    )
    for room in map(_room, _needed_rooms(asked)):
        group = App(name=room.COMMANDS[0].words[0], help=room.HELP)
        app.command(group)
        for command in room.COMMANDS:
            _register(group, command)
    for command in _OTHER_COMMANDS:
        _register(app, command)
    app.command(_recipe_group())
    return app


def _needed_rooms(asked: str) -> tuple[str, ...]:
    """Return the rooms to load for a command line with this first word: its own, or none, or for help all."""
    if asked in rooms.WORDS:
        return (rooms.NAMES[rooms.WORDS.index(asked)],)
    is_other = any(command.words[0] == asked for command in (*_OTHER_COMMANDS, *recipe.COMMANDS))
    return () if is_other else rooms.NAMES


def _room(name: str) -> Any:
    """Return the module with a room's commands."""
    return import_module(f"shortcut_miner.cli.{name}")


def _recipe_group() -> App:
    """Return ``recipe``, which takes a recipe's name, or the word list or show."""
    by_name, *others = recipe.COMMANDS
    group = App(name=by_name.words[0], help=by_name.help, help_epilogue=by_name.epilogue)
    group.default(recipe.recipe)
    for command in others:
        _register(group, command)
    return group


def _console_for_help() -> "Console | None":
    """Return a console without any style where NO_COLOR is set: Rich's own would still print bold."""
    if not os.environ.get("NO_COLOR"):
        return None
    from rich.console import Console

    return Console(color_system=None)


def _register(parent: App, command: Command) -> None:
    parent.command(
        command.function, name=command.words[-1], help=command.help, help_epilogue=command.epilogue
    )
