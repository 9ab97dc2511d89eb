"""lmms-eval runs what is exported for it, and its samples score here as it says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from consuming import Built, Consumer, quoted, scores
from PIL import Image

import shortcut_miner as sm
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.lmms_eval import write
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.images.image_files import find_images

pytestmark = [pytest.mark.consumer, pytest.mark.slow]


def printed(results: Path) -> dict[str, float]:
    """Return task or group -> the accuracy that lmms-eval told."""
    (file,) = results.glob("*_results.json")
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["results"]
    return {name: values["accuracy,none"] for name, values in told.items()}


def test_a_vqa_ce_folder_scores_as_lmms_eval_says(lmms_eval: Consumer, built: Built, tmp_path: Path) -> None:
    out = tmp_path / "for lmms-eval"
    exported = sm.export(built.vqa_ce, "lmms-eval", out=out)
    lmms_eval.run(exported.run, tmp_path)
    told = printed(tmp_path / "for lmms-eval-results")
    accuracy = scores(exported.read_back, tmp_path)["accuracy"]
    assert told.pop("vqa_ce") == pytest.approx(accuracy["overall"]["all"]["dummy"]["value"], abs=1e-9)
    assert told == {
        f"vqa_ce_{subset}": pytest.approx(models["dummy"]["value"], abs=1e-9)
        for subset, models in accuracy["subset"].items()
    }
    assert len(told) == 3


def test_a_rad_folder_scores_as_lmms_eval_says(lmms_eval: Consumer, built: Built, tmp_path: Path) -> None:
    exported = sm.export(built.rad, "lmms-eval", out=tmp_path / "out")
    lmms_eval.run(exported.run, tmp_path)
    told = printed(tmp_path / "out-results" / "rad_augmentations")
    accuracy = scores(exported.read_back, tmp_path)["accuracy_augmented"]
    assert told.pop("rad_augmentations") == pytest.approx(accuracy["overall"]["all"]["dummy"]["value"])
    assert told == {
        f"rad_augmentations_{kind.replace('-', '_')}": pytest.approx(models["dummy"]["value"])
        for kind, models in accuracy["augmentation"].items()
    }


def test_twenty_questions_with_images_keep_odd_ids_and_texts(
    lmms_eval: Consumer, odd_questions: Callable[[Path], QuestionSets], tmp_path: Path
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
    said = exported.run.replace("{out}", quoted(out)).replace("response=yes", "response=n/a,read_bytes=1")
    lmms_eval.run(said, tmp_path)
    told = printed(tmp_path / "out-results")
    for split, table in questions.sets["odd"].items():
        (samples,) = (tmp_path / "out-results").glob(f"*_samples_odd_{split}.jsonl")
        answers = read_predictions(samples).table
        assert answers["question_id"].to_list() == table["question_id"].to_list()
        assert answers["answer"].unique().to_list() == ["n/a"]
        scored = score_questions(table, answers)["accuracy"].mean()
        assert told[f"odd_{split}"] == pytest.approx(scored, abs=1e-9)


@pytest.mark.real
def test_a_constant_yes_on_the_real_subset(lmms_eval: Consumer, real_data: Path, tmp_path: Path) -> None:
    files = real_data / "vqa60k"
    sm.vqa_ce.build(
        train_questions=files / "questions_train.json.gz",
        train_annotations=files / "annotations_train.json.gz",
        val_questions=files / "questions_valid.json.gz",
        val_annotations=files / "annotations_valid.json.gz",
        detections=files / "image_to_detection.json.gz",
        out=tmp_path / "vqa-ce",
    )
    exported = sm.export(tmp_path / "vqa-ce", "lmms-eval", out=tmp_path / "out")
    lmms_eval.run(exported.run, tmp_path)
    told = {name: round(value, 2) for name, value in printed(tmp_path / "out-results").items()}
    assert told == {
        "vqa_ce": 20.85,
        "vqa_ce_counterexamples": 3.05,
        "vqa_ce_easy": 35.62,
        "vqa_ce_hard": 7.56,
    }
    accuracy = scores(exported.read_back, tmp_path)["accuracy"]
    assert round(accuracy["overall"]["all"]["dummy"]["value"], 2) == 20.85
    subsets = {name: round(models["dummy"]["value"], 2) for name, models in accuracy["subset"].items()}
    assert subsets == {"counterexamples": 3.05, "easy": 35.62, "hard": 7.56}
