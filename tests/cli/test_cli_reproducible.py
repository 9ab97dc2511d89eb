"""The same bytes, of all commands, from another folder, order, time zone, locale, hash seed, and threads."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commands import CHECKOUT, contents, without_notice
from cli.writers import WRITERS, Inputs, Tokens

pytestmark = pytest.mark.slow

# A command line an argument, its words in lines: the shell's bytes, in whatever encoding Python takes them.
PROGRAM = """
import sys
from shortcut_miner.cli.run import run
sys.exit(max(run(line.split("\\n")) for line in sys.argv[1:]))
"""
HERE = {
    "PYTHONHASHSEED": "1",
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "COLUMNS": "80",
}
THERE = {
    "PYTHONHASHSEED": "77",
    "POLARS_MAX_THREADS": "3",
    "NUMBA_NUM_THREADS": "2",
    "TZ": "Pacific/Kiritimati",  # a day ahead
    "LC_ALL": "tr_TR.UTF-8",  # where there is one: its I has no dot
    "LANG": "C",
    "COLUMNS": "200",
}


def run_all(commands: dict[str, Tokens], out: Path, variables: dict[str, str], cwd: Path) -> None:
    """Run commands in one process with these variables, each into a folder of its name."""
    lines = ["\n".join([*map(str, tokens), "--out", str(out / name)]) for name, tokens in commands.items()]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *lines],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **variables},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in without_notice(done.stderr).splitlines() if not line.startswith("warning: ")]
    assert (done.returncode, errors) == (0, [])


@pytest.fixture(scope="module")
def usual(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("usual")
    run_all({name: make(inputs)[0] for name, make in WRITERS.items()}, out, HERE, out)
    return out


def test_folders_time_zones_locales_threads_and_hash_seeds_change_nothing(
    inputs: Inputs, usual: Path, tmp_path: Path
) -> None:
    """The inputs lie elsewhere too: no path of theirs is in any file but run.json."""
    shutil.copytree(inputs.folder, tmp_path / "moved" / "ünder")
    shutil.copytree(inputs.world.val_questions.parent, tmp_path / "moved" / "world")
    places = {
        str(inputs.folder): str(tmp_path / "moved" / "ünder"),
        str(inputs.world.val_questions.parent): str(tmp_path / "moved" / "world"),
    }
    commands = {
        name: tuple(moved(token, places) for token in make(inputs)[0]) for name, make in WRITERS.items()
    }
    (tmp_path / "out").mkdir()
    run_all(commands, tmp_path / "out", THERE, tmp_path / "moved")
    for name in WRITERS:
        here, there = (contents(out / name, without=("run.json",)) for out in (usual, tmp_path / "out"))
        assert [one for one in here if here[one] != there.get(one)] == [], name
        assert here.keys() == there.keys(), name


def moved(token: object, places: dict[str, str]) -> object:
    if isinstance(token, int | float):
        return token
    text = str(token)
    for old, new in places.items():
        text = text.replace(old, new)
    return text


def shuffled_list(path: Path, target: Path, key: str) -> None:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    random.Random(3).shuffle(document[key])
    target.write_text(json.dumps(document), encoding="utf-8")


def shuffled_object(path: Path, target: Path, key: str) -> None:
    members = list(json.loads(path.read_text(encoding="utf-8")).items())
    random.Random(3).shuffle(members)
    target.write_text(json.dumps(dict(members)), encoding="utf-8")


def shuffled_lines(path: Path, target: Path, key: str) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    target.write_text("".join(lines), encoding="utf-8")


# Of which input the records come in another order: the command, the option, and how they are shuffled.
ORDERS: dict[str, tuple[str, str, Callable[[Path, Path, str], None], str]] = {
    "rad": ("rad build", "--annotations", shuffled_list, "annotations"),
    "resplit": ("resplit build", "--annotations", shuffled_list, "annotations"),
    "pairs": ("pairs build", "--annotations", shuffled_list, "annotations"),
    "vqa-ce, annotations": ("vqa-ce build", "--val-annotations", shuffled_list, "annotations"),
    "vqa-ce, labels": ("vqa-ce build", "--detections", shuffled_object, ""),
    "fpvg, graphs": ("fpvg build", "--scene-graphs", shuffled_object, ""),
    "fpvg, boxes": ("fpvg build", "--detections", shuffled_lines, ""),
    "swapmix, graphs": ("swapmix build", "--scene-graphs", shuffled_object, ""),
    "swapmix, boxes": ("swapmix build", "--detections", shuffled_lines, ""),
    "gqa-ood": ("gqa-ood build", "--questions", shuffled_object, ""),
    "slices, annotations": ("slices build", "--annotations", shuffled_list, "annotations"),
    "slices, questions": ("slices build", "--questions", shuffled_list, "questions"),
    "pope": ("pope build", "--objects", shuffled_object, ""),
    "swapmix, vectors": ("swapmix build", "--embeddings", shuffled_lines, ""),
}


@pytest.fixture(scope="module")
def shuffled(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build with each of these orders, all in one process: a start takes longer than a build."""
    out = tmp_path_factory.mktemp("shuffled")
    commands: dict[str, Tokens] = {}
    for order, (name, option, shuffle, key) in ORDERS.items():
        tokens = [*WRITERS[name](inputs)[0]]
        at = tokens.index(option) + 1
        path = Path(str(tokens[at]))
        tokens[at] = tmp_path_factory.mktemp("records") / path.name
        shuffle(path, tokens[at], key)
        commands[order] = tuple(tokens)
    run_all(commands, out, HERE, out)
    return out


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_an_inputs_records_changes_its_checksum_alone(
    order: str, usual: Path, shuffled: Path
) -> None:
    name, option, _, _ = ORDERS[order]
    here, there = (contents(out, without=("run.json",)) for out in (usual / name, shuffled / order))
    told, found = (json.loads(one.pop("manifest.json")) for one in (here, there))
    assert [one for one in here if here[one] != there.get(one)] == []
    digests = {}
    for one, other in zip(told["inputs"], found["inputs"], strict=True):
        differing = {what for what in one if one[what] != other[what]}
        digests |= {f"--{one['role'].replace('_', '-')}": differing} if differing else {}
    assert digests.keys() == {option}
    assert digests[option] <= {"sha256", "size"}
    assert told | {"inputs": []} == found | {"inputs": []}
