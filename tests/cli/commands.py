"""Running commands as real processes, and a tiny world to run them on."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortcut_miner.cli.kernels import COMPILING

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    """What a command did; the notice about compiling, which depends on earlier runs, is told apart."""

    code: int
    out: str
    err: str
    compiled: bool

    @classmethod
    def of(cls, code: int, out: str, err: str) -> "Ran":
        return cls(code, out, without_notice(err), compiled=COMPILING in err)

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def without_notice(err: str) -> str:
    """Return stderr without the notices that kernels compile, and how long it took."""
    return re.sub(r"of that, .* to compile kernels.*\n", "", err.replace(f"{COMPILING}\n", ""))


RunCli = Callable[..., Ran]


def start_cli(*tokens: object, **env: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own.

    It knows nothing of the test processes' turns at compiling: a test asks for `built` too, so that kernels
    are compiled by then.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "shortcut_miner", *map(str, tokens)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def spawn_cli(*tokens: object, **env: str) -> Ran:
    """Run a command in a process of its own, to its end."""
    with start_cli(*tokens, **env) as process:
        out, err = process.communicate(timeout=300)
    return Ran.of(process.returncode, out, err)


def options(files: Mapping[str, Path | None]) -> list[str]:
    """Return files as options of the same names."""
    named = {role: path for role, path in files.items() if path is not None}
    return [text for role, path in named.items() for text in (f"--{role.replace('_', '-')}", str(path))]


def contents(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return every file below a folder, hidden ones too, with its bytes."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in without)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def tiny_world() -> dict[str, Any]:
    """Return the five input files of a build as JSON values: 12 training and 6 validation questions."""
    names = ("train", "val")
    world: dict[str, Any] = {}
    for split, count, first in zip(names, (12, 6), (1000, 2000), strict=True):
        numbers = range(first, first + count)
        world[f"{split}_questions"] = {
            "info": {},
            "questions": [
                {
                    "question_id": n,
                    "image_id": n // 2,
                    "question": f"What {'sport' if n % 3 else 'color'} is it?",
                }
                for n in numbers
            ],
        }
        world[f"{split}_annotations"] = {"info": {}, "annotations": [_annotation(n) for n in numbers]}
    world["detections"] = {
        str(image): {"classes": ["ball", "cat"][: image % 3], "scores": [0.9, 0.4][: image % 3]}
        for n in (*range(1000, 1012), *range(2000, 2006))
        for image in [n // 2]
    }
    return world


def _annotation(number: int) -> dict[str, Any]:
    answer = ("tennis" if number % 2 else "golf") if number % 3 else "red"
    return {
        "question_id": number,
        "image_id": number // 2,
        "question_type": "what",
        "answer_type": "other",
        "multiple_choice_answer": answer,
        "answers": [
            {"answer": answer, "answer_confidence": "yes", "answer_id": place} for place in range(1, 11)
        ],
    }


def write_world(world: Mapping[str, Any], folder: Path) -> dict[str, Path | None]:
    """Write values (JSON, or bytes as they are) into files named like their option."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path | None] = {}
    for role, value in world.items():
        files[role] = path = folder / f"{role}.json"
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return files
