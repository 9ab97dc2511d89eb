import json
from pathlib import Path
from typing import Any

import pytest
from cli.commands import RunCli, options, tiny_world, write_world

from shortcut_miner.cli.app import build_app, commands
from shortcut_miner.cli.command import Command
from shortcut_miner.cli.options import METHOD

QUESTIONS = ("--train-questions", "--val-questions")  # needed where there is no --table


@pytest.fixture
def config_of(run_cli: RunCli, tmp_path: Path) -> Any:
    """Return a function: TOML text and options -> the configuration in the manifest."""
    files = write_world(tiny_world(), tmp_path / "in")

    def build(toml: str, *tokens: object) -> dict[str, Any]:
        path = tmp_path / "run.toml"
        path.write_text(toml, encoding="utf-8")
        out = tmp_path / "out"
        ran = run_cli("vqa-ce", "build", *options(files), "--out", out, "--config", path, *tokens)
        assert ran.code == 0, ran.err
        config: dict[str, Any] = json.loads((out / "manifest.json").read_text())["config"]
        return config

    return build


def test_the_file_wins_over_defaults(config_of: Any) -> None:
    config = config_of('min_count = 2\nmin_confidence = 0.25\nitems = "words"\nkeep_dropped = true\n')
    assert (config["min_count"], config["min_confidence"]) == (2, 0.25)
    assert (config["items"], config["keep_dropped"]) == ("words", True)
    assert config["superset_filter"] == "immediate"


def test_options_win_over_the_file(config_of: Any) -> None:
    toml = "min_count = 2\nmin_confidence = 0.25\nkeep_dropped = true\n"
    config = config_of(toml, "--min-count", 3, "--no-keep-dropped")
    assert (config["min_count"], config["min_confidence"], config["keep_dropped"]) == (3, 0.25, False)


def test_a_preset_in_the_file_fills_in_what_neither_names(config_of: Any) -> None:
    config = config_of('preset = "paper"\nmin_count = 2\nvote = "best"\n', "--superset-filter", "none")
    assert config["preset"] == "paper"
    assert (config["superset_filter"], config["vote"]) == ("none", "best")
    assert (config["support_rounding"], config["empty_rule"]) == ("ceil", True)


def test_a_preset_on_the_command_line_wins_over_the_files(config_of: Any) -> None:
    config = config_of('preset = "paper"\nmin_count = 2\n', "--preset", "code")
    assert (config["superset_filter"], config["vote"], config["empty_rule"]) == ("immediate", "best", False)


def test_whole_numbers_serve_as_fractions(config_of: Any) -> None:
    assert config_of("min_count = 2\nmin_confidence = 1\n")["min_confidence"] == 1.0


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("min_counts = 3", ["min_counts: got no such option", "'min_count'"]),
        (
            'out = "x"\ntrain_questions = "y"',
            ["out: got no such option", "train_questions: got no such option"],
        ),
        ("[vqa-ce]\nmin_count = 3", ["vqa-ce: got no such option"]),
        ("min_count = [1, 2]", ["min_count: got [1, 2], expected a whole number"]),
        ("min_count = 2026-01-01", ["min_count: got datetime.date"]),
        ('min_count = "9"', ['min_count: got "9", expected a whole number']),
        ("min_count = 9.0", ["min_count: got 9.0, expected a whole number"]),
        ("min_count = true", ["min_count: got true, expected a whole number"]),
        ('min_confidence = "0.5"', ['min_confidence: got "0.5", expected a number']),
        ("holdout = 1", ["holdout: got 1, expected true or false"]),
        ('holdout = "yes"', ['holdout: got "yes", expected true or false']),
        ("preset = 5", ["preset: got 5, expected a text in quotes"]),
        ("min_cuont = 9", ["min_cuont: got no such option. Did you mean 'min_count' or "]),
        ("min-count = 9", ["min-count: got no such option. Did you mean 'min_count' or "]),
        ('min_count = "many"', ["min_count", "run.toml", '"many"']),
        ("min_count = 2.5", ["min_count", "run.toml", "2.5"]),
        ('preset = "cod"', ["preset", '"cod"']),
        ("min_count = 0", ["min_count: got 0"]),
        ("min_count = ", ["broken TOML", "min_count = 8"]),
        ("min_count = 3\nmin_count = 4", ["broken TOML"]),
        (b"\xff\xfe", ["broken TOML", "utf-8"]),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_files_are_told(toml: str | bytes, told: list[str], run_cli: RunCli, tmp_path: Path) -> None:
    files = write_world(tiny_world(), tmp_path / "in")
    path = tmp_path / "run.toml"
    path.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *options(files), "--out", out, "--config", path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert all(part in ran.err for part in told), ran.err
    assert not out.exists()


