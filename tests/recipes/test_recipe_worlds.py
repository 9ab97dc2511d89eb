"""Each recipe from beginning to end, on small files in the official packing from a server of our own."""

import json
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from recipes.conftest import Publisher
from recipes.official_files import local_recipe
from recipes.serving import Server, cut

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.demo import DemoWorld
from shortcut_miner.errors import SourceError
from shortcut_miner.journal import locked
from shortcut_miner.recipes.lock import LOCK_NAME
from shortcut_miner.recipes.patience import Patience
from shortcut_miner.recipes.recipe import recipe_names, recipes_folder
from shortcut_miner.recipes.run import RecipeReport, run_recipe
from shortcut_miner.storage import MANIFEST, RUN_RECORD

HASTY = Patience(tries=3, first_wait=0.001, longest_wait=0.01, answer=20)


def follow(recipe: Path, folder: Path, **more: object) -> RecipeReport:
    return run_recipe(
        str(recipe),
        data_dir=folder / "data",
        out=folder / "out",
        patience=HASTY,
        **more,  # type: ignore[arg-type]
    )


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != RUN_RECORD}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_downloads_builds_and_checks(
    name: str, publisher: Publisher, web: Server, tmp_path: Path
) -> None:
    if name.startswith("rad"):
        pytest.importorskip("spacy")
    publisher.publish(name, web)
    recipe = local_recipe(name, web.base, tmp_path / f"{name}.toml")
    done = follow(recipe, tmp_path)
    assert sorted(done.downloaded) == sorted(web.files)
    assert done.agrees
    assert done.built is not None
    assert done.built.is_complete

    # The same function with the same files and options gives the same bytes.
    build = getattr(sm, done.recipe.command.split()[0].replace("-", "_")).build
    build(**done.inputs, **done.recipe.options, out=tmp_path / "by-hand")
    assert bytes_of(tmp_path / "by-hand") == bytes_of(tmp_path / "out")

    # All is there now, and pinned: no network is needed, and the bytes are the same.
    lock = json.loads((tmp_path / "data" / LOCK_NAME).read_text())
    assert sorted(one["name"] for one in lock["files"].values()) == sorted(web.files)
    web.asked.clear()
    before = bytes_of(tmp_path / "out")
    again = follow(recipe, tmp_path, offline=True)
    assert (again.downloaded, web.asked, dict(again.trusted)) == ((), [], {})
    assert bytes_of(tmp_path / "out") == before


def counts_of(name: str, done: RecipeReport) -> list[float]:
    assert done.built is not None
    told = tomllib.loads((recipes_folder() / f"{name}.toml").read_text())
    return [done.built.counts[one["count"]] for one in told["expected"] if "count" in one]


