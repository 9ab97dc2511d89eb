"""Every option that a message names exists in each command that can say it.

Found by reading the source: which functions a command can reach, by the names that functions use, and which
options the texts in them name. Docstrings are no messages.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import shortcut_miner
from shortcut_miner.cli.app import build_app, commands
from shortcut_miner.cli.command import Command

PACKAGE = Path(shortcut_miner.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
Place = tuple[str, str]  # a module and a name at its top level

# Looked up to tell what a file is; the readers in these tables are not called.
NOT_FOLLOWED = {
    ("shortcut_miner.sources.images.regions", "all_formats"),
    ("shortcut_miner.sources.shapes", "shape_of"),
    ("shortcut_miner.sources.images.regions", "INFO"),
    *(("shortcut_miner.sources.shapes", name) for name in ("QUESTIONS", "IMAGES", "ANSWERS")),
}
# Commands whose texts speak of other commands.
OF_OTHERS = {
    "demo": "reads only what it wrote, and prints lines of other commands to try",
    "warm-up": "reads only what it wrote",
    "inspect": "says what the command that reads a file would say, and that the options are that command's",
}
# Never said there: it writes into a new folder.
NOT_SAID = {
    ("repeat", "shortcut_miner.publishing._check_options", "--force"),
    ("power", "shortcut_miner.datasets.question_sets.QuestionSets", "--subset"),  # it takes all
    ("leak-check", "shortcut_miner.datasets.question_sets.QuestionSets", "--subset"),
    # They open no image.
    *(
        (one, "shortcut_miner.sources.images.image_files.read_image", "--images")
        for one in ("power", "leak-check")
    ),
    ("export", "shortcut_miner.exports.export._some_of", "--on-missing"),  # the end of a score command
    # A sweep has no budget, and a report replaces earlier reports only.
    ("vqa-ce sweep", "shortcut_miner.mining.memory.check_fits", "--memory"),
    ("vqa-ce sweep", "shortcut_miner.mining.sharding.jobs.excess_text", "--memory"),
    ("report", "shortcut_miner.publishing._check_options", "--force"),
    *(
        (command, "shortcut_miner.publishing._check_options", "--force")  # it writes one picture
        for command in ("fpvg show", "swapmix show")
    ),
    *(
        (command, "shortcut_miner.drawing.pillow.check_pillow", "--force-reinstall")  # pip's
        for command in ("fpvg images", "swapmix images")
    ),
    # Its tables have columns of fixed names.
    ("pope build", "shortcut_miner.sources.questions.table_rows.NAME_COLUMNS", "--columns"),
    # Bad boxes are left out of pictures; the other option is pip's.
    *(
        (command, place, option)
        for command in ("explain", "fpvg show", "swapmix show", "report")
        for place, option in (
            ("shortcut_miner.sources.images.several._told", "--on-bad-row"),
            ("shortcut_miner.sources.opening.reading.refuse_bad", "--on-bad-row"),
            ("shortcut_miner.drawing.pillow.check_pillow", "--force-reinstall"),
        )
    ),
}
# Writes no folder of results: what publishing says is never said there.
NOT_PUBLISHED = ("shard", "recipe list", "recipe show")
PUBLISHING = ("shortcut_miner.publishing.", "shortcut_miner.claims.")


@dataclass
class Module:
    """What a module's top level defines, and what its imported names stand for."""

    defined: dict[str, ast.AST] = field(default_factory=dict)
    imported: dict[str, Place] = field(default_factory=dict)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def read_modules() -> dict[str, Module]:
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree, module = ast.parse(path.read_text(encoding="utf-8")), Module()
        for node in tree.body:
            module.defined |= dict(definitions(node))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE.name):
                for one in node.names:
                    module.imported[one.asname or one.name] = (node.module, one.name)
        modules[name_of(path)] = module
    return modules


