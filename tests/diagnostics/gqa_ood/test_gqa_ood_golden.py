"""A world of 497 questions with expected entropies, groups and subsets; and GQA-OOD's released questions."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shortcut_miner as sm

GOLDEN = Path(__file__).parents[2] / "golden" / "gqa_ood"
WORLD = GOLDEN / "world_questions.json.gz"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_bytes())
PRESETS = ("code", "paper")


def test_entropies_with_the_scripts_epsilon() -> None:
    report = sm.gqa_ood.build(questions=WORLD, preset="code")
    found = dict(report.groups.select("group", "entropy").rows())
    assert found.keys() == EXPECTED["groups"].keys()
    assert len(found) == 40
    differing = [name for name, value in EXPECTED["groups"].items() if abs(found[name] - value) > 1e-12]
    assert differing == []
    for name in ("mean", "std"):
        assert report.figures[f"entropy_{name}"] == pytest.approx(EXPECTED[f"{name}_entropy"], abs=1e-12)
    assert report.figures["entropy_threshold"] == pytest.approx(EXPECTED["threshold"], abs=1e-12)
    assert report.figures["one_answer_groups"] == 2


@pytest.mark.parametrize("preset", PRESETS)
def test_the_kept_groups(preset: Any) -> None:
    report = sm.gqa_ood.build(questions=WORLD, preset=preset)
    assert report.groups.filter("is_kept")["group"].to_list() == EXPECTED["kept_groups"]
    assert report.counts["groups_kept"] == 6
    assert (
        f"{report.figures['entropy_threshold']:.8f}" == {"code": "0.67162780", "paper": "0.67162781"}[preset]
    )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("alpha", EXPECTED["alpha"])
def test_head_and_tail(preset: Any, alpha: str) -> None:
    split = sm.gqa_ood.build(questions=WORLD, preset=preset, alpha=float(alpha)).split
    for name, ids in EXPECTED["alpha"][alpha].items():
        assert split.filter(subset=name)["question_id"].to_list() == ids
    known = split.filter(pl.col("subset").is_not_null())
    tail = known.filter(pl.col("tail_alpha") <= float(alpha))["question_id"].to_list()
    assert tail == EXPECTED["alpha"][alpha]["tail"]


def test_the_written_subsets_are_ids_or_the_questions_themselves(tmp_path: Path) -> None:
    expected = EXPECTED["alpha"]["0.2"]
    assert (len(expected["head"]), len(expected["tail"])) == (199, 34)
    source = json.loads(gzip.decompress(WORLD.read_bytes()))
    sm.gqa_ood.build(questions=WORLD, out=tmp_path / "ids")
    sm.gqa_ood.build(questions=WORLD, out=tmp_path / "gqa", as_gqa=True)
    for name, ids in {**expected, "all": sorted(expected["head"] + expected["tail"])}.items():
        assert json.loads((tmp_path / "ids" / f"{name}.json").read_bytes()) == ids
        assert json.loads((tmp_path / "gqa" / f"{name}.json").read_bytes()) == {
            one: source[one] for one in ids
        }
    again = sm.gqa_ood.build(questions=tmp_path / "gqa" / "tail.json", entropy_cut="none")
    assert again.counts["questions"] == 34


@pytest.mark.real
def test_the_released_validation_tail_is_read_as_it_is(real_data: Path) -> None:
    file = real_data / "gqa" / "gqa_ood_val_tail_questions.json"
    report = sm.gqa_ood.build(questions=file, entropy_cut="none")
    counts = report.counts
    assert (counts["questions"], counts["groups"], counts["images"]) == (1358, 292, 1009)
    assert counts["head"] + counts["tail"] == 1358
    # Rare answers alone have other shares than among all questions: this tail can't be found again in itself.
    assert (counts["head"], counts["tail"]) == (343, 1015)
