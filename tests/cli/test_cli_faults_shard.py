"""Whatever fails while shard writes its folder of work: a rerun completes it, and the rules are the same."""

import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import RunCli, contents, start_cli
from cli.test_cli_faults import check_refused, limited
from cli.writers import Inputs, Tokens

from shortcut_miner.storage import RUN_RECORD


def killed_when(is_time: Callable[[], bool], *tokens: object) -> None:
    """Run a command and kill it at a moment."""
    with start_cli(*tokens) as process:
        while process.poll() is None and not is_time():
            time.sleep(0.001)
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_cutting_into_shards_that_fails_or_is_killed_is_repeated(
    inputs: Inputs, run_cli: RunCli, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    table = inputs.built("vqa-ce") / "questions.parquet"
    limits = ("--min-count", 3, "--shards", 1, "--quiet")
    tokens: Tokens = ("shard", table, "--words", "words", "--objects", "objects", *limits, "--work", work)
    with limited(resource.RLIMIT_FSIZE, 1000):
        check_refused(run_cli(*tokens), str(work))
    killed_when(lambda: any(work.glob("*.arrow*")), *tokens)
    assert run_cli(*tokens).code == 0
    assert run_cli("mine", "--work", work, "--shard", 0, "--threads", 1).code == 0
    for name, folder in (("here", work), ("there", inputs.shards(3))):
        assert run_cli("merge", folder, "--out", tmp_path / name, "--threads", 1).code == 0
    here, there = (contents(tmp_path / name, without=(RUN_RECORD,)) for name in ("here", "there"))
    assert here == there
