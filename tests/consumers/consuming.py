"""Running a consumer's commands as exports print them, without a network."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class Built:
    """Folders of two rooms, built from a demo world."""

    vqa_ce: Path
    rad: Path


@dataclass(frozen=True)
class Consumer:
    """A program, by the Python that has it."""

    python: Path

    def run(self, commands: str, work: Path, *paths: Path) -> str:
        """Run lines for a shell, and return what they print; `paths` are looked through for modules."""
        changed = dict.fromkeys(OFFLINE, "1") | {
            "HF_HOME": str(work / "cache"),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "COLUMNS": "200",
        }
        return run_lines(commands, work, self.python.parent, changed)


def run_lines(
    commands: str, work: Path, programs: Path, changed: dict[str, str], codes: tuple[int, ...] = (0,)
) -> str:
    environment = os.environ | changed | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


def scores(read_back: str, work: Path) -> Any:
    """Return what a printed command for reading back prints as JSON; 3 says that questions were left out."""
    command, programs = f"{read_back} --resamples 10 --format json", Path(sys.executable).parent
    return json.loads(run_lines(command, work, programs, {}, codes=(0, 3)))["scores"]


def quoted(path: Path) -> str:
    return shlex.quote(str(path))
