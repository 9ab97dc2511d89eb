"""Small worlds as tables, and plans drawn from them through the files that a build writes."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from hypothesis import strategies as st

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.swapmix import outputs
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.inputs import SwapMixInputs
from shortcut_miner.diagnostics.swapmix.prepared import prepare_plan
from shortcut_miner.publishing import staged_folder
from shortcut_miner.sources.embeddings import Embeddings

NAMES = ("cat", "dog", "car", "fire hydrant", "tree", "sky")
ATTRIBUTES = ("red", "big", "wooden")
OBJECTS = {
    "image_id": pl.String, "object_id": pl.String, "name": pl.String, "x1": pl.Float64, "y1": pl.Float64,
    "x2": pl.Float64, "y2": pl.Float64, "attributes": pl.List(pl.String),
}  # fmt: skip
REGIONS = {
    "image_id": pl.String, "region_index": pl.UInt32, "is_padding": pl.Boolean, "x1": pl.Float32,
    "y1": pl.Float32, "x2": pl.Float32, "y2": pl.Float32,
}  # fmt: skip
QUESTIONS = {
    "question_id": pl.String, "image_id": pl.String, "question": pl.String, "answer": pl.String,
    "relevant_objects": pl.List(pl.String),
}  # fmt: skip
SIMILAR = {"class": pl.String, "neighbour": pl.String, "cosine": pl.Float64}


class Tiny(NamedTuple):
    """Records of a world; `similar` maps a class to its neighbours with their cosines."""

    objects: list[dict[str, Any]]
    regions: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    similar: dict[str, dict[str, float]]

    def inputs(self, embeddings: Embeddings | None = None, **changed: Any) -> SwapMixInputs:
        objects = pl.DataFrame(self.objects, schema=OBJECTS)
        regions = pl.DataFrame(self.regions, schema=REGIONS)
        rows = [(one, other, cosine) for one, near in self.similar.items() for other, cosine in near.items()]
        columns: dict[str, Any] = {
            "questions": pl.DataFrame(self.questions, schema=QUESTIONS),
            "objects": objects,
            "images": objects["image_id"].unique(),
            "donor_objects": None,
            "regions": regions,
            "donor_regions": None,
            "detected": objects["image_id"].unique(),
            "similar": pl.DataFrame(rows, schema=SIMILAR, orient="row"),
            "embeddings": embeddings,
            "facts": InputFacts(),
        }
        return SwapMixInputs(**columns | changed)

    def neighbours(self, config: SwapMixConfig) -> dict[str, list[str]]:
        """Return each class's similar classes, the most similar first."""
        present = {one["name"] for one in self.objects}
        return {
            name: [
                other
                for other, cosine in sorted(near.items(), key=lambda item: (-item[1], item[0]))
                if cosine >= config.min_cosine and other != name and other in present
            ]
            for name, near in self.similar.items()
        }


@st.composite
def worlds(draw: st.DrawFn) -> Tiny:
    """Draw few images with few objects of few names, so that donors are scarce, shared and missing."""
    images = [f"i{number}" for number in range(draw(st.integers(1, 5)))]
    objects, regions = [], []
    for image in images:
        for number in range(draw(st.integers(0, 6))):
            x, y = draw(st.integers(0, 40)), draw(st.integers(0, 40))
            objects.append(
                {
                    "image_id": image,
                    "object_id": f"{image}/{number}",
                    "name": draw(st.sampled_from(NAMES)),
                    **{"x1": x, "y1": y, "x2": x + draw(st.integers(0, 30)), "y2": y + 20},
                    "attributes": draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=3)),
                }
            )
        for number in range(draw(st.integers(0, 5))):
            x, y = draw(st.integers(0, 40)), draw(st.integers(0, 40))
            regions.append(
                {
                    **{"image_id": image, "region_index": number, "is_padding": draw(st.booleans())},
                    **{"x1": x, "y1": y, "x2": x + draw(st.integers(0, 40)), "y2": y + 25},
                }
            )
    questions = []
    for number in range(draw(st.integers(1, 5))):
        image = draw(st.sampled_from(images))
        own = [one["object_id"] for one in objects if one["image_id"] == image]
        relevant = draw(st.lists(st.sampled_from(own), unique=True, max_size=2)) if own else []
        questions.append(
            {
                **{"question_id": f"{number:03d}", "image_id": image, "question": "?", "answer": "yes"},
                "relevant_objects": [*relevant, *(["unknown"] if draw(st.booleans()) else [])],
            }
        )
    cosines = st.sampled_from([0.3, 0.5, 0.7, 0.7, 0.9])
    near = st.dictionaries(st.sampled_from(NAMES), cosines, max_size=4)
    return Tiny(objects, regions, questions, draw(st.dictionaries(st.sampled_from(NAMES), near, max_size=6)))


def draw_plan(inputs: SwapMixInputs, config: SwapMixConfig, threads: int = 1) -> dict[str, pl.DataFrame]:
    """Return the tables that a build writes, by file name."""
    files = SwapMixFiles(questions=Path("q"), scene_graphs=Path("s"))
    with tempfile.TemporaryDirectory() as out:
        ready = prepare_plan(inputs, config, files)
        with staged_folder(Path(out)) as folder:
            outputs.draw_plan(folder, inputs, ready, config, None, threads)
        return {path.name: pl.read_parquet(path) for path in Path(out).glob("*.parquet")}
