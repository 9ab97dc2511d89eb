"""What a recipe's TOML file may say, and what the program's own recipes say."""

import tomllib
from pathlib import Path

import pytest

import shortcut_miner
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.recipes.checks import Check, check_all
from shortcut_miner.recipes.recipe import (
    Expected,
    ScoreCell,
    find_recipe,
    read_recipe,
    recipe_names,
    recipes_folder,
)

CHECKOUT = Path(__file__).resolve().parents[2]
LEAST = """
title = "T"
citation = "C"
command = "rad build"
inputs = { questions = "q.json" }
[sources."q.json"]
urls = ["https://a.example/q.json"]
licence = "CC0"
"""


def refused(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        read_recipe(path)
    assert str(caught.value).startswith(f"{path}: got ")
    return str(caught.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own.toml"


def test_a_recipe_of_ones_own_is_given_by_its_path(path: Path) -> None:
    path.write_text(LEAST, encoding="utf-8")
    assert find_recipe(str(path)) == ("own", path)
    assert read_recipe(path).sources["q.json"].checked is False


def test_a_name_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"got 'vqace', expected one of fpvg-gqa, .*Did you mean 'vqa-ce'"):
        find_recipe("vqace")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"rad build"', '"rad make"', "command: 'rad make' is none of vqa-ce build, vqa-ce sweep, rad build"),
        ("questions =", "quetsions =", "quetsions: no option of rad build. Did you mean 'questions'?"),
        ("questions =", "out =", "out: no option of rad build"),
        ('{ questions = "q.json" }', '{ questions = "p.json" }', "input 'p.json': no source of its name"),
        ('{ questions = "q.json" }', '{ questions = "p.json" }', "source 'q.json': no input is made of it"),
        (
            'questions = "q.json"',
            'questions = "q.json/../x"',
            "input 'q.json/../x': leads out of its archive",
        ),
        ('"q.json"', '"q.json//etc/passwd"', "input 'q.json//etc/passwd': leads out of its archive"),
        ('"q.json"', r'"q.json/a\u0000"', "or is no path in one"),
        (
            "inputs",
            'options = { questions = "p.json" }\ninputs',
            "questions: among the inputs and",
        ),
        ("inputs", 'needs = { "this.x" = "rad" }\ninputs', "needs: 'this.x' from 'rad' is no library's name"),
        (
            "inputs",
            'needs = { __main__ = "rad" }\ninputs',
            "'__main__' from 'rad' is no library's name",
        ),
        ("inputs", """needs = { spacy = "rad]'; ls" }\ninputs""", "is no library's name and an extra's"),
        ("https://a.example/q.json", "ftp://a.example/q.json", "is no http or https address"),
        ("https://a.example/q.json", "https:///q.json", "is no http or https address"),
        ("https://a.example/q.json", "https://[a/q.json", "is no http or https address"),
        ('["https://a.example/q.json"]', "[]", "source 'q.json': it has no address"),
        ("licence", 'sha256 = "AB"\nlicence', "'AB' is no SHA-256 in 64 lower-case hexadecimal digits"),
        ("licence", "size = 0\nlicence", "its size is 0"),
        ("licence", 'unpack = ["*"]\nlicence', "unpack is for a .zip alone"),
        ("q.json", "../q.json", "its name is no plain file name"),
    ],
)
def test_what_can_t_be_followed_is_told(path: Path, old: str, new: str, told: str) -> None:
    assert old in LEAST
    assert told in refused(
        path, LEAST.replace(old, new, 1 if old.startswith('"q') or old == "inputs" else -1)
    )


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        (
            "value = 1\ntolerance = 0\nreason = 'x'",
            "expected 1.0: not exactly one of count, figure and score",
        ),
        ("value = 1\ntolerance = -1\nreason = 'x'\ncount = 'q'", "expected q: no tolerance of 0 or more"),
        (
            "value = 1\ntolerance = 0\nreason = ''\ncount = 'q'",
            "expected q: no tolerance of 0 or more, or no reason",
        ),
        (
            "value = 1\ntolerance = 0\nreason = 'x'\n"
            "score = { metric = 'm', group = 'g', subgroup = 's', model = 'n' }",
            "expected m of n, g s: a score, but nothing is scored",
        ),
    ],
)
def test_a_published_number_needs_its_tolerance_and_reason(path: Path, expected: str, told: str) -> None:
    assert told in refused(path, f"{LEAST}\n[[expected]]\n{expected}\n")


def test_all_problems_come_at_once(path: Path) -> None:
    text = (
        LEAST.replace("questions =", "question =")
        .replace("https", "ftp")
        .replace("licence", "size = 0\nlicence")
    )
    assert len(refused(path, text).splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LEAST.replace('title = "T"\n', ""), "missing required field `title`"),
        (LEAST + "colour = 1\n", "unknown field `colour`"),
        (LEAST + "size = 'big'\n", "Expected `int | null`, got `str`"),
        ("title = ", "broken TOML"),
        (
            LEAST + "[score]\npredictions = { m = '../other.json' }\n",
            "'../other.json' is no file of the built folder",
        ),
    ],
)
def test_what_is_no_recipe_is_told(path: Path, text: str, told: str) -> None:
    assert told in refused(path, text)


