"""``power``: numbers alone, a built folder's subsets, and what it refuses."""

import json
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli
from cli.writers import Inputs

from shortcut_miner import power
from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.paired_power import paired_power
from shortcut_miner.scoring.power_config import PowerConfig

NUMBERS = ("power", "--n", 3169, "--discordant", 0.2)


def two_models(inputs: Inputs) -> tuple[object, ...]:
    answers = (f"a={inputs.answers('vqa-ce')}", f"b={inputs.answers('other')}")
    return ("power", inputs.built("vqa-ce"), *(word for one in answers for word in ("--predictions", one)))


def test_numbers_alone(run_cli: RunCli) -> None:
    """The asked share first, then the usual ones; differences in points."""
    ran = run_cli(*NUMBERS)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].split() == [
        "row_count", "discordant", "minimal_detectable", "effect", "required_rows", "power", "verdict"
    ]  # fmt: skip
    assert lines[2].split() == ["3,169", "0.200", "2.220", "2.000", "4,016", "0.699", "too", "small"]
    assert [line.split()[1] for line in lines[3:]] == ["0.050", "0.100", "0.400"]
    found = json.loads(run_cli(*NUMBERS, "--method", "connor", "--format", "json").out)["power"]
    assert found[0]["required_rows"] == 3923
    assert found[0]["minimal_detectable"] == pytest.approx(0.022248264481)


