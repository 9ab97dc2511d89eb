"""A build of questions that bring along labels and attributes, against plain Python; and its folder read."""

import dataclasses
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import reference
from cli.commands import Ran, RunCli
from reference import ATTRIBUTE, OBJECT, WORD, Row, Rule

from shortcut_miner.cli.run import run
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce import build as building
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig, VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.encoded import encode_folder
from shortcut_miner.diagnostics.vqa_ce.explain import explain
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs
from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport, read_folder
from shortcut_miner.diagnostics.vqa_ce.score import score
from shortcut_miner.diagnostics.vqa_ce.shortcuts import find_shortcuts
from shortcut_miner.schemas import ANTECEDENT, Rules, SplitQuestions

TEXTS = pl.List(pl.String)
CONFIG = VqaCeConfig(items="both", min_count=3, max_antecedent=3, keep_matches=True)
Build = Callable[..., BuildReport]


def questions(seed: int, count: int) -> pl.DataFrame:
    """Return questions whose answers follow their genre, their words or their image, some without labels."""
    drawn = random.Random(seed)
    rows = []
    for number in range(count):
        words = drawn.sample(["what", "is", "news", "dog", "it"], drawn.randint(1, 3))
        image = drawn.randint(0, 30)
        labels = None if image % 5 == 0 else [["dog", "cat"], ["news"], []][image % 3]
        genre, source = drawn.choice(["news", "blog", None]), drawn.choice(["a", "b"])
        told = {"news": "yes", "blog": "no"}.get(genre or "", "2" if "dog" in words else "red")
        answer = told if drawn.random() < 0.8 else drawn.choice(["yes", "no", "2"])
        rows.append(
            {
                "question_id": f"{seed}{number:04}",
                "image_id": str(image),
                "question": " ".join(words),
                "question_type": None,
                "answer_type": None,
                "answer": answer,
                "answers": [answer],
                "answer_record_key": None,
                "split": None,
                "labels": labels,
                "attributes": [f"genre={genre}"] * (genre is not None) + [f"source={source}"],
                "group": f"doc {image}",
            }
        )
    lists = dict.fromkeys(("answers", "labels", "attributes"), TEXTS)
    texts = dict.fromkeys(("question_type", "answer_type", "split"), pl.String)
    return pl.DataFrame(rows, schema_overrides=lists | texts | {"answer_record_key": pl.List(pl.UInt8)})


TRAIN, VAL = questions(1, 220), questions(2, 300)


def rows_of(table: pl.DataFrame) -> list[Row]:
    return [
        Row(
            frozenset((WORD, word) for word in row["question"].split())
            | {(OBJECT, label) for label in row["labels"] or ()}
            | {(ATTRIBUTE, name) for name in row["attributes"]},
            row["answer"],
        )
        for row in table.iter_rows(named=True)
    ]


@pytest.fixture(scope="module")
def expected() -> list[Rule]:
    return reference.build_rules(
        rows_of(TRAIN), min_count=3, max_antecedent=3, min_confidence=0.3, superset_filter="immediate"
    )


