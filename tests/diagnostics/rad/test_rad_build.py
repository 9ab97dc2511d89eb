"""The folder that a build writes, and the sources that it reads."""

import json
from pathlib import Path

import polars as pl
import pytest
from diagnostics.rad.tables import questions
from polars.testing import assert_frame_equal

from shortcut_miner.demo import DemoWorld
from shortcut_miner.demo.rad import run_rad
from shortcut_miner.diagnostics.rad.build import build
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles
from shortcut_miner.diagnostics.rad.outputs import read_folder
from shortcut_miner.errors import ConfigError, SchemaError, SourceError
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.storage import read_provenance
from shortcut_miner.verifying import verify


def mixed() -> pl.DataFrame:
    return questions(
        *[("What color is the bus?", color) for color in ("red", "blue", "clear")] * 4,
        *[("How many people are there?", number) for number in ("1", "2", "5")] * 4,
        *[("What kind of animal is this?", kind) for kind in ("cat", "dog", "unknown")] * 4,
        ("Is it?", "yes"),
    ).with_columns(
        answer_type=pl.when(pl.col("answer") == "yes").then(pl.lit("yes/no")).otherwise("answer_type")
    )


@pytest.fixture
def built(tmp_path: Path) -> Path:
    mixed().write_parquet(tmp_path / "table.parquet")
    build(RadFiles(questions=tmp_path / "table.parquet"), RadConfig(), tmp_path / "rad")
    return tmp_path / "rad"


def test_the_files(built: Path) -> None:
    official = {
        f"yes-no_from_{kind}_val_{what}.json"
        for kind in ("colors", "how-many", "what-kind")
        for what in ("questions", "annotations")
    }
    tables = {f"{name}.parquet" for name in ("augmentations", "skipped", "questions", "pools")}
    assert {path.name for path in built.iterdir()} == official | tables | {
        "README.md",
        "manifest.json",
        "run.json",
    }


