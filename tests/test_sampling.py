"""What the every-day run leaves out; a run of everything, or of what is named, leaves out nothing."""

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import sampled

HERE = Path(__file__).parent
SUITE = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("n", range(2))
def test_slow(n): pass

@pytest.mark.sample(3)
@pytest.mark.parametrize("command", [f"command {n}" for n in range(10)])
@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_sampled(command, share): pass

@pytest.mark.parametrize("n", range(4))
def test_usual(n): pass
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout with this suite's conftest.py and settings, and a few tests."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "shortcut_miner" / "mining").mkdir(parents=True)
    (folder / "shortcut_miner" / "mining" / "arrays.py").touch()
    (folder / "tests").mkdir()
    (folder / "tests" / "test_few.py").write_text(SUITE)
    for name in ("conftest.py", "sampling.py", "compiling.py"):
        shutil.copy(HERE / name, folder / "tests")
    shutil.copy(HERE.parent / "pyproject.toml", folder)
    return folder


def run(suite: Path, *words: str) -> tuple[dict[str, int], int]:
    """Run the suite, and return how many cases of each test were run and how many were left out."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-vv", *words]
    done = subprocess.run(command, cwd=suite, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.findall(r"test_few\.py::(\w+)\[.*PASSED|PASSED.*test_few\.py::(\w+)\[", done.stdout)
    names = sorted(first or second for first, second in ran)
    left_out = re.search(r"(\d+) deselected", done.stdout)
    counts = {name: len([*cases]) for name, cases in itertools.groupby(names)}
    return counts, int(left_out[1]) if left_out else 0


ALL = {"test_sampled": 30, "test_slow": 2, "test_usual": 4}


@pytest.mark.parametrize("processes", ["0", "2"])
def test_the_suite_is_run_without_what_is_slow_and_with_samples(suite: Path, processes: str) -> None:
    assert run(suite, "-n", processes) == ({"test_sampled": 3, "test_usual": 4}, 29)


def test_everything_and_what_is_named_run_whole(suite: Path) -> None:
    assert run(suite, "-n", "2", "--everything") == (ALL, 0)
    assert run(suite, "-n", "2", "tests/test_few.py::test_slow") == ({"test_slow": 2}, 0)


def test_words_choose_among_what_is_run(suite: Path) -> None:
    assert run(suite, "-n", "0", "-k", "sampled") == ({"test_sampled": 3}, 33)


@given(st.text(), st.integers(1, 300), st.integers(1, 20))
def test_a_sample_has_as_many_cases_as_asked_for(name: str, size: int, count: int) -> None:
    taken = sampled(name, size, count)
    assert len(taken) == min(size, count)
    assert taken <= {*range(size)}


@given(st.text(), st.integers(1, 40), st.integers(1, 40), st.integers(1, 20))
def test_a_sample_of_a_product_differs_in_what_changes_first(
    name: str, first: int, then: int, count: int
) -> None:
    taken = sampled(name, first * then, count)
    assert len({at % first for at in taken}) == min(first, count)


@given(st.text(), st.sampled_from([(28, 3), (3, 28), (28, 2), (2, 28)]))
def test_a_sample_of_a_product_differs_in_both(name: str, sizes: tuple[int, int]) -> None:
    first, then = sizes
    taken = sampled(name, first * then, 6)
    assert len({at % first for at in taken}) == min(first, 6)
    assert len({at // first for at in taken}) >= min(then, 5)


def test_several_functions_take_different_cases() -> None:
    functions = [f"tests/test_rooms.py::test_{number}" for number in range(20)]
    assert set().union(*(sampled(one, 9, 2) for one in functions)) == {*range(9)}