@pytest.fixture(scope="module")
def build() -> Build:
    """Return a build of frames in place of files."""

    def of(
        out: Path | None, train: pl.DataFrame, val: pl.DataFrame, labels: pl.DataFrame | None = None,
        config: VqaCeConfig = CONFIG,
    ) -> BuildReport:  # fmt: skip
        inputs = VqaCeInputs(train=train, val=val, labels=labels, facts=InputFacts.of({}))
        files = VqaCeFiles(train_questions=Path("train"), val_questions=Path("val"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(building, "read_inputs", lambda *_, **__: inputs)
            return building.build(files, config, out)

    return of


@pytest.fixture
def run_cli(capfd: pytest.CaptureFixture[str]) -> RunCli:
    def run_command(*tokens: object) -> Ran:
        code = run([str(token) for token in tokens])
        return Ran.of(code, *capfd.readouterr())

    return run_command


@pytest.fixture(scope="module")
def folder(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("attributes") / "built"
    build(out, TRAIN, VAL)
    return out


def test_rules_and_split_equal_plain_python(folder: Path, expected: list[Rule]) -> None:
    built = read_folder(folder)
    found = [
        Rule(
            frozenset(
                (kind, name) for kind, column in enumerate(ANTECEDENT) for name in row[column]
            ),
            row["answer"], row["antecedent_count"], row["rule_count"],
        )
        for row in built.rules.iter_rows(named=True)
    ]  # fmt: skip
    assert found == expected
    accepted = [[answer] for answer in VAL["answer"]]
    assert built.split["subset"].to_list() == reference.split(expected, rows_of(VAL), accepted)
    assert {*built.split["subset"]} >= {"easy", "counterexamples"}
    assert built.rules.columns[1:4] == [*ANTECEDENT]
    Rules.validate(built.rules)


def test_modalities_and_their_gains(folder: Path, expected: list[Rule]) -> None:
    rules = read_folder(folder).rules
    kinds = [sorted({kind for kind, _ in rule.antecedent}) for rule in expected]
    named = [
        ("words", "objects", "attributes")[of_rule[0]] if len(of_rule) == 1 else "multimodal"
        for of_rule in kinds
    ]
    assert rules["modality"].to_list() == named
    assert {*named} == {"words", "objects", "attributes", "multimodal"}
    assert rules["modality_gain"].is_not_null().to_list() == [len(of_rule) > 1 for of_rule in kinds]
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("words", "objects", "attributes", "multimodal"):
        assert manifest["counts"][f"rules_{name}"] == named.count(name)
    assert {*manifest["figures"]["most_confident_rule_modality_share"]} == {*named}


def test_questions_keep_their_items_and_groups(folder: Path) -> None:
    """Nothing known of the objects is null, none found is an empty list."""
    written = read_folder(folder).questions
    SplitQuestions.validate(written)
    kept = [name for name in VAL.columns if name not in ("labels", "attributes")]
    assert written.columns == [*kept, "words", "objects", "attributes"]
    rows = rows_of(VAL)
    for kind, column in ((WORD, "words"), (ATTRIBUTE, "attributes")):
        assert written[column].to_list() == [sorted(n for k, n in row.items if k == kind) for row in rows]
    objects = [labels if labels is None else sorted(labels) for labels in VAL["labels"].to_list()]
    assert written["objects"].to_list() == objects
    assert None in objects
    assert [] in objects
    assert written["group"].equals(VAL["group"])
    unknown = json.loads((folder / "manifest.json").read_text())["counts"]
    assert unknown["validation_questions_without_detections"] == objects.count(None)
    assert unknown["training_questions_without_detections"] == TRAIN["labels"].null_count()


def test_matched_again_the_folder_gives_the_same(folder: Path, expected: list[Rule]) -> None:
    encoded = encode_folder(read_folder(folder))
    assert encoded.vocabulary.attributes is not None
    fired = reference.match(expected, rows_of(VAL))
    ids = VAL["question_id"].to_list()
    pairs = [(ids[row], rule) for row, of_row in enumerate(fired) for rule in of_row]
    assert pl.read_parquet(folder / "matches.parquet").rows() == pairs
    for row in range(0, len(VAL), 31):
        explained = explain(folder, ids[row])
        assert explained.rules["rule_id"].to_list() == fired[row]
        assert explained.question["attributes"] == sorted(VAL["attributes"][row])
        assert not fired[row] or "antecedent_attributes" in repr(explained)


def test_exploited_shortcuts_name_attributes(folder: Path, expected: list[Rule], tmp_path: Path) -> None:
    given = ["yes" if "genre=news" in names else "no" for names in VAL["attributes"].to_list()]
    said = pl.DataFrame({"question_id": VAL["question_id"], "answer": given})
    said.write_csv(tmp_path / "said.csv")
    report = score(folder, {"m": tmp_path / "said.csv"}, ScoreConfig(resamples=0, min_count=1))
    found = report.exploited_shortcuts
    assert found.columns[2:5] == [*ANTECEDENT]
    fired = reference.match(expected, rows_of(VAL))
    for row in found.iter_rows(named=True):
        rule = expected[row["rule_id"]]
        assert (row["antecedent_attributes"], row["answer"]) == (rule.attributes, rule.answer)
        asked = [answer for answer, of_row in zip(given, fired, strict=True) if row["rule_id"] in of_row]
        assert row["firing_count"] == len(asked)
        assert row["agreement_count"] == asked.count(rule.answer)
    news = found.filter(pl.col("antecedent_attributes") == pl.lit(["genre=news"], TEXTS))
    assert news.filter(pl.col("antecedent_words").list.len() == 0)["agreement"].max() == 1


def test_labels_in_rows_or_as_detections_give_the_same_tables(build: Build) -> None:
    both = pl.concat([TRAIN, VAL]).filter(pl.col("labels").is_not_null()).unique("image_id")
    detections = both.select("image_id", label="labels", score=pl.lit(None, pl.Float64)).explode(
        "label", empty_as_null=True
    )
    own = build(None, TRAIN, VAL)
    joined = build(None, TRAIN.drop("labels"), VAL.drop("labels"), detections)
    for name, table in own.tables.items():
        assert table.equals(joined.tables[name]), name
    assert own.counts == joined.counts


def test_without_columns_of_items_nothing_speaks_of_them(build: Build, tmp_path: Path) -> None:
    """Tables have the columns that they had before there were attributes."""
    plain = [table.drop("labels", "attributes", "group") for table in (TRAIN, VAL)]
    build(tmp_path / "built", *plain, None, dataclasses.replace(CONFIG, items="words"))
    assert "attributes" not in (tmp_path / "built" / "manifest.json").read_text()
    built = read_folder(tmp_path / "built")
    assert not {"antecedent_attributes"} & {*built.rules.columns}
    assert built.questions.columns == [*plain[1].columns, "words", "objects"]
    assert encode_folder(built).vocabulary.attributes is None


def test_labels_are_no_items_of_a_build_of_words(build: Build) -> None:
    report = build(None, TRAIN, VAL, None, dataclasses.replace(CONFIG, items="words"))
    assert report.questions["objects"].null_count() == len(VAL)
    assert "validation_questions_without_detections" not in report.counts
    assert {*report.rules["modality"]} == {"words", "attributes", "multimodal"}


def test_groups_are_held_out_whole() -> None:
    """In place of images, which here are all different ones."""
    apart = TRAIN.with_columns(image_id=pl.col("question_id"))
    found = find_shortcuts(apart, VAL, None, dataclasses.replace(CONFIG, holdout=True), measure=False)
    by_image = find_shortcuts(
        TRAIN.with_columns(image_id="group").drop("group"), VAL, None,
        dataclasses.replace(CONFIG, holdout=True), measure=False,
    )  # fmt: skip
    assert found.holdout is not None
    assert by_image.holdout is not None
    assert found.holdout.whole().rows.items.tolist() == by_image.holdout.whole().rows.items.tolist()
    assert 0 < len(found.holdout) < len(TRAIN)


def test_rules_and_explain_show_attributes(folder: Path, run_cli: RunCli) -> None:
    ran = run_cli("rules", folder, "--contains", "genre=news", "--modality", "attributes", "--format", "json")
    assert ran.json["total"] > 0
    assert all("genre=news" in rule["antecedent_attributes"] for rule in ran.json["rules"])
    ran = run_cli("rules", folder, "--contains", "genre=news", "--limit", 3)
    assert ran.out.splitlines()[0].split()[:4] == ["rule", "words", "objects", "attributes"]
    ran = run_cli("rules", folder, "--contains", "genre=nws", "--quiet")
    told = "contains: got 'genre=nws', but no rule contains it. Did you mean 'genre=news'?"
    assert ran.err == f"warning: {told}\n"
    row = VAL.filter(pl.col("labels").is_null()).row(0, named=True)
    ran = run_cli("explain", folder, row["question_id"])
    assert f"attributes  {', '.join(row['attributes'])}" in ran.out
    assert "objects     not known" in ran.out


def test_scores_print_attributes(folder: Path, run_cli: RunCli, tmp_path: Path) -> None:
    says = pl.col("attributes").list.contains("genre=news")
    said = VAL.select("question_id", answer=pl.when(says).then(pl.lit("yes")).otherwise(pl.lit("no")))
    said.write_csv(tmp_path / "said.csv")
    ran = run_cli("vqa-ce", "score", folder, "--predictions", f"m={tmp_path / 'said.csv'}")
    assert ran.code == 0
    assert re.search(r"rule +words +objects +attributes +answer", ran.out)