def test_a_recipe_that_can_t_be_read_is_told(path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"own\.toml: got No such file or directory, expected the TOML file"
    ):
        read_recipe(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="broken TOML"):
        read_recipe(path)


# ---- the program's own ----


def test_the_recipes_are_those_at_the_top_of_the_repository() -> None:
    assert recipes_folder() in (
        CHECKOUT / "data_recipes",
        Path(shortcut_miner.__file__).parent / "data_recipes",
    )
    for path in (CHECKOUT / "data_recipes").iterdir():  # an installed package has its own
        assert (recipes_folder() / path.name).read_bytes() == path.read_bytes()
    assert recipe_names() == [
        "fpvg-gqa", "gqa-ce", "gqa-ood", "pairs-vqa2", "pope-coco", "rad-vqa-cp", "rad-vqa2", "resplit-vqa2",
        "slices-okvqa", "swapmix-gqa", "vqa-ce", "vqa-ce-coco", "vqa-ce-words",
    ]  # fmt: skip


def test_they_travel_inside_the_package() -> None:
    """The wheel has them where the installed package looks; the sdist where the wheel takes them from."""
    built = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    forced = built["targets"]["wheel"]["force-include"]
    assert forced == {"data_recipes": "shortcut_miner/data_recipes"}
    assert "data_recipes" in built["targets"]["sdist"]["include"]


@pytest.mark.parametrize("name", recipe_names())
def test_each_says_what_was_checked_and_who_is_to_be_cited(name: str) -> None:
    recipe = read_recipe(find_recipe(name)[1])
    assert recipe.citation
    for source in recipe.sources.values():
        assert source.licence
        assert not source.checked  # nobody has downloaded them by these recipes yet
    assert all(one.reason.endswith(".") for one in recipe.expected)


def test_the_numbers_of_vqa_ce_are_the_published_ones() -> None:
    recipe = read_recipe(find_recipe("vqa-ce")[1])
    numbers = {one.name: one.value for one in recipe.expected}
    assert numbers == {
        "val_questions": 214_354,
        "counterexamples": 63_298,
        "easy": 147_681,
        "hard": 3_375,
        "accuracy of rule_classifier, overall all": 42.26,
        "accuracy of rule_classifier, subset easy": 61.13,
    }
    assert numbers["counterexamples"] + numbers["easy"] + numbers["hard"] == numbers["val_questions"]


def test_recipes_of_one_file_say_the_same_of_it() -> None:
    said: dict[str, set[object]] = {}
    for name in recipe_names():
        for file, source in read_recipe(find_recipe(name)[1]).sources.items():
            said.setdefault(file, set()).add(source)
    assert {file for file, sources in said.items() if len(sources) > 1} == set()


# ---- numbers ----


@pytest.mark.parametrize(
    ("got", "tolerance", "is_met", "words"),
    [
        (1000, 0, True, "1,000, expected 1,000"),
        (1001, 0, False, "1,001, expected 1,000: 1 more (+0.10%), allowed are 0%"),
        (1010, 0.01, True, "1,010, expected 1,000: 10 more (+1.00%), allowed are 1%"),
        (989, 0.01, False, "989, expected 1,000: 11 fewer (-1.10%), allowed are 1%"),
        (999.5, 0.01, True, "999.50, expected 1,000: 0.50 fewer (-0.05%), allowed are 1%"),
    ],
)
def test_a_number_is_met_within_its_tolerance(got: float, tolerance: float, is_met: bool, words: str) -> None:
    check = Check(Expected(value=1000, tolerance=tolerance, reason="x", count="rows"), got)
    assert (check.is_met, check.in_words()) == (is_met, words)


def test_numbers_are_counts_figures_or_scores() -> None:
    import polars as pl

    cell = ScoreCell(metric="accuracy", group="overall", subgroup="all", model="m")
    wanted = [
        Expected(value=1, tolerance=0, reason="x", count="rows"),
        Expected(value=1, tolerance=0, reason="x", figure="mean"),
        Expected(value=1, tolerance=0, reason="x", score=cell),
    ]
    scores = pl.DataFrame(
        {
            "metric": "accuracy",
            "group": "overall",
            "subgroup": "all",
            "model": ["m", "n"],
            "value": [7.0, 8.0],
        }
    )
    checks = check_all(wanted, {"rows": 5, "mean": 0}, {"mean": 6.5, "rows": 0}, scores)
    assert [check.got for check in checks] == [5, 6.5, 7]
    with pytest.raises(
        SourceError, match=r"expected rows: got no such number of this build, expected one of 'cows'"
    ):
        check_all(wanted[:1], {"cows": 3}, {}, None)
    with pytest.raises(SourceError, match=r"expected score accuracy, overall, all, m: got 0 such scores"):
        check_all(wanted[2:], {}, {}, scores.tail(1))
