"""Scores of a split, against plain Python; priors; and shortcut groups by rules."""

import json
import random
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.resplit.test_resplit_build import records, write

import shortcut_miner as sm
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.diagnostics.resplit.priors import INVERSE, PRIOR, prior_answers
from shortcut_miner.diagnostics.resplit.rule_groups import SHORTCUTS, best_antecedent, concepts
from shortcut_miner.errors import ConfigError, SchemaError

Values = dict[tuple[str, str, str], float]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("resplit")
    rows = [row | {"answer_type": "ab"[row["question_id"] % 2]} for row in records(120, 3)]
    sm.resplit.build(questions=write(out / "q.jsonl", rows), val_share=0.3, out=out / "built")
    return out / "built"


def sides(built: Path) -> pl.DataFrame:
    split = pl.read_parquet(built / "split.parquet").drop("group")
    return pl.read_parquet(built / "questions.parquet").join(split, on="question_id", maintain_order="left")


def write_answers(path: Path, said: dict[str, str]) -> Path:
    path.write_text(json.dumps([{"question_id": k, "answer": v} for k, v in said.items()]), encoding="utf-8")
    return path


def values_of(report: ScoreReport, model: str) -> Values:
    table = report.scores.filter(model=model).select("metric", "group", "subgroup", "value")
    return {(metric, group, subgroup): value for metric, group, subgroup, value in table.iter_rows()}


def test_values_are_those_of_plain_python(built: Path, tmp_path: Path) -> None:
    table, draw = sides(built), random.Random(0)
    said = {
        row["question_id"]: row["answer"] if draw.random() < 0.6 else "wrong"
        for row in table.iter_rows(named=True)
    }
    files = {"m": write_answers(tmp_path / "m.json", said)}
    report = sm.resplit.score(built, files, scorer="exact", resamples=20)
    rights: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in table.iter_rows(named=True):
        for kind in ("all", row["answer_type"]):
            rights[row["subset"], kind].append(said[row["question_id"]] == row["answer"])
    values = values_of(report, "m")
    for kind in ("all", "a", "b"):
        group = "overall" if kind == "all" else "answer_type"
        shares = {
            side: 100 * sum(some) / len(some) for side in ("test", "val") for some in [rights[side, kind]]
        }
        assert values["accuracy_test", group, kind] == pytest.approx(shares["test"])
        assert values["accuracy_val", group, kind] == pytest.approx(shares["val"])
        assert values["drop", group, kind] == pytest.approx(shares["val"] - shares["test"])
    told = report.scores.filter(model="m", group="overall")
    assert told["n"].to_list() == [len(rights["test", "all"]), len(rights["val", "all"]),
                                   len(rights["test", "all"]) + len(rights["val", "all"])]  # fmt: skip
    assert (told["low"] <= told["value"]).all()
    assert (told["value"] <= told["high"]).all()


def test_priors_are_those_of_plain_python(built: Path, tmp_path: Path) -> None:
    table = sides(built)
    asked = table.filter(pl.col("subset") != "train")
    found = prior_answers(table, asked)
    count: dict[str, dict[str, Counter[str]]] = {
        side: defaultdict(Counter) for side in ("train", "test", "val")
    }
    for row in table.iter_rows(named=True):
        count[row["subset"]][row["question_type"]][row["answer"]] += 1
    for row in asked.iter_rows(named=True):
        kind = row["question_type"]
        train, test = count["train"][kind], count["test"][kind]
        if train:
            most = min(train, key=lambda one: (-train[one], one))
            assert found[PRIOR].filter(question_id=row["question_id"])["answer"].item() == most
        if test:
            rarest = min(test, key=lambda one: (train[one], -test[one], one))
            assert found[INVERSE].filter(question_id=row["question_id"])["answer"].item() == rarest
    said = dict.fromkeys(table["question_id"], "yes")
    report = sm.resplit.score(built, {"m": write_answers(tmp_path / "m.json", said)}, scorer="exact")
    assert values_of(report, PRIOR)["accuracy_test", "overall", "all"] == 0  # no group is on both sides
    on_val = {name: values_of(report, name)["accuracy_val", "overall", "all"] for name in (PRIOR, INVERSE)}
    assert on_val[INVERSE] < on_val[PRIOR]
    assert report.scores["model"].unique(maintain_order=True).to_list() == ["m", PRIOR, INVERSE]


def test_who_knows_the_split_is_told(built: Path, tmp_path: Path) -> None:
    table = sides(built)
    knowing = {
        question_id: answer if subset == "test" else "nothing"
        for question_id, answer, subset in table.select("question_id", "answer", "subset").iter_rows()
    }
    files = {"knows": write_answers(tmp_path / "k.json", knowing)}
    files["right"] = write_answers(
        tmp_path / "r.json", dict(table.select("question_id", "answer").iter_rows())
    )
    report = sm.resplit.score(built, files, scorer="exact", resamples=0)
    (told,) = report.warnings
    assert told.startswith("predictions of knows: 0.00 on validation, below the most common answers' ")
    assert "and 100.00 on the test, above their 0.00: as if it knew how the split was made" in told


