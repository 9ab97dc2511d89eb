import json
from pathlib import Path
from typing import Any

import pytest
from cli.commands import RunCli, options, tiny_world, write_world


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
