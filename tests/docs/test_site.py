"""The site has all pages, and the exactness page names tests that exist, and numbers that they assert."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?:(?P<number>[^|]+) \| )?`(?P<test>tests/[^`]+)`", re.MULTILINE)


class Claim(NamedTuple):
    what: str
    number: str
    file: str
    test: str


def claims() -> list[Claim]:
    text = (DOCS / "reference" / "exactness.md").read_text(encoding="utf-8")
    found = []
    for row in ROW.finditer(text):
        file, _, test = row["test"].partition("::")
        found.append(Claim(row["what"], row["number"] or "", file, test))
    return found


def test_there_are_claims() -> None:
    rows = (DOCS / "reference" / "exactness.md").read_text(encoding="utf-8").count("`tests/")
    assert len(claims()) == rows > 30


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.what)
def test_a_test_asserts_it(claim: Claim) -> None:
    source = (CHECKOUT / claim.file).read_text(encoding="utf-8")
    assert f"def {claim.test}(" in source if claim.test else "def test_" in source
    without_underscores = re.sub(r"(?<=\d)_(?=\d)", "", source)
    for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?", claim.number):
        digits = re.escape(number.replace(",", ""))
        assert re.search(rf"(?<![\d.]){digits}(?!\d)", without_underscores), number


def pages(nav: list[Any]) -> Iterator[str]:
    for one in nav:
        if isinstance(one, str):
            yield one
        else:
            for value in one.values():
                yield from pages(value) if isinstance(value, list) else [value]


def test_every_page_is_in_the_navigation() -> None:
    config = yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = [*pages(config["nav"])]
    assert len(listed) == len({*listed})
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    notebooks = {f"notebooks/{path.stem}.md" for path in (CHECKOUT / "notebooks").glob("*.ipynb")}
    cards = {
        f"cards/{path.parent.name.replace('_', '-')}.md"
        for path in (CHECKOUT / "shortcut_miner" / "diagnostics").glob("*/README.md")
    }
    project = {"index.md", "changes.md", "contributing.md", "benchmarks.md"}
    assert {*listed} == written | notebooks | cards | project