def test_what_can_not_be_scored_is_told(built: Path, tmp_path: Path) -> None:
    table = sides(built)
    answers = write_answers(tmp_path / "m.json", dict.fromkeys(table["question_id"], "yes"))
    with pytest.raises(ConfigError, match="predictions: got none, expected at least one"):
        sm.resplit.score(built, {})
    with pytest.raises(ConfigError, match="predictions: got the name 'inverse prior', expected another"):
        sm.resplit.score(built, {INVERSE: answers})
    val = table.filter(subset="val")["question_id"]
    only = {"m": write_answers(tmp_path / "v.json", dict.fromkeys(val, "yes"))}
    with pytest.raises(SchemaError, match="question without a prediction"):
        sm.resplit.score(built, only, scorer="exact")
    with pytest.raises(SchemaError, match="got answers to no question of the test by all models"):
        sm.resplit.score(built, only, scorer="exact", on_missing="skip")


# ---- by rules ----


def files_of(demo: Path) -> dict[str, Any]:
    return {
        "questions": demo / "world" / "v2_OpenEnded_mscoco_val2014_questions.json",
        "annotations": demo / "world" / "v2_mscoco_val2014_annotations.json",
        "from_rules": demo / "vqa-ce",
        "detections": demo / "world" / "image_to_detection.json",
    }


def plain_antecedent(rules: list[dict[str, Any]], row: dict[str, Any]) -> str | None:
    for rule in rules:
        words, objects = rule["antecedent_words"], rule["antecedent_objects"]
        if {*words} <= {*(row["words"] or ())} and {*objects} <= {*(row["objects"] or ())}:
            return " ".join([*words, *("V_" + one.replace(" ", "_") for one in objects)])
    return None


def test_antecedents_and_concepts_are_those_of_plain_python(demo: Path) -> None:
    rules = pl.read_parquet(demo / "vqa-ce" / "rules.parquet")
    questions = pl.read_parquet(demo / "vqa-ce" / "questions.parquet").head(300)
    listed = rules.to_dicts()
    kept = [rule for rule in listed if rule["in_classifier"]]
    best = best_antecedent(rules.filter("in_classifier"), questions)
    rows = questions.to_dicts()
    assert best.to_list() == [plain_antecedent(kept, row) or "none" for row in rows]
    assert best.n_unique() > 20
    sizes = {"KW": (1, 0), "KWP": (2, 0), "KO": (0, 1), "KOP": (0, 2)}
    parts = {
        name: [plain_antecedent(
            [one for one in listed
             if (len(one["antecedent_words"]), len(one["antecedent_objects"])) == size], row) for row in rows]
        for name, size in sizes.items()
    }  # fmt: skip
    parts["QT"] = questions["question_type"].to_list()
    found = concepts(rules, questions)
    for name, columns in SHORTCUTS.items():
        values = zip(*(parts[column] for column in columns), strict=True)
        assert found[name].to_list() == [None if None in some else " + ".join(some) for some in values]


def test_tests_of_rare_answers_are_those_of_plain_python(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = sm.resplit.build(**files_of(demo), method="vqa-vs-like", val_share=0.1, alpha=0.4, out=out)
    table = report.questions.with_columns(subset=report.split["subset"])
    per_image = table.group_by("image_id").agg(pl.col("subset").n_unique())
    assert (per_image["subset"] == 1).all()
    rules = pl.read_parquet(demo / "vqa-ce" / "rules.parquet")
    found = concepts(rules, table)
    expected: list[list[str]] = [[] for _ in range(len(table))]
    rows = table.select("answer", "subset").rows()
    for name in SHORTCUTS:
        trained: dict[str, Counter[str]] = defaultdict(Counter)
        for concept, (answer, subset) in zip(found[name], rows, strict=True):
            if subset == "train" and concept is not None:
                trained[concept][answer] += 1
        groups = report.groups.filter(shortcut=name)
        assert {*groups["concept"]} == {*trained}
        kept = {*groups.filter("is_kept")["concept"]}
        for at, (concept, (answer, subset)) in enumerate(zip(found[name], rows, strict=True)):
            if subset == "test" and concept in kept:
                answers = trained[concept]
                least = Fraction("1.4") * sum(answers.values()) / len(answers)
                expected[at] += [name] if answers[answer] < least else []
        tested = sum(name in one for one in expected)
        assert groups["ood_count"].sum() == report.counts[f"ood_{name}"] == tested
    assert report.counts["ood_QT"] > 0
    is_test = [subset == "test" for _, subset in rows]
    assert report.split["ood"].to_list() == [
        one if test else None for one, test in zip(expected, is_test, strict=True)
    ]
    answers = {"m": demo / "world" / "grounded_model_results.json"}
    scores = sm.resplit.score(out, answers, resamples=0).scores
    told = scores.filter(group="ood", model="m")
    assert {*told["metric"]} == {"accuracy_test"}
    assert {(name, n) for name, n in told.select("subgroup", "n").iter_rows()} == {
        (name, count) for name in SHORTCUTS if (count := report.counts[f"ood_{name}"])
    }


def test_groups_by_antecedent(demo: Path) -> None:
    report = sm.resplit.build(**files_of(demo), group_by="antecedent,answer")
    assert report.groups.columns == ["antecedent", "answer", "position", "row_count", "subset", "reason"]
    assert "none" in set(report.groups["antecedent"])
    joined = report.split.join(
        report.groups.select(group="position", side="subset"), on="group", how="left", maintain_order="left"
    )
    assert (joined["side"] == joined["subset"].replace("val", "train")).all()
    files = files_of(demo)
    del files["detections"]
    (told,) = sm.resplit.build(**files, group_by="antecedent").warnings
    assert told.startswith("detections: got none, so that ")
    assert told.endswith("fire nowhere. Give --detections of the detector they were mined with.")