def test_a_missing_file_is_told(run_cli: RunCli, tmp_path: Path) -> None:
    files = write_world(tiny_world(), tmp_path / "in")
    ran = run_cli("vqa-ce", "build", *options(files), "--dry-run", "--config", tmp_path / "no.toml")
    assert ran.code == 2
    assert ran.err == (
        f"error: --config {tmp_path / 'no.toml'}: got No such file or directory, expected a TOML file. "
        "Check the path.\n"
    )


def test_score_and_sweep_take_a_file_too(
    run_cli: RunCli, built: Path, world: Any, world_files: dict[str, Path | None], tmp_path: Path
) -> None:
    path = tmp_path / "run.toml"
    path.write_text("resamples = 0\n", encoding="utf-8")
    named = f"m={world.grounded_predictions}"
    ran = run_cli("vqa-ce", "score", built, "--predictions", named, "--config", path, "--format", "json")
    assert ran.json["scores"]["accuracy"]["overall"]["all"]["m"]["low"] is None
    path.write_text('items = "words"\n', encoding="utf-8")
    tokens = ("--min-counts", "8", "--min-confidences", "0.3", "--limit", 500, "--format", "json")
    swept = run_cli("vqa-ce", "sweep", *options(world_files), *tokens, "--config", path)
    plain = run_cli("vqa-ce", "sweep", *options(world_files), *tokens, "--items", "words")
    assert swept.json == plain.json


@pytest.mark.parametrize("command", commands(), ids=lambda command: " ".join(command.words))
def test_every_option_of_a_file_is_as_strict_as_python(
    command: Command, run_cli: RunCli, tmp_path: Path
) -> None:
    """A text is no number and no truth, in any command: what a dataclass refuses, a file does not slip in."""
    app = build_app()
    for word in command.words:
        app = app[word]
    arguments = [*app.assemble_argument_collection()]
    if not any(one.name == "--config" for one in arguments):
        pytest.skip("takes no file")
    needed = [one.name for one in arguments if (one.required and not one.children) or one.name in QUESTIONS]
    given = [text for name in needed for text in _given(name)]
    kinds = {bool: "true or false", int: "a whole number", float: "a number"}
    options = {
        one.keys[-1]: kinds[kind]
        for one in arguments
        for kind in kinds
        if one.keys and one.hint in (kind, kind | None) and METHOD in one.parameter.group
    }
    assert options
    path = tmp_path / "run.toml"
    path.write_text("".join(f'{name} = "1"\n' for name in options), encoding="utf-8")
    ran = run_cli(*command.words, *given, "--config", path)
    assert ran.code == 2
    told = [line.removeprefix("  - ") for line in ran.err.splitlines()[1:]]
    expected = [f'{name}: got "1", expected {what}' for name, what in options.items()]
    assert told[:20] == expected[:20]


def _given(name: str) -> tuple[str, ...]:
    return (name, "m=x") if name.startswith("--") else ("x",)


def test_lists_and_threads_may_be_in_a_file(
    run_cli: RunCli, world_files: dict[str, Path | None], tmp_path: Path
) -> None:
    path = tmp_path / "run.toml"
    path.write_text("min_counts = [4, 8]\nmin_confidences = [0.3, 1]\nthreads = 1\n", encoding="utf-8")
    ran = run_cli(
        "vqa-ce", "sweep", *options(world_files), "--limit", 100, "--config", path, "--format", "json"
    )
    rows = [(row["min_count"], row["min_confidence"]) for row in ran.json["sweep"]]
    assert rows == [(4, 0.3), (4, 1.0), (8, 0.3), (8, 1.0)]
    path.write_text('min_counts = ["4"]\n', encoding="utf-8")
    ran = run_cli("vqa-ce", "sweep", *options(world_files), "--config", path)
    assert ran.err.endswith("  - min_counts: got ['4'], expected a list of numbers such as [8, 16]\n")
