"""Whatever fails while a command writes: its folder has the earlier results or the new, and a rerun works."""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.commands import CHECKOUT, Ran, RunCli, contents, start_cli, without_notice
from cli.writers import WRITERS, Inputs, Tokens

from shortcut_miner.cli.run import run
from shortcut_miner.sources.opening import flat_tables, streams
from shortcut_miner.sources.opening.files import FileFacts, file_facts

each_writer = pytest.mark.parametrize("name", WRITERS)
UNCHANGED = "Earlier results are unchanged"


class Case:
    """One command: what it wrote earlier, and what a run with another option is to write there now."""

    def __init__(self, name: str, inputs: Inputs, folder: Path) -> None:
        first, second = WRITERS[name](inputs)
        self.old, self.new = folder / "old", folder / "new"
        self.tokens: Tokens = second
        for tokens, out in ((first, self.old), (second, self.new)):
            assert run([*map(str, tokens), "--out", str(out)]) == 0

    def state(self, out: Path) -> str:
        """Return whether a folder has the earlier files, all of them and nothing else, or the new ones."""
        assert run(["verify", str(out)]) == 0
        found = contents(out, without=("run.json",))
        shown = {name: content for name, content in found.items() if not name.startswith(".")}
        for state, folder in (("old", self.old), ("new", self.new)):
            if shown == contents(folder, without=("run.json",)):
                return state
        raise AssertionError(f"a mixture: {sorted(shown)}")

    def finish(self, run_cli: RunCli, out: Path) -> None:
        """Run the command again, with nothing in its way."""
        ran = run_cli(*self.tokens, "--out", out)
        assert ran.code == 0, ran.err
        assert contents(out, without=("run.json",)) == contents(self.new, without=("run.json",))


Cases = Callable[[str], Case]