def test_published_numbers_that_are_met_and_missed(
    publisher: Publisher, web: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    publisher.publish("vqa-ce", web)
    counts = counts_of("vqa-ce", follow(local_recipe("vqa-ce", web.base, tmp_path / "first.toml"), tmp_path))
    by_score = sm.vqa_ce.score(
        tmp_path / "out", {"rule_classifier": tmp_path / "out" / "rules_predictions.json"}, resamples=0
    ).scores
    accuracy = {
        row["subgroup"]: row["value"]
        for row in by_score.filter(by_score["model"] == "rule_classifier").iter_rows(named=True)
        if row["metric"] == "accuracy"
    }
    values = [*counts, accuracy["all"], accuracy["easy"]]
    met = follow(local_recipe("vqa-ce", web.base, tmp_path / "met.toml", values), tmp_path)
    assert [check.got for check in met.checks] == values
    assert met.agrees

    values[1] = round(counts[1] / 1.5)
    recipe = local_recipe("vqa-ce", web.base, tmp_path / "missed.toml", values)
    capfd.readouterr()
    code = run(["recipe", str(recipe), "--data-dir", str(tmp_path / "data"), "--out", str(tmp_path / "out")])
    out, err = capfd.readouterr()
    assert code == 1
    more = counts[1] - values[1]
    told = (
        f"{counts[1]:,.0f}, expected {values[1]:,.0f}: {more:,.0f} more ({more / values[1]:+.2%}), "
        "allowed are 1%"
    )
    assert f"counterexamples: got {told}. As published." in " ".join(err.split())
    assert "5 of 6 numbers met" in out
    assert (tmp_path / "out" / MANIFEST).is_file()  # what was built stays

    code = run(["recipe", str(recipe), "--data-dir", str(tmp_path / "data"), "--out", str(tmp_path / "few"),
                "--limit", "300", "--format", "json"])  # fmt: skip
    out, err = capfd.readouterr()
    assert code == 0
    assert "published numbers are not compared with --limit" in err
    assert json.loads(out)["expected"] == []


def test_a_run_that_is_cut_off_goes_on(publisher: Publisher, web: Server, tmp_path: Path) -> None:
    publisher.publish("vqa-ce-words", web)
    size = len(web.files["v2_Annotations_Train_mscoco.zip"])
    recipe = local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml")
    web.faults["v2_Annotations_Train_mscoco.zip"] = [cut(size // 2), *[cut(0)] * 3]
    with pytest.raises(SourceError, match=r"got no download of 1 of 4 files"):
        follow(recipe, tmp_path)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "data" / LOCK_NAME).exists()
    done = follow(recipe, tmp_path)
    assert done.downloaded == ("v2_Annotations_Train_mscoco.zip",)
    assert web.ranges("v2_Annotations_Train_mscoco.zip")[-1] == f"bytes={size // 2}-"


def test_one_run_at_a_time_fills_a_folder(publisher: Publisher, web: Server, tmp_path: Path) -> None:
    publisher.publish("vqa-ce-words", web)
    recipe = local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml")
    (tmp_path / "data").mkdir()
    stages: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path / "data"):
            waiting = pool.submit(follow, recipe, tmp_path, limit=300, on_stage=stages.append)
            while not stages:
                time.sleep(0.01)
            assert (stages[0], web.asked) == (f"wait for another run in {tmp_path / 'data'}", [])
            for name, content in web.files.items():
                (tmp_path / "data" / name).write_bytes(content)
        assert waiting.result().downloaded == ()
    assert web.asked == []


def test_what_was_trusted_first_must_stay(publisher: Publisher, web: Server, tmp_path: Path) -> None:
    publisher.publish("vqa-ce-words", web)
    recipe = local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml")
    follow(recipe, tmp_path)
    lock = tmp_path / "data" / LOCK_NAME
    changed = "v2_Questions_Val_mscoco.zip"
    web.files[changed] = publisher.content("v2_Questions_Train_mscoco.zip")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(SourceError) as caught:
        run_recipe(
            str(recipe),
            data_dir=tmp_path / "new",
            lock=lock,
            out=tmp_path / "elsewhere" / "out",
            patience=HASTY,
        )
    expected = json.loads(lock.read_text())["files"][web.url(changed)]
    assert f"expected {expected['size']:,}" in str(caught.value)
    assert not (tmp_path / "new" / changed).exists()
    assert not (tmp_path / "elsewhere" / "out").exists()


def test_a_failing_build_pins_nothing(publisher: Publisher, web: Server, tmp_path: Path) -> None:
    publisher.publish("vqa-ce-words", web)
    web.files["v2_Annotations_Val_mscoco.zip"] = b"PK\x03\x04 no archive"
    with pytest.raises(SourceError, match=r"v2_Annotations_Val_mscoco\.zip"):
        follow(local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml"), tmp_path)
    assert not (tmp_path / "data" / LOCK_NAME).exists()


def test_files_that_are_there_need_no_network(
    publisher: Publisher, demo_world: DemoWorld, tmp_path: Path
) -> None:
    data = tmp_path / "data" / "vqa" / "v2"
    data.mkdir(parents=True)
    for path in (demo_world.train_questions, demo_world.train_annotations, demo_world.val_questions):
        (data / path.name).write_bytes(path.read_bytes())
    (data / "v2_Annotations_Val_mscoco.zip").write_bytes(publisher.content("v2_Annotations_Val_mscoco.zip"))
    recipe = local_recipe("vqa-ce-words", "http://127.0.0.1:9", tmp_path / "words.toml")
    done = follow(recipe, tmp_path, offline=True)
    assert done.inputs["train_questions"] == data / demo_world.train_questions.name
    assert done.built is not None
    pinned = json.loads((tmp_path / "data" / LOCK_NAME).read_text())["files"]
    assert len(pinned) == 4
    # From then on they are found by content, whatever they are called.
    for at, path in enumerate(sorted(data.iterdir())):
        path.rename(data / f"renamed-{at}{path.suffix}")
    again = follow(recipe, tmp_path, offline=True)
    assert again.built is not None
    assert again.inputs != done.inputs


def test_what_is_missing_offline_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        run_recipe("gqa-ce", data_dir=tmp_path / "data", out=tmp_path / "out", offline=True)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'data'}: got none of 2 files, expected them there (--offline).")
    assert "questions1.2.zip: https://downloads.cs.stanford.edu" in text
