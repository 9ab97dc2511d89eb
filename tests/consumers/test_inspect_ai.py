"""inspect_ai runs what is exported for it, and tells the accuracy that is computed here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from consuming import Built, Consumer, quoted, scores
from PIL import Image

import shortcut_miner as sm
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.inspect_ai import write
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.images.image_files import find_images
from shortcut_miner.sources.opening.containers import zip_contents

pytestmark = [pytest.mark.consumer, pytest.mark.slow]

MODELS = '''
"""Models of inspect_ai that need no network: one says its name, one the question, if its image was opened."""

from inspect_ai.model import ContentImage, ModelAPI, ModelOutput, modelapi


@modelapi(name="constant")
class Constant(ModelAPI):
    async def generate(self, input, tools, tool_choice, config):
        return ModelOutput.from_content(self.model_name, self.model_name)


@modelapi(name="parrot")
class Parrot(ModelAPI):
    async def generate(self, input, tools, tool_choice, config):
        content = input[-1].content
        for part in content if isinstance(content, list) else []:
            if isinstance(part, ContentImage):
                assert part.image.startswith("data:image/png;base64,")
        question, _, _ = input[-1].text.rpartition("\\n")
        return ModelOutput.from_content(self.model_name, question)
'''


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the module path with own models, registered as an installed package does it."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "own_models.py").write_text(MODELS, encoding="utf-8")
    info = folder / "own_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[inspect_ai]\nown_models = own_models\n")
    return folder


def printed(results: Path) -> dict[str, float]:
    """Return subset, or "all" -> the accuracy that inspect_ai told."""
    (log,) = results.glob("*.eval")
    header: Any = json.loads(zip_contents(str(log), log.read_bytes(), "header.json".__eq__)["header.json"])
    assert header["status"] == "success", header.get("error")
    (scorer,) = header["results"]["scores"]
    return {name: metric["value"] for name, metric in scorer["metrics"].items() if name != "stderr"}


def test_a_vqa_ce_folder_scores_as_inspect_ai_says(
    inspect_ai: Consumer, models: Path, built: Built, tmp_path: Path
) -> None:
    exported = sm.export(built.vqa_ce, "inspect-ai", out=tmp_path / "for inspect", limit=20)
    inspect_ai.run(exported.run.replace("mockllm/model", "constant/yes"), tmp_path, models)
    told = printed(tmp_path / "for inspect-results")
    accuracy = scores(exported.read_back, tmp_path)["accuracy"]
    assert told.pop("all") == pytest.approx(accuracy["overall"]["all"]["mockllm"]["value"], abs=1e-9)
    assert told == {
        subset: pytest.approx(values["mockllm"]["value"], abs=1e-9)
        for subset, values in accuracy["subset"].items()
    }
    assert len(told) == 3


def test_a_rad_folder_scores_as_inspect_ai_says(
    inspect_ai: Consumer, models: Path, built: Built, tmp_path: Path
) -> None:
    exported = sm.export(built.rad, "inspect-ai", out=tmp_path / "out")
    inspect_ai.run(exported.run.replace("mockllm/model", "constant/yes"), tmp_path, models)
    told = printed(tmp_path / "out-results" / "rad_augmentations")
    accuracy = scores(exported.read_back, tmp_path)["accuracy_augmented"]
    assert told.pop("all") == pytest.approx(accuracy["overall"]["all"]["mockllm"]["value"])
    assert told == {
        kind: pytest.approx(values["mockllm"]["value"]) for kind, values in accuracy["augmentation"].items()
    }


def test_twenty_questions_with_images_keep_odd_ids_and_texts(
    inspect_ai: Consumer, models: Path, odd_questions: Callable[[Path], QuestionSets], tmp_path: Path
) -> None:
    questions = odd_questions(tmp_path)
    images = tmp_path / "images"
    images.mkdir()
    for number in range(6):  # the seventh is missing
        Image.new("RGB", (8, 6)).save(images / f"image {number}.png")
    out = tmp_path / "out"
    out.mkdir()
    found = find_images(str(images), [f"image {number}" for number in range(7)])
    exported = write(questions, found.images, out)
    said = exported.run.replace("{out}", quoted(out)).replace("mockllm/model", "parrot/loud")
    inspect_ai.run(said, tmp_path, models)
    told = printed(tmp_path / "out-results")
    (log,) = (tmp_path / "out-results").glob("*.eval")
    asked = pl.concat(questions.sets["odd"].values())
    answers = read_predictions(log).table
    both = asked.select("question_id", "question").join(answers, on="question_id", how="full", coalesce=True)
    assert both["question"].to_list() == both["answer"].to_list()
    assert len(both) == len(asked)
    scored = score_questions(asked, answers)["accuracy"].mean()
    assert told["all"] == pytest.approx(scored, abs=1e-9)
    assert 0 < told["all"] < 100


def test_one_subset_is_asked_alone_and_an_unknown_one_is_refused(
    inspect_ai: Consumer, models: Path, odd_questions: Callable[[Path], QuestionSets], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    exported = write(odd_questions(tmp_path), find_images(None, []).images, out)
    run = exported.run.replace("{out}", quoted(out)).replace("mockllm/model", "constant/yes")
    inspect_ai.run(f"{run} -T subset=second", tmp_path, models)
    assert printed(tmp_path / "out-results").keys() == {"second", "all"}
    with pytest.raises(AssertionError, match=r"subset: got third, expected some of first, second"):
        inspect_ai.run(f"{run} -T subset=third", tmp_path, models)