@pytest.fixture(scope="module")
def cases(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    made: dict[str, Case] = {}

    def of(name: str) -> Case:
        if name not in made:
            made[name] = Case(name, inputs, tmp_path_factory.mktemp("case"))
        return made[name]

    return of


def check_refused(ran: Ran, told: str) -> None:
    assert ran.code == 2, ran.err
    assert ran.err.startswith(("error: ", "warning: "))
    assert told in ran.err
    assert "Traceback" not in ran.err


# ---- no room ----


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.sample(6)
@each_writer
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_full_disk(name: str, share: float, cases: Cases, run_cli: RunCli, tmp_path: Path) -> None:
    """Room for a share of the new files only."""
    case = cases(name)
    with small_disk(tmp_path / "disk", 8_000_000) as disk:
        out = Path(shutil.copytree(case.old, disk / "out"))
        pages = sum(-(-path.stat().st_size // 4096) for path in case.new.iterdir())
        free = os.statvfs(disk).f_bavail - int(share * pages)
        (disk / "filler").write_bytes(bytes(4096 * free))
        check_refused(run_cli(*case.tokens, "--out", out), "No space left on device")
        assert case.state(out) == "old"
        (disk / "filler").unlink()
        case.finish(run_cli, out)


@contextlib.contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@pytest.mark.sample(4)
@each_writer
@pytest.mark.parametrize("share", [0.1, 0.99])
def test_a_quota(name: str, share: float, cases: Cases, run_cli: RunCli, tmp_path: Path) -> None:
    """No file may be as long as the longest of the new ones is."""
    case = cases(name)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    longest = max(path.stat().st_size for path in case.new.iterdir())
    with limited(resource.RLIMIT_FSIZE, max(2000, int(share * longest))):
        check_refused(run_cli(*case.tokens, "--out", out), UNCHANGED)
    assert case.state(out) == "old"
    case.finish(run_cli, out)


# ---- no permission ----


@pytest.mark.sample(3)
@each_writer
def test_a_disk_that_is_read_only(name: str, cases: Cases, run_cli: RunCli, tmp_path: Path) -> None:
    case = cases(name)
    with small_disk(tmp_path / "disk", 8_000_000) as disk:
        out = Path(shutil.copytree(case.old, disk / "out"))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        check_refused(run_cli(*case.tokens, "--out", out), f"--out {out}: got a folder that can't be written")
        assert case.state(out) == "old"
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        case.finish(run_cli, out)


@pytest.mark.parametrize("name", ["rad build", "fpvg score", "export"])
def test_a_folder_of_somebody_else(name: str, cases: Cases, run_cli: RunCli, tmp_path: Path) -> None:
    case = cases(name)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    out.chmod(0o555)
    try:
        ran = spawned(["setpriv", "--bounding-set=-dac_override,-dac_read_search"], *case.tokens, out=out)
    finally:
        out.chmod(0o755)
    check_refused(ran, f"--out {out}: got a folder that can't be written")
    assert case.state(out) == "old"
    case.finish(run_cli, out)


def spawned(before: list[str], *tokens: object, out: Path) -> Ran:
    """Run a command in a process of its own, started by another program."""
    if before and shutil.which(before[0]) is None:
        pytest.skip(f"needs {before[0]}")
    done = subprocess.run(
        [*before, sys.executable, "-m", "shortcut_miner", *map(str, tokens), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Ran.of(done.returncode, done.stdout, done.stderr)


# ---- few of something ----


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["vqa-ce build", "rad score", "swapmix build", "mine"])
@pytest.mark.parametrize("most", [5, 8, 12])
def test_few_open_files(name: str, most: int, cases: Cases, run_cli: RunCli, tmp_path: Path) -> None:
    case = cases(name)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    ran = spawned(["prlimit", f"--nofile={most}:{most}"], *case.tokens, out=out)
    if ran.code != 0:
        assert (ran.code, "Traceback" in ran.err) == (2, False), ran.err
        assert re.search("too ?many ?open ?files", ran.err, re.IGNORECASE)
    assert case.state(out) == ("old" if ran.code else "new")
    case.finish(run_cli, out)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["vqa-ce build", "vqa-ce score", "swapmix build", "mine"])
@pytest.mark.parametrize("megabytes", [400, 900])
def test_little_address_space(
    name: str, megabytes: int, cases: Cases, run_cli: RunCli, tmp_path: Path
) -> None:
    """Libraries may end the process where no memory can be had: no message then, and no harm."""
    case = cases(name)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    ran = spawned(["prlimit", f"--as={megabytes * 1_000_000}"], *case.tokens, out=out)
    assert ran.code in (0, 2) or ran.code < 0, ran.err
    assert case.state(out) == ("old" if ran.code else "new")
    case.finish(run_cli, out)


# ---- inputs that don't stay ----


@pytest.mark.parametrize("fault", ["changed", "replaced", "gone"])
@pytest.mark.parametrize(
    ("name", "victim"), [("fpvg build", "val_objects.jsonl"), ("mine", "questions.parquet")]
)
def test_an_input_that_is_changed_while_it_is_read(
    name: str,
    victim: str,
    fault: str,
    cases: Cases,
    run_cli: RunCli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is too large to be held is read twice, for its rows and for its digest."""
    case = cases(name)
    (at,) = (at for at, token in enumerate(case.tokens) if isinstance(token, Path) and token.name == victim)
    source = case.tokens[at]
    assert isinstance(source, Path)
    path = Path(shutil.copy(source, tmp_path / victim))
    tokens = (*case.tokens[:at], path, *case.tokens[at + 1 :])

    def spoil(file: Path) -> FileFacts:
        if file == path and fault == "changed":
            with path.open("ab") as more:
                more.write(b"\n")
        elif file == path and fault == "replaced":
            shutil.copy(path, tmp_path / "copy")
            (tmp_path / "copy").replace(path)
        elif file == path:
            path.unlink()
        return file_facts(file)

    for module in (streams, flat_tables):
        monkeypatch.setattr(module, "file_facts", spoil)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    ran = run_cli(*tokens, "--out", out)
    monkeypatch.undo()
    told = "got a file that was changed while it was read"
    if fault == "gone":
        told = "got no such file"
    elif fault == "changed" and name == "mine" and "damaged" in ran.err:  # before its rows were read
        told = "got a damaged Parquet file"  # as what follows the end of Parquet is
    check_refused(ran, f"{path}: {told}")
    assert case.state(out) == "old"
    shutil.copy(source, path)
    assert run_cli(*tokens, "--out", out).code == 0
    assert case.state(out) == "new"


# ---- two at once ----

HOLD = """
import contextlib, sys
from pathlib import Path
from shortcut_miner.claims import claimed
with contextlib.ExitStack() as stack:
    for out in sys.argv[1:]:
        stack.enter_context(claimed(Path(out)))
    print("at work", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def somebody_at_work(out: Path) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        yield process
        process.kill()


@pytest.mark.sample(8)
@each_writer
def test_a_folder_in_which_another_run_is_at_work(
    name: str, cases: Cases, run_cli: RunCli, tmp_path: Path
) -> None:
    case = cases(name)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    with somebody_at_work(out) as other:
        ran = run_cli(*case.tokens, "--out", out)
        told = f"--out {out}: got a folder in which process {other.pid} on {os.uname().nodename} is at work"
        check_refused(ran, told)
        assert case.state(out) == "old"
    case.finish(run_cli, out)  # it was killed: what is left of its claim holds nobody up


def test_two_runs_at_once(cases: Cases, tmp_path: Path) -> None:
    """Of two that start together one is done; the other is refused, or comes after it."""
    case = cases("rad build")
    out = tmp_path / "out"
    tokens = case.tokens[:-1]  # without --force
    with start_cli(*tokens, "--out", out) as one, start_cli(*tokens, "--out", out) as two:
        ends = [(without_notice(process.communicate()[1]), process.returncode) for process in (one, two)]
    assert sorted(code for _, code in ends) in ([0, 0], [0, 2])
    assert all("is at work, expected one run at a time" in err for err, code in ends if code)
    assert case.state(out) == "new"
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


# ---- stopped ----


@pytest.mark.sample(4)
@each_writer
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda one: one.name)
def test_a_run_that_is_killed_while_it_writes(
    name: str, number: signal.Signals, cases: Cases, run_cli: RunCli, tmp_path: Path
) -> None:
    case = cases(name)
    out = Path(shutil.copytree(case.old, tmp_path / "out"))
    with start_cli(*case.tokens, "--out", out) as process:
        while process.poll() is None and not any(out.glob(".shortcut-miner-staging-*/*")):
            time.sleep(0.001)
        process.send_signal(number)
        process.communicate()
    assert process.returncode in (-number, 0)
    state = case.state(out)
    assert process.returncode != 0 or state == "new"
    case.finish(run_cli, out)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]
