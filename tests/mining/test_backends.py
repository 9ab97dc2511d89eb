"""Backends: which one is chosen, that its jobs are used throughout, and that twins cannot drift apart."""

import dataclasses
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain import skewed_rows
from strategies import encode

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce import sweep
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs
from shortcut_miner.diagnostics.vqa_ce.shortcuts import find_shortcuts
from shortcut_miner.errors import BackendError, ConfigError
from shortcut_miner.mining import backends, filters, matcher, miner
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.backends import Backend, choose_backend, resolve_backend
from shortcut_miner.mining.evidence import row_sums, subsets
from shortcut_miner.mining.frames.tables import match_rule_pairs, match_rules, mine_rules
from shortcut_miner.mining.search import search_rules

PUBLIC = (miner, filters, matcher, row_sums, subsets)
ROLES = ("train_questions", "train_annotations", "val_questions", "val_annotations")
JOBS = [field.name for field in dataclasses.fields(Backend) if field.name != "name"]


def write_cupy(folder: Path, device_count: str, array: str = "None", version: str = "14.1.0") -> None:
    """Write a package of that name that answers how many devices there are, and makes an array on one."""
    (folder / "cupy").mkdir()
    (folder / "cupy" / "__init__.py").write_text(
        f"""
__version__ = {version!r}
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: {device_count})
def arange(stop):
    return {array}
def fail(message):
    raise RuntimeError(message)
"""
    )


def public(job: str) -> Callable[..., Any]:
    (found,) = (getattr(module, job) for module in PUBLIC if hasattr(module, job))
    return found


@pytest.mark.parametrize("job", JOBS)
def test_jobs_have_the_parameters_and_defaults_of_the_public_functions(job: str) -> None:
    parameters = list(inspect.signature(public(job)).parameters.values())
    assert (parameters[-1].name, parameters[-1].default) == ("backend", "auto")
    expected = [(parameter.name, parameter.default) for parameter in parameters[:-1]]
    for name, known in backends._KNOWN.items():
        given = inspect.signature(getattr(backends._loaded(known.jobs), job)).parameters.values()
        assert [(parameter.name, parameter.default) for parameter in given] == expected, name