def test_the_manifest_counts_everything(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    assert manifest["counts"] == {
        "questions": 37, "images": 19, "augmentations": 28, "skipped": 9, "augmentations_colors": 8,
        "augmentations_how-many": 12, "augmentations_what-kind": 8, "yes": manifest["counts"]["yes"],
    }  # fmt: skip
    assert manifest["dropped"] == {
        "a yes/no question": 1, "the answer is not a colour": 4, "the answer names no kind": 4,
    }  # fmt: skip
    figures = manifest["figures"]
    assert figures["by_type"]["how-many"]["forms"] == {"are-there": 12}
    assert figures["by_type"]["colors"]["openings"] == 12
    assert figures["skipped_before_any_type"] == {"a yes/no question": 1}
    assert figures["spacy_model"]["name"].startswith("en_core_web_sm")
    assert figures["spacy_model"]["version"] == "3.8.0"
    provenance = read_provenance(built / "augmentations.parquet")
    assert provenance["counts"] == manifest["counts"]


def test_the_official_files_read_as_vqa(built: Path) -> None:
    folder = read_folder(built)
    for kind in ("colors", "how-many", "what-kind"):
        stem = built / f"yes-no_from_{kind}_val"
        table, _, _ = read_vqa(f"{stem}_questions.json", f"{stem}_annotations.json")
        own = folder.augmentations.filter(pl.col("augmentation") == kind)
        columns = ["question_id", "image_id", "question", "answer", "question_type"]
        assert_frame_equal(table.select(columns), own.select(columns))
        assert set(table["answer_type"]) == {"yes/no"}
        assert table["answers"].list.n_unique().to_list() == [1] * len(table)
        assert table["answers"].list.len().to_list() == [10] * len(table)
        said = table.select("question_id", answer=pl.lit("yes"))
        assert set(score_questions(table, said)["accuracy"]) <= {0.0, 100.0}
    record = json.loads((built / "yes-no_from_colors_val_annotations.json").read_text())["annotations"][0]
    assert isinstance(record["question_id"], int)
    assert [one["answer_id"] for one in record["answers"]] == list(range(1, 11))
    assert {one["answer_confidence"] for one in record["answers"]} == {"yes"}


def test_every_question_is_in_one_table(built: Path) -> None:
    ids = [pl.read_parquet(built / f"{name}.parquet")["question_id"] for name in ("augmentations", "skipped")]
    assert sorted(pl.concat(ids)) == sorted(read_folder(built).questions["question_id"])


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "arrow", "parquet"])
def test_tables_of_any_kind_give_the_same_rows(kind: str, built: Path, tmp_path: Path) -> None:
    table = mixed().drop("answer_record_key", "question_type")
    path = tmp_path / f"mine.{kind}"
    flat = table.with_columns(pl.col("answers").list.join("|"))
    if kind in ("csv", "xlsx"):
        {"csv": flat.write_csv, "xlsx": flat.write_excel}[kind](path)  # type: ignore[operator]
    else:
        {"jsonl": table.write_ndjson, "arrow": table.write_ipc, "parquet": table.write_parquet}[kind](path)  # type: ignore[operator]
    build(RadFiles(questions=path), RadConfig(), tmp_path / "out")
    assert_frame_equal(read_folder(tmp_path / "out").augmentations, read_folder(built).augmentations)


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "mine_test.csv"
    rows = (f"{at};What color is the bus?;{('red', 'blue')[at % 2]}\n" for at in range(10))
    path.write_text("id;text;label\n" + "".join(rows))
    config = RadConfig(columns="question_id=id, question=text,answer=label")
    report = build(RadFiles(questions=path), config, tmp_path / "out")
    assert report.counts["augmentations_colors"] == 10
    assert (tmp_path / "out" / "yes-no_from_colors_test_questions.json").exists()
    named = build(
        RadFiles(questions=path), RadConfig(columns=config.columns, split="my-split"), tmp_path / "named"
    )
    assert named.counts == report.counts
    assert (tmp_path / "named" / "yes-no_from_colors_my-split_questions.json").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "question_id,question\n1,Why?\n",
            "column answer: got no such column, expected the answer of each row",
        ),
        (
            "question_id,question,answer\n1,Why?,a\n1,How?,b\n",
            "got '1' 2 times, expected an id that occurs once",
        ),
        (
            "question_id,question,answer\n1, ,a\n2,How?,b\n",
            "line 2, question: got ' ', expected text that is not blank",
        ),
        (
            "question_id,question,answer\n1,Why?\n2,How?,b\n",
            "line 2, row: got 2 values, expected 3, as in the header",
        ),
        ("question_id,question,answer\n", "got no rows, expected at least one"),
    ],
)
def test_bad_tables(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        build(RadFiles(questions=path), RadConfig(), None)
    assert told in str(caught.value)


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    good = {"question_id": 1, "question": "What color is the bus?", "answer": "red"}
    lines = [good, good | {"question_id": 2, "answer": "blue"}, good | {"question_id": None}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n")
    report = build(RadFiles(questions=path), RadConfig(on_bad_row="skip"), None)
    assert not report.is_complete
    assert report.counts["questions"] == 2
    assert sum(count for reason, count in report.dropped.items() if reason.startswith("questions: ")) == 2


def test_a_questions_json_needs_annotations(tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    path.write_text('{"questions": []}')
    with pytest.raises(
        ConfigError, match=r"annotations: got none for .*questions\.json, expected the answers"
    ):
        build(RadFiles(questions=path), RadConfig(), None)


def test_gqa_questions(tmp_path: Path) -> None:
    path = tmp_path / "val_balanced_questions.json"
    colors = {f"0{at}": ("blue", "red")[at % 2] for at in range(10)}
    records = {
        key: {"question": "What color is the bus?", "imageId": "7", "answer": color}
        for key, color in colors.items()
    } | {
        "11": {"question": "Is it a bus?", "imageId": "7", "answer": "no"},
        "12": {"question": "What color is the bus, blue or light red?", "imageId": "7", "answer": "blue"},
    }
    path.write_text(json.dumps(records))
    build(RadFiles(questions=path), RadConfig(), tmp_path / "out")
    folder = read_folder(tmp_path / "out")
    assert folder.augmentations["question_id"].to_list() == sorted(colors)
    skipped = pl.read_parquet(tmp_path / "out" / "skipped.parquet").select("question_id", "reason")
    assert skipped.rows() == [("11", "a yes/no question"), ("12", "the question offers the answers")]
    written = json.loads((tmp_path / "out" / "yes-no_from_colors_val_questions.json").read_text())
    assert written["questions"][0]["question_id"] == "00"


@pytest.mark.real
def test_real_gqa_questions(real_data: Path, tmp_path: Path) -> None:
    path = real_data / "gqa" / "gqa_ood_val_tail_questions.json"
    report = build(RadFiles(questions=path), RadConfig(), tmp_path / "out")
    assert report.counts["questions"] == 1_358
    assert report.counts["augmentations"] + report.counts["skipped"] == 1_358
    assert report.counts["augmentations"] > 0


def test_pools_of_another_build(built: Path, tmp_path: Path) -> None:
    shard = tmp_path / "shard.parquet"
    mixed()[::4].write_parquet(shard)
    build(RadFiles(questions=shard, pools=built / "pools.parquet"), RadConfig(), tmp_path / "out")
    own = read_folder(tmp_path / "out").augmentations
    whole = read_folder(built).augmentations.filter(pl.col("question_id").is_in(own["question_id"].implode()))
    assert_frame_equal(own, whole)
    with pytest.raises(SchemaError, match="expected the pools"):
        build(RadFiles(questions=shard, pools=built / "skipped.parquet"), RadConfig(), None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"types": "colours"}, "types: got 'colours', expected all, or some of colors, how-many, what-kind"),
        (
            {"forms": ""},
            "forms: got '', expected all, or some of are, are-there, bare, no-verb, seen, modified, "
            "does-have, have, number-words, color-are, what-type",
        ),
        ({"mode": "poetic"}, "mode: got 'poetic', expected one of grammar, literal. Change --mode."),
        ({"pool_by": "image"}, "pool_by: got 'image', expected one of type, subject. Change --pool-by."),
        ({"split": "a/b"}, "split: got 'a/b', expected letters, digits, - and _"),
        ({"seed": 1.5}, "seed: got 1.5, expected a whole number"),
    ],
)
def test_options_are_checked(options: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RadConfig(**options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(told)


def test_the_demo_world_joins_in(world: DemoWorld, tmp_path: Path) -> None:
    stages: list[str] = []
    demo = run_rad(world, tmp_path, stages.append)
    assert stages == ["read", "find sources", "draw", "phrase", "write", "score"]
    counts = demo.built.counts
    assert min(counts[f"augmentations_{kind}"] for kind in ("colors", "how-many", "what-kind")) > 100
    rad = demo.scores.scores.filter(metric="rad", subgroup="all")
    low = dict(rad.select("model", "low").rows())
    high = dict(rad.select("model", "high").rows())
    assert low["grounded_model"] > high["shortcut_model"]
    first = {path.name: path.read_bytes() for path in (tmp_path / "rad-answers").iterdir()}
    again = run_rad(world, tmp_path / "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again" / "rad-answers").iterdir()} == first
    assert_frame_equal(again.scores.scores, demo.scores.scores)


def test_a_leak_check_writes_its_record_beside_the_manifest(tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    mixed().write_parquet(table)
    files, out = RadFiles(questions=table), tmp_path / "rad"
    report = build(files, RadConfig(), out, check_leak=True)
    record = json.loads((out / "leak.json").read_text())
    assert record["command"] == "rad build"
    assert [one["group"] for one in record["leak"]] == ["colors", "how-many", "what-kind"]
    assert report.leak is not None
    assert record["leak"] == report.leak.to_dicts()
    assert report.words["leak of colors"].startswith("text alone tells ")
    assert "leak.json" not in json.loads((out / "manifest.json").read_text())["files"]
    verified = verify(out)
    assert verified.agrees
    assert verified.others == ()
    plain = {
        path.name: path.read_bytes() for path in out.iterdir() if path.name not in ("run.json", "leak.json")
    }
    build(files, RadConfig(), out)
    assert not (out / "leak.json").exists()
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"} == plain


def test_somebody_elses_leak_record_stays(tmp_path: Path) -> None:
    mixed().write_parquet(tmp_path / "table.parquet")
    files, out = RadFiles(questions=tmp_path / "table.parquet"), tmp_path / "rad"
    build(files, RadConfig(), out)
    (out / "leak.json").write_text("{}")
    build(files, RadConfig(), out)
    assert (out / "leak.json").read_text() == "{}"
    with pytest.raises(ConfigError, match=r"leak\.json', which rad build did not write"):
        build(files, RadConfig(), out, check_leak=True)


def test_shards_of_a_balanced_draw(tmp_path: Path) -> None:
    """A shard draws what the whole draws: by the whole's pools and balance, which must come together."""
    whole, shard, out = (tmp_path / name for name in ("whole", "shard.parquet", "out"))
    mixed().write_parquet(tmp_path / "questions.parquet")
    mixed()[::4].write_parquet(shard)
    config = RadConfig(draw="balanced", per_question=2)
    build(RadFiles(questions=tmp_path / "questions.parquet"), config, whole)
    pools, balance = whole / "pools.parquet", whole / "balance.parquet"
    build(RadFiles(questions=shard, pools=pools, balance=balance), config, out)
    own = read_folder(out).augmentations
    assert_frame_equal(own, read_folder(whole).augmentations.join(own, on="question_id", how="semi"))
    assert pl.read_parquet(out / "balance.parquet").equals(pl.read_parquet(balance))
    with pytest.raises(ConfigError, match="balance: got none beside pools for the draw 'balanced'"):
        build(RadFiles(questions=shard, pools=pools), config, None)
    with pytest.raises(ConfigError, match="balance: got a file with no pools"):
        build(RadFiles(questions=shard, balance=balance), config, None)
    with pytest.raises(ConfigError, match="balance: got a file with the draw 'paper'"):
        build(RadFiles(questions=shard, pools=pools, balance=balance), RadConfig(), None)
    with pytest.raises((SchemaError, SourceError), match=r"expected the balance\.parquet of a build"):
        build(RadFiles(questions=shard, pools=pools, balance=pools), config, None)


def test_a_table_without_ids(tmp_path: Path) -> None:
    """Questions and answers are enough: rows are numbered, and each is about an image of its own."""
    rows = mixed().select("question", "answer")
    rows.write_csv(tmp_path / "plain.csv")
    report = build(RadFiles(questions=tmp_path / "plain.csv"), RadConfig(), tmp_path / "out")
    assert report.notes[0] == "questions: no column question_id: rows are numbered from 1"
    numbered = rows.with_row_index("question_id", offset=1).cast({"question_id": pl.String})
    numbered.with_columns(image_id="question_id").write_csv(tmp_path / "numbered.csv")
    other = build(RadFiles(questions=tmp_path / "numbered.csv"), RadConfig(), None)
    assert_frame_equal(report.augmentations, other.augmentations)
    assert sorted([*report.augmentations["question_id"], *report.skipped["question_id"]], key=int) == [
        str(at) for at in range(1, 38)
    ]
    with pytest.raises(
        SourceError, match="column id: got no such column, expected the question_id of each row"
    ):
        build(RadFiles(questions=tmp_path / "plain.csv"), RadConfig(columns="question_id=id"), None)


def test_visdial(tmp_path: Path) -> None:
    """Dialogs answer in sentences and in words: what gives augmentations, with further forms and without."""
    asked = {
        "what color is the cat ?": "white",
        "how many people are there ?": "there are 2 of them",
        "how many red cars ?": "just one",
        "how many windows can you see": "i can see 3",
        "how many dogs ?": "two",
        "what kind of dog is this ?": "poodle",
        "is it sunny ?": "yes",
    }
    rounds = [{"question": at, "answer": at} for at in range(len(asked))]
    data = {
        "questions": [*asked],
        "answers": [*asked.values()],
        "dialogs": [{"image_id": 9, "dialog": rounds}],
    }
    path = tmp_path / "visdial_1.0_val.json"
    path.write_text(json.dumps({"split": "val", "version": "1.0", "data": data}))
    found = {}
    for forms in ("paper", "all"):
        report = build(RadFiles(questions=path), RadConfig(forms=forms), tmp_path / forms)
        assert report.counts["questions"] == 7
        reasons = report.skipped.filter(pl.col("reason") != "no other answer to draw")["question_id"]
        found[forms] = 7 - len(reasons)
    assert found == {"paper": 2, "all": 6}
