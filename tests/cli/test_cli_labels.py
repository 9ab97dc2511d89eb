"""Object labels of a VQA-CE build, by every format that has them: the same labels give the same rules."""

from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, options, tiny_world, write_world
from sources.test_box_labels import SAME, write_labels

Files = dict[str, Path | None]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    world = tiny_world()
    del world["detections"]
    return write_world(world, tmp_path_factory.mktemp("world"))


def test_the_same_labels_give_the_same_rules_in_every_format(
    run_cli: RunCli, files: Files, tmp_path: Path
) -> None:
    images = {
        image: list(zip(found["classes"], found["scores"], strict=True))
        for image, found in tiny_world()["detections"].items()
        if found["classes"]
    }
    images = {
        image: [(name.replace("ball", "dog"), score) for name, score in found]
        for image, found in images.items()
    }
    tables: dict[str, list[pl.DataFrame]] = {}
    for form in SAME:
        given = write_labels(tmp_path, form, images)
        asked: Files = {**files, "detections": given["path"], "detections_info": given.get("info")}
        out = tmp_path / f"{form} out"
        ran = run_cli("vqa-ce", "build", *options(asked), "--min-count", "1", "--out", out)
        assert ran.code == 0, ran.err
        tables[form] = [pl.read_parquet(out / name) for name in ("rules.parquet", "split.parquet")]
    rules = tables[SAME[0]][0]
    assert rules["antecedent_objects"].explode().drop_nulls().unique().to_list() == ["dog"]
    for form in SAME[1:]:
        assert all(one.equals(other) for one, other in zip(tables[SAME[0]], tables[form], strict=True)), form


def test_a_second_file_is_named_as_for_boxes(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    images = {str(n // 2): [("dog", 0.5)] for n in (*range(1000, 1012), *range(2000, 2006))}
    given = write_labels(tmp_path, "LXMERT", images)
    asked: Files = {**files, "detections": given["path"]}
    ran = run_cli("vqa-ce", "build", *options(asked), "--out", tmp_path / "out")
    assert ran.code == 2
    assert "Name the vocabulary, a name a line, with --detections-info." in ran.err
    swept = run_cli(
        "vqa-ce", "sweep", *options({**asked, "detections_info": given["info"]}),
        "--min-counts", "1,2", "--min-confidences", "0.3", "--format", "json",
    )  # fmt: skip
    assert (swept.code, len(swept.json["sweep"])) == (0, 2)
    ran = run_cli(
        "vqa-ce", "build", *options(files), "--detections-info", given["info"], "--out", tmp_path / "out"
    )
    assert ran.code == 2
    assert (
        f"detections_info: got {given['info']} without detections, expected both. Give --detections"
        in ran.err
    )


def test_an_info_file_is_told_where_labels_have_none(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    given = write_labels(tmp_path, "image JSON", {"500": [("dog", 0.5)]})
    asked: Files = {**files, "detections": given["path"], "detections_info": given["path"]}
    ran = run_cli("vqa-ce", "build", *options(asked), "--out", tmp_path / "out")
    assert ran.code == 2
    assert "expected image-to-detection JSON alone. Leave --detections-info out." in ran.err
