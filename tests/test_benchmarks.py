"""The benchmarks: they are run by hand, but load, and compare with the stored run, at any time."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
FOLDER = CHECKOUT / "benchmarks"
COMPARE = """
import json, sys
from pathlib import Path
from benchmarks.__main__ import Figure, read_stored, result_table, Result, summary
stored = read_stored(Path(sys.argv[1]), sys.argv[2])
figures = {name: Figure(**figure) for name, figure in json.load(open(sys.argv[3])).items()}
result = Result(scale="1/32", runs=1, about=[], memory_speed=1e9, threads=2, figures=figures)
print(result_table(result, stored), summary(figures, stored), sep="\\n")
"""


def run(*words: object, at: Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=at, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_finds_what_it_imports() -> None:
    left_out = {"__main__"} | (set() if find_spec("fim") else {"plain_pipeline"})  # the extra bench
    names = [path.stem for path in FOLDER.glob("*.py") if path.stem not in left_out]
    assert len(names) > 20
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    run("-c", code, *names, at=FOLDER)
    assert "--quick" in run("-m", "benchmarks", "--help", at=CHECKOUT)


def figure(wall: float, cpu: float) -> dict[str, float]:
    return {
        "wall": wall,
        "longest": 2 * wall,
        "cpu": cpu,
        "peak_bytes": 5_000_000,
        "bytes_read": 1_000_000,
        "updates": 2_000_000,
    }


def compared(tmp_path: Path, scale: str) -> list[str]:
    plain = "plain Python + pyfim"
    earlier = {"scale": "1/32", "figures": {"a": figure(1, 1), "b": figure(1, 8), plain: figure(2, 2)}}
    (tmp_path / "stored.json").write_text(json.dumps(earlier))
    now = {"a": figure(0.5, 2), "b": figure(0.25, 4), plain: figure(4, 4), "new": figure(1, 1)}
    (tmp_path / "now.json").write_text(json.dumps(now))
    printed = run("-c", COMPARE, tmp_path / "stored.json", scale, tmp_path / "now.json", at=CHECKOUT)
    return printed.splitlines()


def test_figures_stand_beside_their_limits_and_the_stored_run(tmp_path: Path) -> None:
    """1 MB at 1 GB/s and 2M counters of 1 ns on two threads are 2 ms; a machine half as fast is told."""
    lines = compared(tmp_path, "1/32")
    assert lines[2] == (
        "| a | 0.50 s | 1.00 s | 2.00 s | 5 MB | 1 MB | 2.0M | 2.0 ms | 250 x | 0.50 | 2.00 |"
    )
    assert lines[5].endswith("| 500 x |  |  |")
    assert lines[-1] == (
        "User + sys, to the stored run: 1.00 on average (geometric mean of 2); plain Python + pyfim, the "
        "yardstick, 2.00. Without the machine's speed: 0.50."
    )


def test_a_run_of_another_size_is_not_compared(tmp_path: Path) -> None:
    lines = compared(tmp_path, "1")
    assert lines[2].endswith("| 250 x |  |  |")
    assert lines[-1] == "Nothing stored to compare with."
