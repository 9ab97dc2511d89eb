"""Saying once that kernels compile."""

import os
import time
from pathlib import Path

import pytest
from cli.commands import Ran, options, spawn_cli

from shortcut_miner.cli import kernels

Files = dict[str, Path | None]


def test_an_empty_cache_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert {"match", "mine"} <= set(kernels.kernel_names())
    assert not kernels.are_compiled()
    assert not kernels.are_compiled("mine")
    folder = tmp_path / "kernels_numba_12ab"
    folder.mkdir()
    for name in kernels.kernel_names():
        assert not kernels.are_compiled()
        (folder / f"{name}.first-1.py311.nbi").touch()
        assert kernels.are_compiled(name)
    assert kernels.are_compiled()


def test_a_cache_older_than_its_source_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for name in kernels.kernel_names():
        index = tmp_path / f"{name}.first-1.py311.nbi"
        index.touch()
        past = time.time() - 10 * 365 * 86400
        os.utime(index, (past, past))
        assert not kernels.are_compiled(name)


@pytest.mark.slow
def test_compiling_is_said_once_and_a_build_needs_just_these_files(
    tmp_path: Path, world_files: Files
) -> None:
    cache = tmp_path / "cache"

    def build() -> Ran:
        return spawn_cli("vqa-ce", "build", *options(world_files), "--dry-run", NUMBA_CACHE_DIR=str(cache))

    first = build()
    assert {path.name.split(".")[0] for path in cache.rglob("*.nbi")} == set(kernels.kernel_names())
    second = build()
    assert (first.code, second.code) == (0, 0)
    assert (first.compiled, second.compiled) == (True, False)
    assert (first.err, second.err) == ("", "")
