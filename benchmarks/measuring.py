"""What the benchmark scripts share: costs of child processes, their inputs, Markdown.

Only the standard library, and on purpose: a child's peak memory starts at that of the process it was
started from, so the measuring process must stay small.
"""

import datetime
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
WORLD_FILES = {
    "train_questions": "v2_OpenEnded_mscoco_train2014_questions.json",
    "train_annotations": "v2_mscoco_train2014_annotations.json",
    "val_questions": "v2_OpenEnded_mscoco_val2014_questions.json",
    "val_annotations": "v2_mscoco_val2014_annotations.json",
    "detections": "image_to_detection.json",
}
REAL_FILES = {
    "train_questions": "questions_train.json.gz",
    "train_annotations": "annotations_train.json.gz",
    "val_questions": "questions_valid.json.gz",
    "val_annotations": "annotations_valid.json.gz",
    "detections": "image_to_detection.json.gz",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job took: seconds elapsed, user + system seconds of all its threads, largest memory."""

    wall: float
    cpu: float
    peak_bytes: int


class ChildError(Exception):
    """A child process failed; the text is the end of what it wrote to stderr."""


def run_child(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> tuple[Cost, str]:
    """Run a command in the checkout; return what it cost, start and exit included, and its stdout.

    Paths among its words may be relative: to the folder that the script was started in.
    The package is that of the checkout, and byte code is cached as for any user.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables = inherited | {"PYTHONPATH": str(CHECKOUT)} | (environment or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(absolute(command), stdout=out, stderr=err, env=variables, cwd=CHECKOUT)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        if child.returncode != 0:
            raise ChildError(f"exit code {child.returncode}: {err.read().decode()[-2_000:].strip()}")
        return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAXRSS_UNIT), out.read().decode()


def absolute(command: Iterable[str | Path]) -> list[str | Path]:
    """Return a command for a child, which runs in the checkout: paths are of the folder we started in."""
    return [one.resolve() if isinstance(one, Path) else one for one in command]


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def median_cost(costs: Iterable[Cost]) -> Cost:
    """Return the median of each figure."""
    costs = list(costs)
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        int(statistics.median(cost.peak_bytes for cost in costs)),
    )


def real_folder() -> Path | None:
    """Return the folder of the real subset: in $SHORTCUT_MINER_DATA or beside the checkout, if there."""
    data = Path(os.environ.get("SHORTCUT_MINER_DATA", CHECKOUT.parent / "shared" / "data"))
    return data / "vqa60k" if (data / "vqa60k").is_dir() else None


def input_files(folder: Path) -> dict[str, Path]:
    """Return the inputs of a build by role: of the real subset or of a generated world."""
    names = REAL_FILES if (folder / REAL_FILES["train_questions"]).exists() else WORLD_FILES
    missing = [name for name in names.values() if not (folder / name).exists()]
    if missing:
        raise SystemExit(f"{folder}: expected a generated world or the real subset; no {', '.join(missing)}")
    return {role: folder / name for role, name in names.items()}


def input_options(folder: Path) -> list[str | Path]:
    """Return the inputs of a build as command-line options."""
    options: list[str | Path] = []
    for role, path in input_files(folder).items():
        options += [f"--{role.replace('_', '-')}", path]
    return options


def generated_world(worlds: Path, scale: float) -> Path:
    """Return the folder of the world of that size in `worlds`, generated if it is not there."""
    folder = worlds / f"world_{scale:g}"
    if not folder.is_dir():
        worlds.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=worlds))
        script = CHECKOUT / "benchmarks" / "vqa_world.py"
        run_child([sys.executable, script, unfinished, "--scale", f"{scale:g}", "--seed", "0"])
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    return folder


def scale_name(scale: float) -> str:
    """Return 0.0625 as 1/16."""
    return f"1/{1 / scale:g}" if scale < 1 else f"{scale:g}"


def header(packages: Iterable[str]) -> str:
    """Return what a number means nothing without: machine, versions, commit, date, command."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    machine = f"{_processor()}, {_cores()} cores, {memory:.0f} GB memory, load {os.getloadavg()[0]:.1f}"
    versions = [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in packages)]
    arguments = [Path(word).name if word.startswith("/") else word for word in sys.argv[1:]]
    script = f"benchmarks/{Path(sys.argv[0]).name}".replace("benchmarks/__main__.py", "-m benchmarks")
    command = " ".join(["python", script, *arguments])
    return "\n".join(
        [
            f"- Machine: {machine}; {platform.system()} {platform.machine()}",
            f"- Versions: {', '.join(versions)}; commit {_commit()}",
            f"- Date: {datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
            f"- Command: `{command}`",
        ]
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _commit() -> str:
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: first column left, the others right."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def seconds(value: float) -> str:
    """Return seconds with three digits that mean something."""
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def megabytes(value: float) -> str:
    """Return bytes as MB, or GB from 1 GB on."""
    return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