class TestResolve:
    def test_auto_says_what_it_chose(self) -> None:
        chosen = resolve_backend()
        assert chosen.name in backends._KNOWN
        assert chosen is resolve_backend("auto") is resolve_backend(chosen.name) is resolve_backend(chosen)
        assert resolve_backend("numba").name == "numba"

    def test_an_unknown_name(self) -> None:
        with pytest.raises(ConfigError) as error:
            mine_rules([["a"]], ["x"], backend="torch")
        assert str(error.value) == (
            "backend: got 'torch', expected one of auto, cupy, numba. Choose one of these."
        )

    def test_a_library_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cupy", None)
        with pytest.raises(BackendError) as error:
            resolve_backend("cupy")
        assert str(error.value) == (
            "backend cupy: got no cupy, expected all that it needs. "
            'Run pip install "cupy-cuda12x[ctk]>=14.1" on a machine with an NVIDIA GPU and its driver, '
            "or choose another backend."
        )
        assert str(choose_backend("auto")) == "backend: numba (no cupy)"
        assert str(choose_backend("numba")) == "backend: numba (asked for)"

    @pytest.mark.parametrize(
        ("cupy", "lack"),
        [
            (("0",), "no CUDA device"),
            (("fail('cudaErrorNoDevice: none')",), "no CUDA device (cudaErrorNoDevice: none)"),
            (("1", "fail('no headers')"), "no CUDA device that computes (no headers)"),
            (("1", "None", "14.0.1"), "CuPy 14.0.1"),
            (("1", "None", "9.6.0"), "CuPy 9.6.0"),
        ],
    )
    def test_no_device_that_answers(
        self, cupy: tuple[str, ...], lack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_cupy(tmp_path, *cupy)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(sys.modules, "cupy", None)  # so that what is imported here is forgotten again
        monkeypatch.delitem(sys.modules, "cupy")
        with pytest.raises(BackendError) as error:
            resolve_backend("cupy")
        assert str(error.value) == (
            f"backend cupy: got {lack}, expected all that it needs. "
            'Run pip install "cupy-cuda12x[ctk]>=14.1" on a machine with an NVIDIA GPU and its driver, '
            "or choose another backend."
        )
        assert str(choose_backend("auto")) == f"backend: numba ({lack})"

    def test_a_device_that_answers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_cupy(tmp_path, "1", version="15.0.0rc1")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(sys.modules, "cupy", None)  # so that what is imported here is forgotten again
        monkeypatch.delitem(sys.modules, "cupy")
        assert str(choose_backend("auto")) == "backend: cupy (a CUDA device answers)"
        assert str(choose_backend("cupy")) == "backend: cupy (asked for)"
        monkeypatch.delitem(sys.modules, "cupy")

    def test_no_library_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for library in ("cupy", "numba"):
            monkeypatch.setitem(sys.modules, library, None)
        for name in ("auto", "numba"):
            with pytest.raises(BackendError) as error:
                resolve_backend(name)
            assert str(error.value) == (
                "backend numba: got no numba, expected all that it needs. "
                "Run pip install numba, or choose another backend."
            )


class TestTheChosenBackendDoesAllTheWork:
    @pytest.fixture
    def used(self) -> set[str]:
        return set()

    @pytest.fixture
    def spy(self, used: set[str], monkeypatch: pytest.MonkeyPatch) -> Backend:
        """Return a backend that notes which jobs are asked for; any other is out of reach."""
        numba = resolve_backend("numba")
        monkeypatch.setattr(backends, "_KNOWN", {})

        def noted(job: str) -> Callable[..., Any]:
            def do(*arguments: Any) -> Any:
                used.add(job)
                return getattr(numba, job)(*arguments)

            return do

        return Backend(name="spy", **{job: noted(job) for job in JOBS})

    def test_in_frames(self, spy: Backend, used: set[str]) -> None:
        rows, answers = [["a", "b"], ["a", "b"], ["b"]], ["x", "x", "y"]
        rules = mine_rules(rows, answers, min_count=1, superset_filter="all", backend=spy)
        assert match_rules(rules, rows, answers, backend=spy)["matching_rule_count"].to_list() == [2, 2, 1]
        assert len(match_rule_pairs(rules, rows, backend=spy)) == 5
        assert used == {"mine_antecedents", "dropped_by_subset", "match_totals", "match_pairs"}

    @pytest.mark.parametrize("preset", ["code", "paper"])
    def test_in_a_build(self, spy: Backend, used: set[str], preset: str) -> None:
        found = find_shortcuts(*self.questions(), None, self.config(preset), backend=spy)
        assert found.backend == "spy"
        assert found.evidence is not None
        assert used >= {*JOBS} - {"match_pairs", "mine_first_items", "sum_where_fired"}  # no shards here
        assert ("match_pairs" in used) == (preset == "paper")  # whose classifier weighs all firing rules

    def test_in_a_sweep(self, spy: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        train, val = self.questions()
        inputs = VqaCeInputs(train, val, None, InputFacts.of({}))
        monkeypatch.setattr(sweep, "read_inputs", lambda *_: inputs)
        files = VqaCeFiles(**{role: Path("unread") for role in ROLES})
        options: dict[str, Any] = {"min_counts": [2, 4], "min_confidences": [0.3], "scorer": "exact"}
        config = VqaCeConfig(preset="paper", items="words")
        swept = sweep.sweep(files, config, **options, backend=spy)
        # nothing, what, room -> bath; sport -> golf; is, it -> no
        assert swept.sweep["rules"].to_list() == [6, 3]

    @staticmethod
    def config(preset: str) -> VqaCeConfig:
        return VqaCeConfig(preset=preset, items="words", min_count=2)  # type: ignore[arg-type]

    @staticmethod
    def questions() -> tuple[pl.DataFrame, pl.DataFrame]:
        texts, answers = ["what room", "what sport", "what room", "is it"], ["bath", "golf", "bath", "no"]
        split = pl.DataFrame(
            {
                "question_id": [str(number) for number in range(12)],
                "image_id": [str(number) for number in range(12)],
                "question": texts * 3,
                "answer": answers * 3,
                "answers": [[answer] for answer in answers * 3],
                "question_type": ["what", "what", "what", "is"] * 3,
            }
        )
        return split, split.head(5)


class TestTheChain:
    TRANSACTIONS = encode(skewed_rows(120, 12, seed=1))

    def test_dropped_rules_are_there_if_wanted(self) -> None:
        config = SearchConfig(min_count=3, min_confidence=0.4, superset_filter="immediate")
        without = search_rules(self.TRANSACTIONS, config)
        found = search_rules(self.TRANSACTIONS, config, keep_dropped=True)
        everything = search_rules(
            self.TRANSACTIONS, SearchConfig(min_count=3, min_confidence=0.4, superset_filter="none")
        )
        assert len(without.dropped_rules) == 0 < len(found.dropped_rules)
        assert len(found.rules) == len(without.rules) == found.confident_count - len(found.dropped_rules)
        assert found.confident_count == len(everything.rules) == everything.confident_count
        assert found.backend == resolve_backend().name
        for rules in (found.rules, found.dropped_rules):
            confidence = rules.rule_count / rules.antecedent_count
            assert (np.diff(confidence) <= 0).all()

    def test_a_cut_search_is_a_result_only_on_request(self) -> None:
        config = SearchConfig(min_count=3, max_rules=20, min_confidence=0.4)
        with pytest.raises(ConfigError, match=r"^max_rules: got more than 20 antecedents, expected at most"):
            search_rules(self.TRANSACTIONS, config)
        found = search_rules(self.TRANSACTIONS, config, allow_incomplete=True)
        assert not found.antecedents.is_complete

    def test_stages_are_timed_and_told(self) -> None:
        told: list[str] = []
        costs: list[Any] = []
        search_rules(
            self.TRANSACTIONS,
            SearchConfig(superset_filter="all"),
            costs=costs,
            on_stage=told.append,
        )
        assert told == [cost.stage for cost in costs] == ["mine", "filter"]