def test_a_built_folder(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    """All questions first, then each subset; a right answer to every question beside "yes" to every one."""
    ran = run_cli(*two_models(inputs), "--out", tmp_path / "power", "--effect", 0.2)
    assert ran.code == 0, ran.err
    table = pl.read_parquet(tmp_path / "power" / "power.parquet")
    sizes = dict(table.select("subset", "row_count").iter_rows())
    assert [*sizes][:2] == ["all", "counterexamples"]
    assert sizes["all"] == sum(sizes.values()) - sizes["all"]
    assert table["only_b"].to_list() == [0] * len(table)
    assert table["difference"].to_list() == table["discordant"].to_list()
    assert run_cli("verify", tmp_path / "power").code == 0
    told = json.loads(run_cli(*two_models(inputs), "--effect", 0.2, "--format", "json").out)["power"]
    assert told == json.loads(json.dumps(table.to_dicts()))


def test_a_model_that_another_repeats(inputs: Inputs, run_cli: RunCli) -> None:
    """No row differs: p is 1, nothing can be planned, and the same answers are a warning."""
    same = inputs.answers("vqa-ce")
    words = ("power", inputs.built("vqa-ce"), "--predictions", f"a={same}", "--predictions", f"b={same}")
    ran = run_cli(*words, "--format", "json")
    first = json.loads(ran.out)["power"][0]
    assert (first["p_value"], first["p_midp"], first["power"], first["verdict"]) == (
        1,
        None,
        None,
        "too small",
    )
    assert "same answers" in ran.err


def test_in_python(inputs: Inputs) -> None:
    models = {"a": inputs.answers("vqa-ce"), "b": inputs.answers("other")}
    report = power(inputs.built("vqa-ce"), models, PowerConfig(method="bootstrap", resamples=100))
    assert report.power["power_low"].is_not_null().any()
    assert report.is_complete
    with pytest.raises(ConfigError, match="got 1 models, expected two or more"):
        power(inputs.built("vqa-ce"), {"a": inputs.answers("vqa-ce")})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--n", 10), "folder: got none, expected what a build command wrote, or --n and --discordant."),
        (("--n", -1, "--discordant", 0.2), "n: got -1, expected a whole number of 1 or more"),
        (("--n", 10, "--discordant", 1.2), "discordant: got 1.2, expected a share from 0 to 1"),
        (
            ("--n", 10, "--discordant", 0.01),
            "effect: got 0.02, expected at most the share of rows",
        ),
        (("--n", 10, "--discordant", 0.2, "--method", "bootstrap"), "no images are given"),
        (
            ("--n", 10, "--discordant", 0.2, "--alpha", 1),
            "alpha: got 1.0, expected a number above 0, below",
        ),
        (("--n", 10, "--discordant", 0.2, "--out", "x"), "folder: got none, expected what a build command"),
        (("vqa-ce", "--n", 10), "--n, --discordant: got a folder beside, expected one or the other"),
    ],
)
def test_what_is_refused(words: tuple[object, ...], told: str, run_cli: RunCli) -> None:
    ran = run_cli("power", *words)
    assert ran.code == 2
    assert told in ran.err
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [("nowhere", "got no such folder, expected a folder that"), ("a.txt", "got a file, expected")],
)
def test_what_is_no_built_folder_is_told_as_by_export(
    name: str, told: str, run_cli: RunCli, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a")
    answers = ("--predictions", f"a={tmp_path / 'a.txt'}", "--predictions", f"b={tmp_path / 'a.txt'}")
    ran = run_cli("power", tmp_path / name, *answers)
    assert (ran.code, f"{tmp_path / name}: {told}" in ran.err) == (2, True), ran.err
    exported = run_cli("export", tmp_path / name, "--to", "huggingface", "--out", tmp_path / "out")
    assert exported.err == ran.err


def test_a_score_with_a_baseline_says_what_it_can_show(inputs: Inputs, run_cli: RunCli) -> None:
    """The largest of the models compared, here the one that is never right beside the one that always is."""
    folder = inputs.built("vqa-ce")
    models = {"a": inputs.answers("vqa-ce"), "b": inputs.answers("other")}
    words = [word for name, path in models.items() for word in ("--predictions", f"{name}={path}")]
    ran = run_cli("vqa-ce", "score", folder, *words, "--resamples", 0, "--baseline", "a")
    (line,) = [line for line in ran.err.splitlines() if "least difference" in line]
    table = power(folder, {**models}, PowerConfig(method="connor")).power
    least = dict(table.select("subset", "minimal_detectable").iter_rows())
    assert line.startswith("note: least difference to 'a' that is found with a chance of 80%: all ")
    shown = {part.split()[0]: part for part in line.partition("%: ")[2].split(", ")}
    assert shown.keys() == least.keys()
    assert float(shown["all"].split()[1]) >= round(100 * (least["all"] or 0), 1)
    assert "least difference" not in run_cli("vqa-ce", "score", folder, *words, "--resamples", 0).err


@pytest.mark.sample(3)
@pytest.mark.parametrize("room", ["vqa-ce", "rad", "swapmix", "gqa-ood", "pairs", "slices", "pope"])
def test_every_score_with_a_baseline_says_so(room: str, inputs: Inputs, run_cli: RunCli) -> None:
    """A model beside itself: no difference can be planned, and the line is there."""
    options = ("--original", "--augmented") if room == "rad" else ("--predictions",)
    given = [(option, f"{name}={inputs.answers(room)}") for option in options for name in ("a", "b")]
    words = [word for pair in given for word in pair]
    more = ("--on-extra", "ignore") if room == "rad" else ()  # one file answers both sides
    ran = run_cli(room, "score", inputs.built(room), *words, "--resamples", 0, "--baseline", "a", *more)
    assert ran.code == (3 if more else 0), ran.err
    (line,) = [line for line in ran.err.splitlines() if "least difference" in line]
    assert "to 'a' that is found with a chance of 80%: all none" in line


def test_the_line_is_of_the_subsets_and_models_that_are_there() -> None:
    rows = pl.DataFrame(
        [
            (f"{at}", f"{at}", "s" if at < 100 else "t", model, 100.0 * (at % step == 0))
            for at in range(400)
            for model, step in (("a", 2), ("b", 3), ("c", 2))
        ],
        schema=["question_id", "image_id", "subset", "model", "accuracy"],
        orient="row",
    )
    table = paired_power(rows, [("b", "a"), ("c", "a")], PowerConfig(method="connor"))
    (line,) = least_difference_note(rows, "a", "accuracy of cats")
    assert line.startswith("least difference in accuracy of cats to 'a' that")
    assert line.endswith("all none, s none, t none")  # c never differs from a
    (line,) = least_difference_note(rows.filter(pl.col("model") != "c"), "a")
    told = dict(part.split(" ", 1) for part in line.partition("%: ")[2].split(", "))
    assert told == {
        row["subset"]: f"{100 * row['minimal_detectable']:.1f} points"
        for row in table.filter(model_a="b").iter_rows(named=True)
    }
    assert least_difference_note(rows, None) == ()
    assert least_difference_note(rows.filter(model="a"), "a") == ()
    (line,) = least_difference_note(rows.drop("subset").filter(pl.col("model") != "c"), "a")
    assert line.endswith(f"all {told['all']}")


def test_of_no_questions_nothing_is_said(run_cli: RunCli) -> None:
    ran = run_cli("power", "--n", 0, "--discordant", 0.2, "--format", "json")
    assert ran.code == 3
    for row in json.loads(ran.out)["power"]:
        assert row["row_count"] == 0
        assert {row[name] for name in ("minimal_detectable", "power", "verdict")} == {None}


def test_other_subsets_than_the_folders(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    """Each is what it would be as a subset of its own; questions that are not named are in none."""
    models = {"a": inputs.answers("vqa-ce"), "b": inputs.answers("other")}
    ids = pl.read_parquet(inputs.built("vqa-ce") / "questions.parquet")["question_id"].sort()
    named = pl.DataFrame({"question_id": ids[:20], "subset": ["x", "y"] * 10})
    named.write_csv(tmp_path / "rows.csv")
    table = power(inputs.built("vqa-ce"), models, subsets=tmp_path / "rows.csv").power
    assert dict(table.select("subset", "row_count").iter_rows()) == {"all": 20, "x": 10, "y": 10}
    words = [word for name, path in models.items() for word in ("--predictions", f"{name}={path}")]
    words += ["--rows", str(tmp_path / "rows.csv"), "--format", "json"]
    ran = run_cli("power", inputs.built("vqa-ce"), *words)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["power"] == json.loads(json.dumps(table.to_dicts()))


def test_a_subset_that_nobody_answers_is_a_row_of_nulls(
    inputs: Inputs, run_cli: RunCli, tmp_path: Path
) -> None:
    answers = pl.read_parquet(inputs.answers("vqa-ce"))
    ids = answers["question_id"].sort()
    pl.DataFrame({"question_id": ids[:4], "subset": ["x", "x", "y", "y"]}).write_csv(tmp_path / "rows.csv")
    answers.filter(pl.col("question_id").is_in(ids[:2].implode())).write_parquet(tmp_path / "some.parquet")
    words = [
        "--predictions",
        f"a={tmp_path / 'some.parquet'}",
        "--predictions",
        f"b={inputs.answers('other')}",
    ]
    words += ["--rows", tmp_path / "rows.csv", "--on-missing", "skip", "--format", "json"]
    ran = run_cli("power", inputs.built("vqa-ce"), *words)
    assert ran.code == 3, ran.err
    rows = {row["subset"]: row for row in json.loads(ran.out)["power"]}
    assert rows["x"]["row_count"] == 2
    assert (rows["y"]["row_count"], rows["y"]["p_value"], rows["y"]["verdict"]) == (0, None, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "question_id,kind\n1,x\n",
            "got 1 rows with the columns 'question_id', 'kind', expected question_id and",
        ),
        ("question_id,subset\nnobody,x\n", "got 1 question ids that the folder has not ('nobody')"),
        ("question_id,subset\n{0},x\n{0},y\n", "got 1 questions in several subsets ('{0}')"),
        ("question_id,subset\n{0},\n", "subset"),
        ("", "got"),
    ],
)
def test_subsets_that_are_none(text: str, told: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    first = pl.read_parquet(inputs.answers("vqa-ce"))["question_id"][0]
    (tmp_path / "rows.csv").write_text(text.format(first))
    words = [f"a={inputs.answers('vqa-ce')}", f"b={inputs.answers('other')}"]
    given = [word for one in words for word in ("--predictions", one)]
    ran = run_cli("power", inputs.built("vqa-ce"), *given, "--rows", tmp_path / "rows.csv")
    assert (ran.code, ran.out) == (2, "")
    assert f"{tmp_path / 'rows.csv'}: " in ran.err
    assert told.format(first) in ran.err
