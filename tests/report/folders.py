"""Folders to report on: the demo's, and VQA-CE builds of a few rows with words of anybody's choice."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import shortcut_miner as sm


@dataclass(frozen=True)
class Folders:
    """The demo's folder, with a folder for each room and its scores."""

    out: Path

    @property
    def page(self) -> Path:
        return self.out / "report.html"

    def table(self, folder: str, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.out / folder / f"{name}.parquet")

    def manifest(self, folder: str) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads((self.out / folder / "manifest.json").read_text())
        return manifest


Row = tuple[str, Sequence[str], str]  # question, labels, answer
PLAIN: Sequence[Row] = [("what is it", ["dog"], "a dog")] * 3 + [("what is it", ["cat"], "a cat")] * 3


def build_rows(folder: Path, train: Sequence[Row], val: Sequence[Row], **options: Any) -> Path:
    """Build VQA-CE on rows of question, labels and answer, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, rows in (("train", train), ("val", val)):
        table = pl.DataFrame(
            {
                "question_id": [f"{name}{position}" for position in range(len(rows))],
                "image_id": [f"{position}" for position in range(len(rows))],
                "question": [question for question, _, _ in rows],
                "labels": [list(labels) for _, labels, _ in rows],
                "answer": [answer for _, _, answer in rows],
            },
            schema_overrides={"labels": pl.List(pl.String)},
        )
        paths[name] = folder / f"{name}.parquet"
        table.write_parquet(paths[name])
    sm.vqa_ce.build(
        table=paths["train"], val_table=paths["val"], out=folder / "built", **({"min_count": 2} | options)
    )
    return folder / "built"


def data_of(page: str, name: str) -> Any:
    """Return what a data script of the page holds."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def text_of(page: str) -> str:
    """Return what a page says without scripts, one blank between words."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", bare)).split())
