"""Questions that break exports: texts that other programs take for nothing, and ids of all kinds."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from strategies import NO_IDS

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of
from shortcut_miner.schemas import Questions

# What CSV readers, spreadsheets and YAML take for nothing, a number or a truth value, and what breaks lines.
HARD_TEXTS = (
    "n/a", "null", "None", "NA", "nan", "1.0", "007", "1e5", "yes", "no", "true", "", " ", "-", "~",
    'a "quoted" one', "it's, a; list", "tab\there", "line\nbreak", "return\r\nline", "back\\slash", "{}[]",
    "Straße", "自転車", "🚲", "e\u0301", "\u2028", "zero\x00byte", "=1+1", "#", "%s {0}", "</script>",
)  # fmt: skip

ids = st.one_of(
    st.integers(0, 10**18 - 1).map(str),
    st.from_regex(r"n[0-9a-z]{1,8}", fullmatch=True).filter(lambda text: text not in NO_IDS),
    st.integers(0, 99_999).map(lambda number: f"0{number}"),
)
texts = st.one_of(st.sampled_from(HARD_TEXTS), st.text(max_size=12))


@st.composite
def answer_lists(draw: st.DrawFn) -> tuple[list[str], list[int] | None]:
    """Draw annotators' answers, and their records' numbers as they are read: dense, null if all differ."""
    answers = draw(st.lists(texts, max_size=10))
    drawn = draw(st.lists(st.integers(0, 3), min_size=len(answers), max_size=len(answers)))
    order = list(dict.fromkeys(drawn))
    keys = [order.index(one) for one in drawn]
    return answers, keys if len(order) < len(keys) else None


@st.composite
def question_tables(draw: st.DrawFn, *, numbers: bool = False) -> pl.DataFrame:
    """Draw schemas.Questions with an answer each; all ids are whole numbers if `numbers`."""
    some = st.integers(0, 10**18 - 1).map(str) if numbers else ids
    rows = []
    for question_id in draw(st.lists(some, min_size=1, max_size=5, unique=True)):
        answers, keys = draw(answer_lists())
        rows.append(
            {
                "question_id": question_id,
                "image_id": draw(some),
                "question": draw(texts.filter(str.strip)),
                "question_type": draw(st.none() | texts),
                "answer_type": draw(st.none() | texts),
                "answer": draw(texts),
                "answers": answers,
                "answer_record_key": keys,
                "split": draw(st.none() | texts),
            }
        )
    return pl.DataFrame(rows, schema=Questions.create_empty().schema)


def sets_of(table: pl.DataFrame, *more: str) -> QuestionSets:
    """Return one set of one split, and the same table under further names."""
    return several({"vqa-ce": dict.fromkeys(("easy", *more), table)})


def several(sets: Mapping[str, Mapping[str, pl.DataFrame]]) -> QuestionSets:
    return question_sets_of(
        Path("built"),
        command="vqa-ce build",
        title="VQA-CE subsets",
        sets=sets,
        read_back="vqa-ce score built --predictions {predictions}",
    )


def hard_table() -> pl.DataFrame:
    """Return a question with each hard text as its answer, in its list of answers, and in the question."""
    rows = [
        {
            "question_id": str(1000 + number),
            "image_id": str(number // 3),
            "question": f"What is {text}?",
            "answer": text,
            "answers": [text, *HARD_TEXTS[:9]],
        }
        for number, text in enumerate(HARD_TEXTS)
    ]
    return pl.DataFrame(rows, schema=Questions.create_empty().schema)


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def official(annotations: Path, results: dict[str, str]) -> float:
    """Return the mean accuracy by the official rule, for answers that need no normalisation."""
    total = Fraction(0)
    records = content(annotations)["annotations"]
    for one in records:
        said = results[str(one["question_id"])]
        points = []
        for record in one["answers"]:
            others = [other for other in one["answers"] if other != record]
            points.append(min(Fraction(1), Fraction(sum(other["answer"] == said for other in others), 3)))
        total += sum(points) / len(points)
    return float(100 * total / len(records))


_LOAD = """
import os, sys, warnings
import datasets
import pyarrow.parquet as pq
folder, cache, out, *wanted = sys.argv[1:]
datasets.disable_progress_bars()
for config in wanted or datasets.get_dataset_config_names(folder):
    found = datasets.load_dataset(folder, *([] if config == "(default)" else [config]), cache_dir=cache)
    for split, rows in found.items():
        for name, feature in rows.features.items():
            if type(feature).__name__ == "Image":
                sizes = [None if one is None else one.size for one in rows[name]]
                print("image", config, split, name, sizes, sep="|")
                rows = rows.cast_column(name, datasets.Image(decode=False))
        pq.write_table(rows.data.table, os.path.join(out, f"{config}|{split}.parquet"))
"""


def loaded(folder: Path, scratch: Path, *configs: str) -> tuple[dict[tuple[str, str], pl.DataFrame], str]:
    """Return what ``datasets.load_dataset`` gives: (configuration, split) -> rows, and what was printed.

    In a process of its own, without a network: the library warns, and keeps what it has read. Without
    names all configurations are opened; "(default)" is the one that opens without a name.
    """
    out = scratch / f"loaded-{len(list(scratch.iterdir()))}"
    out.mkdir()
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(scratch / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(folder), str(scratch / "cache"), str(out), *configs],
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    tables = {}
    for path in out.iterdir():
        config, split = path.stem.split("|")
        tables[config, split] = pl.read_parquet(path)
    return tables, done.stdout
