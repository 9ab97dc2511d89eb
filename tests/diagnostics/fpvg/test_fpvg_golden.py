"""Every line of what equals what, against the outputs of the released scripts."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shortcut_miner.boxes import share
from shortcut_miner.diagnostics.fpvg.answers import ModelRun
from shortcut_miner.diagnostics.fpvg.build import BuildReport, build
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles, ScoreConfig
from shortcut_miner.diagnostics.fpvg.kernels_numba.overlap import areas
from shortcut_miner.diagnostics.fpvg.outputs import nested
from shortcut_miner.diagnostics.fpvg.score import ScoreReport, score
from shortcut_miner.errors import SchemaError, SourceError

pytestmark = pytest.mark.real

Files = dict[str, FpvgFiles]
Expected = Callable[[str], Any]
METHODS = {"relevant": "iou_50", "irrelevant": "neg_overlap_25"}
# detector and relevant objects -> questions in the golden lists, of them without detections
GOLDEN = {
    ("gqa", "path"): (1_787, 59),
    ("gqa", "final"): (596, 24),
    ("detectron", "path"): (1_787, 44),
    ("detectron", "final"): (596, 18),
}
BY_DEFAULT = {
    "gqa": (153, 72, 0, 59, 417, 48, 1_263),
    "detectron": (153, 72, 0, 44, 371, 0, 1_372),
}
REASONS = (
    "no_annotation", "image_not_in_scene_graphs", "object_missing_in_the_graph", "no_detections",
    "no_relevant_region", "no_irrelevant_region", "evaluable",
)  # fmt: skip
CATEGORIES = {"good_correct": "GGC", "good_wrong": "GGW", "bad_correct": "BGC", "bad_wrong": "BGW"}


def flat(lists: dict[str, dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(image, name): one for image, of_image in lists.items() for name, one in of_image.items()}


def built(files: Files, detector: str, **options: Any) -> BuildReport:
    return build(files[detector], FpvgConfig(**options), None)


# ---- lists ----


@pytest.mark.parametrize(("detector", "relevant"), GOLDEN)
@pytest.mark.parametrize("condition", METHODS)
def test_code_lists(
    golden_files: Files, expected: Expected, detector: str, relevant: str, condition: str
) -> None:
    report = built(golden_files, detector, preset="code", relevant=relevant)
    theirs = flat(expected(f"{detector}_{relevant}_{METHODS[condition]}"))
    ours = flat(nested(report.lists, condition))
    are_ids = {key for key, one in theirs.items() if one and isinstance(one[0], str)}
    assert (len(theirs), len(are_ids)) == GOLDEN[detector, relevant]
    assert ours == {key: one for key, one in theirs.items() if key not in are_ids}
    reasons = dict(report.lists.select("question_id", "exclusion").iter_rows())
    assert {reasons[name] for _, name in are_ids} == {"no detections"}


@pytest.mark.parametrize(
    ("relevant", "with_relevant", "with_irrelevant"), [("path", 1_376, 1_787), ("final", 418, 596)]
)
def test_code_lists_of_the_third_detector(
    golden_files: Files, expected: Expected, relevant: str, with_relevant: int, with_irrelevant: int
) -> None:
    lists = built(golden_files, "bottomup", preset="code", relevant=relevant).lists
    counts = expected("relevance_counts")
    # The script counts lists that hold object ids, of images without detections, as not empty.
    undetected = int((lists["exclusion"] == "no detections").sum())
    for condition, total in (("relevant", with_relevant), ("irrelevant", with_irrelevant)):
        golden = counts[f"bottomup_{relevant}_{METHODS[condition]}"]
        assert golden["left_as_string_ids"] == undetected
        found = int((lists[condition].list.len() > 0).sum())
        assert found + undetected == golden["nonempty"] == total


def test_the_articles_wording(golden_files: Files, expected: Expected) -> None:
    report = built(golden_files, "gqa", preset="code", overlap_over="object")
    theirs = flat(expected("derived_gqa_path_irrel_PAPER_reading_25"))
    assert flat(nested(report.lists, "irrelevant")) == theirs
    assert len(theirs) == 1_728
    code = flat(nested(built(golden_files, "gqa", preset="code").lists, "irrelevant"))
    assert sum(code[key] != one for key, one in theirs.items()) == 1_566


def test_what_padding_does(golden_files: Files, expected: Expected) -> None:
    counts = expected("nasty_case_counts")
    code, ours = (built(golden_files, "gqa", preset=preset).lists for preset in ("code", "default"))
    both = code.join(ours, on="question_id", suffix="_ours", validate="1:1").drop_nulls("relevant")
    rows = both.select(
        beyond=pl.col("relevant") != pl.col("relevant_ours"),
        zero=pl.col("irrelevant") != pl.col("irrelevant_ours"),
        lost=(pl.col("relevant").list.len() > 0) & (pl.col("irrelevant").list.len() == 0),
    )
    assert rows["beyond"].sum() == counts["rel_idx_beyond_objectsNum"] == 10
    assert rows["zero"].sum() == 705  # zero rows below the count, and boxes whose coordinates add up to zero
    assert rows["lost"].sum() == counts["rel_nonempty_irrel_empty"] == 48


@pytest.mark.parametrize("detector", BY_DEFAULT)
def test_default_exclusions(golden_files: Files, detector: str) -> None:
    counts = built(golden_files, detector).counts
    assert tuple(counts[name] for name in REASONS) == BY_DEFAULT[detector]
    assert sum(BY_DEFAULT[detector]) == counts["questions"] == 2_012


def test_all_box_pairs(expected: Expected) -> None:
    pairs = expected("box_pairs")
    assert len(pairs) == 517
    regions = np.array([pair["hyp"] for pair in pairs], np.float32).astype(np.float64)
    objects = np.array([pair["ref"] for pair in pairs], np.float64)
    found = [areas.py_func(*one, other, False) for one, other in zip(regions, objects, strict=True)]
    shared, region_area, object_area = np.array(found).T
    assert share(shared, region_area + object_area - shared).tolist() == [pair["iou"] for pair in pairs]
    assert share(shared, region_area).tolist() == [pair["overlap_hyp_by_ref"] for pair in pairs]
    paper = [pair["overlap_ref_by_hyp_PAPER"] for pair in pairs]
    ours = share(shared, object_area).tolist()
    divided_by_zero = [at for at, one in enumerate(paper) if one == "ZeroDivisionError"]
    assert len(divided_by_zero) == 8
    assert [ours[at] for at in divided_by_zero] == [0.0] * 8
    assert [one for at, one in enumerate(ours) if at not in divided_by_zero] == [
        one for at, one in enumerate(paper) if at not in divided_by_zero
    ]


# ---- the metric ----


@pytest.fixture(scope="module")
def folders(golden_files: Files, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    made = {}
    for detector in ("gqa", "detectron"):
        for preset in ("default", "code"):
            made[detector, preset] = tmp_path_factory.mktemp(f"{detector}-{preset}")
            build(golden_files[detector], FpvgConfig(preset=preset), made[detector, preset])  # type: ignore[arg-type]
    return made


def run_of(golden: Path, model: str) -> ModelRun:
    folder = golden / "predictions"
    return ModelRun(
        model=model,
        all=folder / f"{model}_all.json.gz",
        relevant=folder / f"{model}_rel.json.gz",
        irrelevant=folder / f"{model}_irrel.json.gz",
    )


def category_counts(report: ScoreReport) -> dict[str, int]:
    return {CATEGORIES[name]: count for name, count in Counter(report.categories["category"]).items()}


@pytest.mark.parametrize(("model", "detector"), [("m1", "gqa"), ("m2", "gqa"), ("m1", "detectron")])
def test_metric_on_the_golden_ids(
    golden_fpvg: Path, folders: Any, expected: Expected, tmp_path: Path, model: str, detector: str
) -> None:
    golden = expected(f"fpvg_{model}_{detector}")
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps(list(golden["per_question"])))
    config = ScoreConfig(trust_ids=True, resamples=20)
    report = score(folders[detector, "code"], [run_of(golden_fpvg, model)], config, id_lists={"golden": ids})
    categories = dict(report.categories.select("question_id", "category").iter_rows())
    assert {name: CATEGORIES[one] for name, one in categories.items()} == golden["per_question"]
    assert dict(report.outcomes.select("outcome", "count").iter_rows()) == golden["subcounts"]
    values = {
        (row["metric"], row["group"], row["subgroup"]): (row["value"], row["n"])
        for row in report.scores.iter_rows(named=True)
    }
    n = len(golden["per_question"])
    for ours, theirs in (("all", "all"), ("relevant", "rel"), ("irrelevant", "irrel")):
        value, rows = values[f"accuracy_{ours}", "golden", "all"]
        assert (round(value, 9), rows) == (round(golden["acc_on_eval_set"][theirs], 9), n)
    for kind, summary in golden["summary"].items():
        place = ("golden", "all") if kind == "ALL" else ("structural in golden", kind)
        assert values["fpvg_plus", *place][1] == summary["n"]
        assert round(values["fpvg_plus", *place][0], 9) == round(summary["FPVG_plus"], 9)
        assert round(values["fpvg_minus", *place][0], 9) == round(summary["FPVG_minus"], 9)
        for name, short in CATEGORIES.items():
            assert round(values[name, *place][0] * summary["n"] / 100) == summary[short]


@pytest.mark.parametrize("model", ["m1", "m2"])
def test_code_lists_give_the_derived_metric(
    golden_fpvg: Path, folders: Any, expected: Expected, model: str
) -> None:
    report = score(folders["gqa", "code"], [run_of(golden_fpvg, model)], ScoreConfig(resamples=0))
    derived = expected(f"derived_fpvg_{model}_gqa_without_undetected_images")
    overall = report.scores.filter(metric="fpvg_plus", group="overall")
    assert overall["n"].item() == derived["n"] == 1_265
    assert round(overall["value"].item(), 9) == round(derived["FPVG_plus"], 9)
    assert category_counts(report) == {name: derived[name] for name in CATEGORIES.values()}


@pytest.mark.parametrize(
    ("model", "detector", "counts"),
    [
        ("m1", "gqa", {"GGC": 169, "GGW": 120, "BGC": 588, "BGW": 386}),
        ("m2", "gqa", {"GGC": 53, "GGW": 117, "BGC": 369, "BGW": 724}),
        ("m1", "detectron", {"GGC": 187, "GGW": 135, "BGC": 627, "BGW": 423}),
    ],
)
def test_metric_by_default(
    golden_fpvg: Path, folders: Any, model: str, detector: str, counts: dict[str, int]
) -> None:
    report = score(folders[detector, "default"], [run_of(golden_fpvg, model)], ScoreConfig(resamples=0))
    assert category_counts(report) == counts


def test_the_accuracies_of_the_full_set(golden_fpvg: Path, folders: Any) -> None:
    report = score(folders["gqa", "default"], [run_of(golden_fpvg, "m1")], ScoreConfig(resamples=0))
    rows = report.scores.filter(group="every question").select("metric", "value", "n").rows()
    assert [(name, f"{value:.2f}", n) for name, value, n in rows] == [
        ("accuracy_all", "60.39", 2_012),
        ("accuracy_relevant", "54.97", 2_012),
        ("accuracy_irrelevant", "47.96", 2_012),
    ]


def test_transitions(golden_fpvg: Path, folders: Any, expected: Expected, tmp_path: Path) -> None:
    golden = expected("fpvg_m1_gqa")
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps(list(golden["per_question"])))
    report = score(
        folders["gqa", "code"], [run_of(golden_fpvg, "m1")], ScoreConfig(trust_ids=True, resamples=0),
        id_lists={"g": ids},
    )  # fmt: skip
    overall = report.scores.filter(group="g", subgroup="all")
    values = dict(overall.select("metric", pl.col("value") * pl.col("n") / 100).iter_rows())
    counts = {
        "relevant": {"CC": 679, "CI": 114, "IC": 35, "II": 496},
        "irrelevant": {"CC": 571, "CI": 222, "IC": 51, "II": 480},
    }
    words = {"C": "correct", "I": "incorrect"}
    for condition, of_condition in counts.items():
        for (before, after), count in of_condition.items():
            assert round(values[f"{condition}_{words[before]}_to_{words[after]}"], 6) == count


def test_a_run_that_lacks_a_question(golden_fpvg: Path, folders: Any, tmp_path: Path) -> None:
    """The released script dies on an evaluated question, and does not notice another."""
    run = run_of(golden_fpvg, "m1")
    records = json.loads(gzip.decompress(run.relevant.read_bytes()))
    regions = pl.read_parquet(folders["gqa", "default"] / "regions.parquet")
    for is_evaluable, raises in ((True, True), (False, False)):
        name = regions.filter(pl.col("is_evaluable") == is_evaluable)["question_id"][0]
        path = tmp_path / f"{is_evaluable}.json"
        path.write_text(json.dumps([one for one in records if one["questionId"] != name]))
        changed = ModelRun(model="m1", all=run.all, relevant=path, irrelevant=run.irrelevant)
        if raises:
            with pytest.raises(
                SchemaError, match=rf"relevant .*: 1 x question without a prediction: '{name}'"
            ):
                score(folders["gqa", "default"], [changed], ScoreConfig(resamples=0))
        else:
            report = score(folders["gqa", "default"], [changed], ScoreConfig(resamples=0))
            rows = report.scores.filter(group="every question")["n"].to_list()
            assert rows == [2_012, 2_011, 2_012]


def test_integer_ids_that_lost_a_zero(golden_fpvg: Path, folders: Any, tmp_path: Path) -> None:
    run = run_of(golden_fpvg, "m1")
    records = json.loads(gzip.decompress(run.all.read_bytes()))
    path = tmp_path / "ints.json"
    path.write_text(json.dumps([one | {"questionId": int(one["questionId"])} for one in records]))
    changed = ModelRun(model="m1", all=path, relevant=run.relevant, irrelevant=run.irrelevant)
    with pytest.raises(SourceError, match=r"question_id: got '\d+' 2 times"):
        score(folders["gqa", "default"], [changed], ScoreConfig(resamples=0))
    taken = {str(int(one["questionId"])) for one in records if not one["questionId"].startswith("0")}
    kept = [one for one in records if str(int(one["questionId"])) not in taken or one["questionId"] in taken]
    path.write_text(json.dumps([one | {"questionId": int(one["questionId"])} for one in kept]))
    with pytest.raises(
        SourceError, match=r"lost leading zeros and may be one of several .* Write ids as text"
    ):
        score(folders["gqa", "default"], [changed], ScoreConfig(resamples=0))


# ---- broken worlds ----


def crash_case(golden: Path, name: str, folder: Path, *, without: str | None = None) -> FpvgFiles:
    """Copy a broken world, without one question."""
    source = golden / "crash_cases" / name
    shutil.copytree(source, folder)
    plain = folder / "val_balanced_questions.json"
    packed = folder / "val_balanced_questions.json.gz"
    questions = json.loads(gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes())
    path = folder / "questions.json"
    path.write_text(json.dumps({key: one for key, one in questions.items() if key != without}))
    return FpvgFiles(
        questions=path,
        scene_graphs=folder / "val_sceneGraphs.json",
        detections=folder / "output_gqa_detectron_objects.h5",
    )


BAD_QUESTION = "201215531"
CRASHES = {
    "comma_ids": "object missing in the graph",
    "missing_object_1proc": "object missing in the graph",
    "no_annotations_key": "no annotation",
    "empty_annotations_dict": "no annotation",
}


@pytest.mark.parametrize("case", CRASHES)
def test_a_bad_question_is_reported_and_changes_nothing_else(
    golden_fpvg: Path, tmp_path: Path, case: str
) -> None:
    report = build(crash_case(golden_fpvg, case, tmp_path / "with"), FpvgConfig(preset="code"), None)
    other = build(
        crash_case(golden_fpvg, case, tmp_path / "without", without=BAD_QUESTION),
        FpvgConfig(preset="code"),
        None,
    )
    bad = report.lists.filter(question_id=BAD_QUESTION)
    assert bad.select("relevant", "irrelevant", "is_evaluable", "exclusion").row(0) == (
        None, None, False, CRASHES[case],
    )  # fmt: skip
    assert report.lists.filter(pl.col("question_id") != BAD_QUESTION).equals(other.lists)
    assert report.counts[CRASHES[case].replace(" ", "_")] == 1 + other.counts[CRASHES[case].replace(" ", "_")]


def test_integer_ids_follow_on_bad_row(golden_fpvg: Path, tmp_path: Path) -> None:
    files = crash_case(golden_fpvg, "int_ids", tmp_path / "with")
    told = rf"got 1 bad of 50 questions.*\n.*question '{BAD_QUESTION}', annotations.*a whole number"
    with pytest.raises(SourceError, match=told):
        build(files, FpvgConfig(), None)
    report = build(files, FpvgConfig(on_bad_row="skip"), None)
    other = build(
        crash_case(golden_fpvg, "int_ids", tmp_path / "without", without=BAD_QUESTION), FpvgConfig(), None
    )
    assert report.lists.equals(other.lists)
    assert (report.is_complete, sum(report.dropped.values())) == (False, 1)


def test_boxes_that_are_no_numbers_follow_on_bad_row(golden_fpvg: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    files = crash_case(golden_fpvg, "nan_box", tmp_path / "with")
    told = r"got 1 bad of 505 images and regions.*\n.*image '1131', region 0, box: got \[nan, "
    with pytest.raises(SourceError, match=told):
        build(files, FpvgConfig(), None)
    report = build(files, FpvgConfig(on_bad_row="skip"), None)
    assert report.dropped == {"detections: box: expected finite numbers": 1}
    other = crash_case(golden_fpvg, "nan_box", tmp_path / "without")
    with h5py.File(other.detections[0], "r+") as file:
        file["bboxes"][0, 0] = 0
    assert report.lists.equals(build(other, FpvgConfig(), None).lists)


def test_a_good_world(golden_fpvg: Path, tmp_path: Path) -> None:
    report = build(crash_case(golden_fpvg, "ok_1proc", tmp_path / "w"), FpvgConfig(preset="code"), None)
    theirs = json.loads((golden_fpvg / "crash_cases" / "ok_1proc" / "ref_out.json").read_text())
    assert flat(nested(report.lists, "relevant")) == flat(theirs)
    assert len(flat(theirs)) == 88


def test_the_same_bytes_for_any_number_of_workers(golden_fpvg: Path, tmp_path: Path) -> None:
    world = golden_fpvg / "world"
    code = (
        "import sys; from pathlib import Path; import shortcut_miner.storage as storage;"
        "storage.ROW_GROUP_SIZE = 500;"  # several groups
        "from shortcut_miner.diagnostics.fpvg.build import build;"
        "from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles;"
        "w = Path(sys.argv[1]);"
        "files = FpvgFiles(questions=w / 'val_balanced_questions.json.gz',"
        " scene_graphs=w / 'val_sceneGraphs.json.gz', detections=w,"
        " detections_info=w / 'gqa_objects_info.json');"
        "build(files, FpvgConfig(nested_json=True, long_form=True), Path(sys.argv[2]))"
    )
    found = []
    for workers in ("1", "3"):
        out = tmp_path / workers
        env = {
            **os.environ,
            "POLARS_MAX_THREADS": workers,
            "OMP_NUM_THREADS": workers,
            "PYTHONHASHSEED": workers,
        }
        subprocess.run(
            [sys.executable, "-c", code, str(world), str(out)],
            env=env | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
            check=True,
        )
        found.append({path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"})
    assert found[0] == found[1]
    assert set(found[0]) == {
        "README.md", "boxes.parquet", "irrelevant_regions.json", "manifest.json", "questions.parquet",
        "regions.parquet", "regions_long.parquet", "relevant_regions.json",
    }  # fmt: skip
