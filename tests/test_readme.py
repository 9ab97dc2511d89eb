"""The README's Python runs as it stands, in the folder of a demo."""

import re
from pathlib import Path

import pytest

from shortcut_miner.demo.run import run_demo

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_what_needs_an_extra_comes_after_its_install() -> None:
    assert README.index("pip install '.[interop]'") < README.index("import mine_rules, to_mlxtend")


def test_the_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 2
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "my-vqa-ce" / "rules.parquet").is_file()
