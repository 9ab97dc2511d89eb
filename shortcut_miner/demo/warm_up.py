"""Small jobs that between them call every kernel, so that all are compiled."""

from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.demo.detector import write_detections
from shortcut_miner.demo.files import write_demo_world
from shortcut_miner.demo.swapmix import VECTORS_FILE, word_vectors
from shortcut_miner.diagnostics.fpvg.build import build as build_fpvg
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles
from shortcut_miner.diagnostics.slices.build import build as build_slices
from shortcut_miner.diagnostics.slices.config import SlicesConfig, SlicesFiles
from shortcut_miner.diagnostics.swapmix.build import build as build_swapmix
from shortcut_miner.diagnostics.swapmix.config import PlanKind, SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.vqa_ce.build import build as build_vqa_ce
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.encoding import encode_lists
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.sharding.suffixes import kept_rows
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.opening.alike_records import read_alike
from shortcut_miner.sources.opening.json_walks import walked
from shortcut_miner.timing import OnStage

ROWS = 60


class _Record(msgspec.Struct):
    text: str


def warm_up(folder: Path, on_stage: OnStage | None = None) -> None:
    """Build the demo's world in every way that needs kernels of its own, in a folder to be thrown away.

    Parameters
    ----------
    folder : Path
        Empty.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    """
    world = write_demo_world(folder / "world")
    files = VqaCeFiles(
        train_questions=world.train_questions,
        train_annotations=world.train_annotations,
        val_questions=world.val_questions,
        val_annotations=world.val_annotations,
        detections=(world.detections,),
    )
    build_vqa_ce(files, VqaCeConfig(), None, on_stage=on_stage)
    build_vqa_ce(files, VqaCeConfig(superset_filter="all"), None, on_stage=on_stage)
    table = folder / "table.parquet"
    _table().write_parquet(table, row_group_size=ROWS // 3)
    of_table, in_shards = VqaCeFiles(table=(table,)), Distribution(shards=2)
    config = VqaCeConfig(split_column="split")
    build_vqa_ce(of_table, config, folder / "table", distribution=in_shards, on_stage=on_stage)
    rows = encode_lists([["a", "b"]] * 2, ["c"] * 2)
    kept_rows(rows, np.arange(2, dtype=np.int32), 0, 2, merge=True)  # as many rows, or little memory, want it
    asked = SlicesFiles(questions=world.val_questions, annotations=world.val_annotations)
    answers = {"shortcut_model": [world.shortcut_predictions]}
    build_slices(asked, answers, SlicesConfig(), None, on_stage=on_stage)
    names = read_scene_graphs(world.val_scene_graphs).table["name"].unique().sort().to_list()
    vectors = folder / VECTORS_FILE
    vectors.write_text(word_vectors(names, 0), encoding="utf-8")
    graphs, detections = (
        (world.val_scene_graphs,),
        (write_detections(world.val_scene_graphs, folder, seed=0),),
    )
    given = SwapMixFiles(
        questions=world.gqa_questions, scene_graphs=graphs, detections=detections, embeddings=str(vectors)
    )
    for plan in get_args(PlanKind):
        build_swapmix(given, SwapMixConfig(plan=plan), folder / plan, on_stage=on_stage)
    regions = FpvgFiles(questions=world.gqa_questions, scene_graphs=graphs, detections=detections)
    build_fpvg(regions, FpvgConfig(), None, on_stage=on_stage)
    for walk in walked(b'{"1": {"text": "a"}}', _Record):  # as large files are read
        walk.texts("text")
    read_alike(b'[{"text": "a"}]', _Record, "records")


def _table() -> pl.DataFrame:
    """Return questions whose columns are numbers, texts and lists."""
    numbers = range(ROWS)
    return pl.DataFrame(
        {
            "question_id": [*numbers],
            "image_id": [number // 2 for number in numbers],
            "question": [("What sport is this?", "What color is it?")[number % 2] for number in numbers],
            "answer": [("tennis", "red")[number % 2] for number in numbers],
            "objects": [["racket", "person"] if number % 2 else ["car"] for number in numbers],
            "split": ["train" if number % 3 else "val" for number in numbers],
        }
    )