def definitions(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a statement defines, each with what it is; of ``a, b = c, d`` one by one."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name, node
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            else:
                pairs = [(one, node.value) for one in ast.walk(target)]
            yield from ((one.id, value) for one, value in pairs if isinstance(one, ast.Name))


MODULES = read_modules()


@cache
def used_by(place: Place) -> frozenset[Place]:
    """Return the places of the package that a function, class or table uses, by their names."""
    return frozenset(_used_by(place))


def _used_by(place: Place) -> Iterator[Place]:
    module = MODULES[place[0]]
    for node in ast.walk(module.defined[place[1]]):
        if isinstance(node, ast.Name):
            if node.id in module.defined:
                yield place[0], node.id
            elif node.id in module.imported:
                yield from resolved(module.imported[node.id])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            holder, name = module.imported.get(node.value.id, ("", ""))
            yield from resolved((f"{holder}.{name}", node.attr))


def resolved(place: Place) -> Iterator[Place]:
    module = MODULES.get(place[0])
    if module is None:
        return
    if place[1] in module.defined:
        yield place
    elif place[1] in module.imported:
        yield from resolved(module.imported[place[1]])


def reached(start: Place) -> set[Place]:
    seen, waiting = {start}, [start]
    while waiting:
        new = used_by(waiting.pop()) - seen - NOT_FOLLOWED
        seen |= new
        waiting += new
    return seen


def texts_of(place: Place) -> Iterator[str]:
    """Yield the texts of a place that are no docstrings."""
    node = MODULES[place[0]].defined[place[1]]
    seen = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Expr)}
    for one in ast.walk(node):
        if isinstance(one, ast.JoinedStr):  # one message, whatever is filled in
            seen |= {id(part) for part in one.values}
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in one.values)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in seen:
            yield one.value


@cache
def advised(place: Place) -> set[str]:
    """Return the options that texts of a place name, but for those of commands that the same text names."""
    return {option for text in texts_of(place) for option in OPTION.findall(text)} - {
        option
        for text in texts_of(place)
        for one in commands_in(text)
        for option in (*options_of(one), "--help")
    }


def commands_in(text: str) -> list[Command]:
    """Return the commands that a text names, as in "fpvg or swapmix build --detections"."""
    words = {*re.findall(r"[\w-]+", text)}
    return [
        command
        for command in commands()
        if (len(command.words) > 1 and words >= {*command.words})
        or f"shortcut-miner {command.words[0]} " in f"{text} "
    ]


def entry(command: Command) -> Place:
    if isinstance(command.function, str):
        module, _, name = command.function.partition(":")
        return module, name
    return command.function.__module__, command.function.__name__


@cache
def options_of(command: Command) -> set[str]:
    app = build_app()
    for word in command.words:
        app = app[word]
    arguments = app.assemble_argument_collection(parse_docstring=True)
    return {name for argument in arguments for name in argument.names if name.startswith("--")}


def told_by(command: Command) -> set[tuple[str, str]]:
    """Return the places whose texts a command may say, each with an option that they name."""
    return {
        (f"{module}.{name}", option)
        for module, name in reached(entry(command))
        for option in advised((module, name))
    }


OWN = [command for command in commands() if " ".join(command.words) not in OF_OTHERS]


@pytest.mark.parametrize("command", OWN, ids=lambda command: " ".join(command.words))
def test_messages_name_options_that_the_command_has(command: Command) -> None:
    options = options_of(command)
    name = " ".join(command.words)
    wrong = {
        (place, option)
        for place, option in told_by(command)
        if option not in options and not (name in NOT_PUBLISHED and place.startswith(PUBLISHING))
    }
    assert wrong <= {(place, option) for who, place, option in NOT_SAID if who == name}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_texts_about_other_commands_name_options_of_theirs(name: str) -> None:
    (command,) = (one for one in commands() if " ".join(one.words) == name)
    options = {option for one in OWN for option in options_of(one)}
    assert {option for _, option in told_by(command)} <= options


@pytest.mark.parametrize(
    ("module", "name"),
    [("answers.formats", "TABLES"), ("questions.formats", "TABLES"), ("vector_formats", "VECTORS_GO_TO")],
)
def test_texts_that_send_a_file_elsewhere_name_options_of_that_command(module: str, name: str) -> None:
    texts = [text for text in texts_of((f"shortcut_miner.sources.{module}", name)) if OPTION.search(text)]
    assert texts
    for text in texts:
        assert {*OPTION.findall(text)} <= {
            one for command in commands_in(text) for one in options_of(command)
        }


def test_what_is_said_where_is_found() -> None:
    """The walk sees messages of readers, of shared code and of options, through calls and tables."""
    (score,) = (one for one in commands() if one.words == ("vqa-ce", "score"))
    told = told_by(score)
    for place, option in (
        ("sources.answers.answer_column.check_columns", "--columns"),
        ("sources.answers.predictions._settled", "--on-duplicate"),
        ("sources.opening.reading.refuse_bad", "--on-bad-row"),
        ("datasets.answers._advice", "--on-missing"),
        ("options.named_columns", "--columns"),
        ("diagnostics.vqa_ce.score._scorer", "--soft-labels"),
    ):
        assert (f"shortcut_miner.{place}", option) in told
    assert len({option for one in OWN for _, option in told_by(one)}) > 40
