"""A plan read by question: the rows of its table, from any row groups, in any order, in any process."""

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shortcut_miner as sm
from shortcut_miner.demo import write_demo_world
from shortcut_miner.demo.swapmix import run_swapmix
from shortcut_miner.diagnostics.swapmix.plan_reader import PlanReader, scan_plan
from shortcut_miner.errors import ConfigError, SourceError


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plan in row groups of 700 rows, across whose borders some questions lie."""
    out = tmp_path_factory.mktemp("demo")
    run_swapmix(write_demo_world(out / "world"), out)
    path = out / "swapmix" / "swaps.parquet"
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata
    pq.write_table(table.replace_schema_metadata(metadata), path, row_group_size=700)
    return out


@pytest.fixture(scope="module")
def plan(demo: Path) -> pl.DataFrame:
    return pl.read_parquet(demo / "swapmix" / "swaps.parquet")


def test_rows_of_a_question_are_those_of_the_table(demo: Path, plan: pl.DataFrame) -> None:
    reader = scan_plan(demo / "swapmix")
    parts = plan.partition_by("question_id", maintain_order=True, as_dict=True)
    assert [(one,) for one in reader.question_ids] == [*parts]
    across = 0
    for (question_id,), expected in parts.items():
        assert_frame_equal(reader.frame(str(question_id)), expected)
        across += len(expected) > 1 and len(reader._groups) == 2
    assert across
    first = plan["question_id"][0]
    assert reader.rows(first) == plan.filter(question_id=first).to_dicts()


@given(st.data())
def test_any_rows_in_any_order(demo: Path, plan: pl.DataFrame, data: st.DataObject) -> None:
    reader = scan_plan(demo / "swapmix", columns=["perturbation", "donor_image_id"], groups=1)
    for _ in range(4):
        first = data.draw(st.integers(0, len(plan)))
        stop = data.draw(st.integers(first, min(len(plan), first + 2000)))
        found = pl.DataFrame(pl.from_arrow(reader.table(first, stop)))
        expected = plan[first:stop].select("perturbation", "donor_image_id")
        assert len(found) == len(expected)
        if len(expected):
            assert found.rows() == expected.rows()


def test_only_few_row_groups_are_kept(demo: Path) -> None:
    reader = scan_plan(demo / "swapmix", groups=2)
    most = 0
    for one in reader.question_ids:
        reader.rows(one)
        most = max(most, len(reader._groups))
    assert most == 2 < pq.read_metadata(demo / "swapmix" / "swaps.parquet").num_row_groups


def read_one(given: tuple[PlanReader, str]) -> Any:
    reader, question_id = given
    return reader.rows(question_id)


@pytest.mark.sample(1)
@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_every_process_opens_the_file_for_itself(demo: Path, start: str) -> None:
    reader = scan_plan(demo / "swapmix")
    ids = reader.question_ids[:40:10]
    here = [reader.rows(one) for one in ids]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start)) as pool:
        assert [*pool.map(read_one, [(reader, one) for one in ids])] == here
    assert pickle.loads(pickle.dumps(reader))._file is None


def test_epochs_of_a_training_plan(demo: Path, tmp_path: Path) -> None:
    world = demo / "world"
    sm.swapmix.build(
        questions=world / "val_balanced_questions.json", scene_graphs=world / "val_sceneGraphs.json",
        detections=world / "val_objects.jsonl", embeddings=world / "word_vectors.txt",
        plan="training", epochs=2, out=tmp_path / "plan", limit=40, swap_probability=0.1,
    )  # fmt: skip
    for epoch in (0, 1):
        table = pl.read_parquet(tmp_path / "plan" / f"training_epoch_{epoch:03d}.parquet")
        reader = scan_plan(tmp_path / "plan", epoch=epoch)
        counts = np.diff(reader.starts)
        assert (counts == 0).any()  # no object of some question is swapped
        for one, count in zip(reader.question_ids, counts, strict=True):
            expected = table.filter(question_id=one)
            assert len(expected) == count
            assert reader.rows(one) == expected.to_dicts()
    for epoch in (None, 2):
        with pytest.raises(ConfigError, match="expected one of the 2 epochs, from 0"):
            scan_plan(tmp_path / "plan", epoch=epoch)
    with pytest.raises(ConfigError, match="epoch: got 0, expected none with this plan"):
        scan_plan(demo / "swapmix", epoch=0)


def test_what_does_not_fit_is_told(demo: Path, plan: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"question_id: got 'x', expected one of the .* questions of"):
        scan_plan(demo / "swapmix").rows("x")
    with pytest.raises(SourceError, match="expected 3 as questions"):
        PlanReader(demo / "swapmix" / "swaps.parquet", ["a"], np.array([3]))
    (tmp_path / "manifest.json").write_text(json.dumps({}))
    with pytest.raises(SourceError):
        scan_plan(tmp_path)


def test_they_are_public_names() -> None:
    assert (sm.swapmix.scan_plan, sm.swapmix.PlanReader) == (scan_plan, PlanReader)
    assert {"scan_plan", "PlanReader"} <= {*dir(sm.swapmix)}
