"""Where compiled kernels are kept: never where another user could put code."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from shortcut_miner import kernel_cache
from shortcut_miner.errors import ConfigError

PACKAGE = Path(kernel_cache.__file__).parent


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of sources, whose user has a home and a folder of temporary files of his own."""
    for name in ("home", "tmp", "kernels"):
        (tmp_path / name).mkdir(mode=0o755)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # so that it is put back
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", "")
    return tmp_path / "kernels"


def private(sources: Path) -> Path:
    return sources.parent / "tmp" / f"shortcut-miner-{os.getuid()}"


def test_numba_looks_in_the_same_folders_in_the_same_order(sources: Path) -> None:
    from numba.core import caching

    file = sources / "one.py"
    file.write_text("def f(): pass\n")
    code = compile(file.read_text(), str(file), "exec")
    space: dict[str, object] = {}
    exec(code, space)
    locators = (caching.InTreeCacheLocator, caching.UserWideCacheLocator)
    theirs = [one.from_function(space["f"], str(file)).get_cache_path() for one in locators]
    if sys.platform != "darwin":
        assert [str(path) for path in kernel_cache.cache_folders(sources)] == theirs
    provided = caching.CacheImpl._locator_classes[:3]
    assert [one.__name__ for one in provided] == [
        "UserProvidedCacheLocator",
        "InTreeCacheLocator",
        "UserWideCacheLocator",
    ]


def test_a_named_folder_comes_first(sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from numba.core import caching, config

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "named"))
    file = sources / "one.py"
    file.write_text("")
    theirs = caching.UserProvidedCacheLocator(kernel_cache.prepare, str(file)).get_cache_path()
    assert str(kernel_cache.cache_folders(sources)[0]) == theirs


def test_a_folder_of_ones_own_is_left_to_numba(sources: Path) -> None:
    assert kernel_cache.prepare(sources) is None
    assert "NUMBA_CACHE_DIR" not in os.environ


def test_where_nothing_can_be_written_a_private_folder_is_named(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache, "_can_be_written", lambda folder: False)
    assert kernel_cache.prepare(sources) == (
        f"compiled kernels are kept in {private(sources)}: neither the program's folder nor the user's cache "
        "can be written. Set NUMBA_CACHE_DIR to a folder of your own to choose."
    )
    from numba.core import config

    assert os.environ["NUMBA_CACHE_DIR"] == config.CACHE_DIR == str(private(sources))
    assert stat.S_IMODE(private(sources).stat().st_mode) == 0o700
    monkeypatch.undo()


def test_a_user_without_a_home(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])
    assert kernel_cache.cache_folders(sources) == [sources / "__pycache__"]
    assert kernel_cache.prepare(sources) is None


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_a_cache_that_others_can_write_is_not_used(sources: Path, mode: int) -> None:
    (sources / "__pycache__").mkdir()
    (sources / "__pycache__").chmod(mode)
    assert kernel_cache.prepare(sources) == (
        f"compiled kernels are kept in {private(sources)}: {sources / '__pycache__'} can be written by other "
        "users. Set NUMBA_CACHE_DIR to a folder of your own to choose."
    )


def test_a_group_that_is_the_users_own_is_nobody_else(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sources / "__pycache__").mkdir()
    (sources / "__pycache__").chmod(0o775)
    monkeypatch.setattr(kernel_cache, "_is_own_group", lambda number: True)
    assert kernel_cache.prepare(sources) is None
    monkeypatch.setattr(kernel_cache, "_is_own_group", lambda number: False)
    assert "can be written by other users" in (kernel_cache.prepare(sources) or "")


@pytest.mark.parametrize("taken", ["link", "file", "open"])
def test_a_name_that_someone_else_took_is_not_trusted(
    sources: Path, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    monkeypatch.setattr(kernel_cache, "_can_be_written", lambda folder: False)
    if taken == "link":
        private(sources).symlink_to(sources)
    elif taken == "file":
        private(sources).touch()
    else:
        private(sources).mkdir(mode=0o700)
        private(sources).chmod(0o770)
    assert kernel_cache.prepare(sources) is not None
    chosen = Path(os.environ["NUMBA_CACHE_DIR"])
    assert chosen.parent == private(sources).parent
    assert chosen != private(sources)
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o700


def test_without_any_folder_it_is_told(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "_can_be_written", lambda folder: False)
    monkeypatch.setattr(tempfile, "tempdir", str(sources / "nowhere"))
    with pytest.raises(ConfigError) as error:
        kernel_cache.prepare(sources)
    assert str(error.value) == (
        "NUMBA_CACHE_DIR: got no folder that can be written for compiled kernels (No such file or "
        "directory), expected one. Set NUMBA_CACHE_DIR or TMPDIR to a folder of your own."
    )


def test_a_read_only_install_and_home(tmp_path: Path) -> None:
    """A copy of the program that can't be written, and no home: kernels load, and one is compiled."""
    as_owner: list[str] = []
    if os.getuid() == 0:  # root may write everywhere, unless it lets go of that
        if shutil.which("setpriv") is None:
            pytest.skip("needs setpriv where root runs the tests")
        as_owner = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    install = tmp_path / "install"
    kept = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, install / PACKAGE.name, ignore=kept)
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    folders = [tmp_path / "home", install, *(path for path in install.rglob("*") if path.is_dir())]
    code = (
        "import numpy as np\n"
        "from shortcut_miner.mining.kernels_numba.rows import add_totals\n"
        "print(add_totals.py_func.__code__.co_filename)\n"
        "offsets, items = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)\n"
        "totals = np.zeros(2, np.int64)\n"
        "classes, weights = np.zeros(2, np.int32), np.ones(2, np.int64)\n"
        "add_totals(offsets, items, classes, weights, totals, np.zeros(1, np.int64))\n"
        "print(totals.tolist())\n"
        "print(add_totals.stats.cache_path)\n"
    )
    env = {
        **os.environ,
        "PYTHONPATH": str(install),
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        env.pop(name, None)
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = subprocess.run(
            [*as_owner, sys.executable, "-c", code],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    source, totals, where = done.stdout.splitlines()
    assert source.startswith(str(install))
    assert totals == "[1, 2]"
    assert where.startswith(str(tmp_path / "tmp" / f"shortcut-miner-{os.getuid()}" / "kernels_numba_"))
    assert [*Path(where).glob("rows.add_totals-*.nbi")]


def test_kernels_of_other_sources_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their index names tuples that may be gone, which numba can't read then."""
    sources = tmp_path / "package" / "kernels"
    sources.mkdir(parents=True)
    tuples, plain = sources.parent / "arrays.py", sources.parent / "other.py"
    for path in (tuples, plain, sources / "mine.py"):
        path.write_text("class A(NamedTuple): ..." if path == tuples else "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    folder = kernel_cache.cache_folders(sources)[0]

    def is_kept_after(path: Path, text: str) -> bool:
        compiled = [folder / "mine.f.nbi", folder / "mine.f.1.nbc"]
        for one in compiled:
            one.touch()
        path.write_text(text)
        assert kernel_cache.prepare(sources) is None
        assert compiled[0].exists() == compiled[1].exists()
        return compiled[0].exists()

    assert kernel_cache.prepare(sources) is None
    assert is_kept_after(plain, "changed = True")
    assert not is_kept_after(tuples, "class B(NamedTuple): ...")
    assert not is_kept_after(sources / "mine.py", "changed = True")
    assert is_kept_after(plain, "changed = False")
