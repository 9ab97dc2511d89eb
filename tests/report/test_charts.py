"""Charts show the numbers of the tables that they come from, read back out of the Vega-Lite specification."""

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert
from report.folders import Folders

import shortcut_miner as sm
from shortcut_miner import rooms
from shortcut_miner.report.charts.bars import bars, grouped_bars, share_bars
from shortcut_miner.report.charts.distributions import plane
from shortcut_miner.report.charts.intervals import interval_dots
from shortcut_miner.report.found import find_rooms
from shortcut_miner.report.pages import Figure
from shortcut_miner.report.report import room_page
from shortcut_miner.report.theme import DARK, LIGHT, PALE
from shortcut_miner.schemas import SUBSETS, VERDICTS


def values(chart: alt.LayerChart) -> list[dict[str, Any]]:
    """Return the rows that a chart shows: those of all its layers, each once."""
    found: list[dict[str, Any]] = []
    for rows in chart.to_dict()["datasets"].values():
        found += [row for row in rows if row not in found]
    return found


@pytest.fixture(scope="module")
def figures(folders: Folders) -> dict[tuple[str, str], Figure]:
    return {
        (room.name, figure.name): figure
        for room in find_rooms(folders.out)
        for section in room_page(room).sections
        for figure in section.figures
    }


def test_every_chart_satisfies_vega_lites_schema(figures: dict[tuple[str, str], Figure]) -> None:
    assert {room for room, _ in figures} == {*rooms.NAMES}
    for figure in figures.values():
        assert figure.title and figure.note and len(figure.grid.rows) == len(figure.table)
        for chart in figure.charts:
            chart.to_dict(validate=True)
            assert values(chart)


def test_subset_sizes(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    counts = dict(folders.table("vqa-ce", "split")["subset"].value_counts().iter_rows())
    (chart,) = figures["vqa_ce", "subset-sizes"].charts
    shown = {row["category"]: (row["value"], row["label"]) for row in values(chart)}
    total = sum(counts.values())
    assert shown == {
        name: (counts[name], f"{counts[name]:,} ({100 * counts[name] / total:.1f}%)") for name in SUBSETS
    }
    assert list(shown) == list(SUBSETS)


def test_answers_of_each_subset(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    asked = folders.table("vqa-ce", "split").join(folders.table("vqa-ce", "questions"), on="question_id")
    charts = figures["vqa_ce", "answers"].charts
    assert len(charts) == len(SUBSETS)
    for name, chart in zip(SUBSETS, charts, strict=True):
        answers = asked.filter(pl.col("subset") == name)["answer"].to_list()
        rows = values(chart)
        assert [row["value"] for row in rows] == pytest.approx(
            [100 * answers.count(row["category"]) / len(answers) for row in rows]
        )
        assert rows[0]["value"] == pytest.approx(100 * max(map(answers.count, answers)) / len(answers))


@pytest.mark.parametrize(
    ("name", "column"), [("answer-type", "answer_type"), ("question-type", "question_type")]
)
def test_types_by_subset(
    folders: Folders, figures: dict[tuple[str, str], Figure], name: str, column: str
) -> None:
    asked = folders.table("vqa-ce", "split").join(folders.table("vqa-ce", "questions"), on="question_id")
    (chart,) = figures["vqa_ce", name].charts
    rows = values(chart)
    for row in rows:
        kind, _, count = row["category"].rpartition(" (")
        of_type = asked.filter(pl.col(column) == kind)
        assert f"{len(of_type):,})" == count
        share = 100 * (of_type["subset"] == row["part"]).sum() / len(of_type)
        assert row["value"] == pytest.approx(share)
    assert len({row["category"] for row in rows}) == min(20, asked[column].n_unique())


def test_confidences(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    rules = folders.table("vqa-ce", "rules")
    (chart,) = figures["vqa_ce", "confidence"].charts
    rows = values(chart)
    for part, column in (("training rows", "confidence"), ("validation rows", "val_confidence")):
        of_part = [row for row in rows if row["part"] == part]
        assert sum(row["count"] for row in of_part) == rules[column].drop_nulls().len()
        top = rules.filter(pl.col(column) >= of_part[-1]["low"])
        assert of_part[-1]["count"] == len(top)


def test_lengths_and_kinds(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    rules = folders.table("vqa-ce", "rules")
    length = rules["antecedent_words"].list.len() + rules["antecedent_objects"].list.len()
    (chart,) = figures["vqa_ce", "rule-lengths"].charts
    for row in values(chart):
        items = int(row["category"].split()[0])
        assert row["value"] == ((length == items) & (rules["modality"] == row["part"])).sum()
    assert sum(row["value"] for row in values(chart)) == len(rules)


def test_most_confident_kinds(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    shares = folders.manifest("vqa-ce")["figures"]["most_confident_rule_modality_share"]
    (chart,) = figures["vqa_ce", "most-confident-rule"].charts
    assert {row["category"]: row["value"] / 100 for row in values(chart)} == pytest.approx(shares)


def test_verdicts(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    verdicts = folders.table("vqa-ce", "rules")["verdict"].to_list()
    (chart,) = figures["vqa_ce", "verdicts"].charts
    shown = {row["category"]: row["value"] for row in values(chart)}
    assert shown == {name: verdicts.count(name) for name in VERDICTS}


def test_models_with_intervals(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    scores = folders.table("vqa-ce-scores", "scores")
    cells = [("overall", "all"), *(("subset", name) for name in SUBSETS)]
    charts = figures["vqa_ce", "accuracy"].charts
    for (group, subgroup), chart in zip(cells, charts, strict=True):
        expected = scores.filter(pl.col("group") == group, pl.col("subgroup") == subgroup)
        rows = values(chart)
        columns = {"row": "model", "value": "value", "low": "low", "high": "high"}
        assert [{name: row[name] for name in columns} for row in rows] == [
            {name: row[column] for name, column in columns.items()} for row in expected.to_dicts()
        ]


def test_exploited_shortcuts(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    found = folders.table("vqa-ce-scores", "exploited_shortcuts").filter("is_exploited")
    chart = figures["vqa_ce", "exploited-shortcuts"].charts[0]
    first = found.row(0, named=True)
    lines = [row for row in values(chart) if "start" in row]
    items = [*first["antecedent_words"], *first["antecedent_objects"]]
    assert lines[0]["row"] == f"{' + '.join(items)} \u2192 {first['answer']}"
    assert lines[0]["end"] == pytest.approx(100 * first["counterexample_agreement"])
    assert lines[0]["start"] == pytest.approx(100 * first["answer_rate"])
    assert lines[0]["label"] == (
        f"{first['counterexample_agreement_count']} of {first['counterexample_count']}"
    )


def test_quadrants_add_up(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    categories = folders.table("fpvg-scores", "categories")
    names = {
        "well grounded, correct": "good_correct",
        "well grounded, wrong": "good_wrong",
        "badly grounded, correct": "bad_correct",
        "badly grounded, wrong": "bad_wrong",
    }
    (chart,) = figures["fpvg", "quadrants"].charts
    for row in values(chart):
        of_model = categories.filter(pl.col("model") == row["category"])["category"].to_list()
        assert row["value"] == pytest.approx(100 * of_model.count(names[row["part"]]) / len(of_model))


def test_the_plane_and_its_quadrants_where_answers_have_probabilities(
    folders: Folders, tmp_path: Path
) -> None:
    given: dict[str, dict[str, Path]] = {}
    for condition, probability in (("all", 0.9), ("relevant", 0.8), ("irrelevant", 0.3)):
        given[condition] = {}
        for model in ("grounded_model", "shortcut_model"):
            path = folders.out / "world" / f"{model}_{condition}_regions.json"
            rows = [
                {
                    "question_id": row["questionId"],
                    "answer": row["prediction"],
                    "probability": probability if model == "grounded_model" else 0.5,
                }
                for row in json.loads(path.read_text())
            ]
            given[condition][model] = tmp_path / path.with_suffix(".jsonl").name
            given[condition][model].write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "scores"
    scored = sm.fpvg.score(folders.out / "fpvg", **given, out=out, resamples=10)
    (room,) = find_rooms(folders.out / "fpvg", [out])
    figures = {figure.name: figure for section in room_page(room).sections for figure in section.figures}
    (points,) = figures["plane"].charts
    shown = {row["name"]: (row["x"], row["y"]) for row in values(points)}
    assert shown["grounded_model"] == pytest.approx((0.1, 0.6))
    assert shown["shortcut_model"] == pytest.approx((0, 0))
    (placed,) = figures["sufficient"].charts
    assert scored.quadrants is not None
    middle = scored.quadrants.filter(pl.col("threshold") == 0.2)
    assert sorted(row["value"] for row in values(placed)) == pytest.approx(sorted(middle["share"]))
    parts = {row["category"].split(",")[0]: row["part"] for row in values(placed)}
    assert parts == {"grounded_model": "sufficient and comprehensive", "shortcut_model": "sufficient only"}


def test_consistency_by_type(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    counts = folders.table("rad-scores", "counts")
    charts = figures["rad", "consistency"].charts
    kinds = counts["augmentation"].unique(maintain_order=True).to_list()
    assert len(charts) == len(kinds)
    for kind, chart in zip(kinds, charts, strict=True):
        of_kind = counts.filter(pl.col("augmentation").eq_missing(kind))
        expected = {
            row["model"]: 100 * row["both_right"] / row["original_right"] for row in of_kind.to_dicts()
        }
        assert {row["row"]: row["value"] for row in values(chart)} == pytest.approx(expected)


def test_consistency_by_form(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    made, scores = folders.table("rad", "augmentations"), folders.table("rad-scores", "scores")
    forms = sorted({f"{row['augmentation']}: {row['form']}" for row in made.to_dicts()})
    by_form = scores.filter(pl.col("metric") == "rad", pl.col("group") == "form", pl.col("n") > 0)
    assert by_form["subgroup"].unique().sort().to_list() == forms
    by_form = by_form.filter(~pl.col("subgroup").str.starts_with("colors:"))  # one form, the type itself
    shown: dict[tuple[str, str], float] = {}
    for chart in figures["rad", "consistency-by-form"].charts:
        form = chart.to_dict()["title"].rpartition(" (n")[0]
        shown |= {(form, row["row"]): row["value"] for row in values(chart)}
    assert shown == {(row["subgroup"], row["model"]): row["value"] for row in by_form.to_dicts()}


def test_accuracy_by_question_type(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    scores = folders.table("vqa-ce-scores", "scores").filter(group="question_type")
    shown = {
        (row["row"], chart.to_dict()["title"]): (row["value"], row["low"], row["high"])
        for chart in figures["vqa_ce", "accuracy-by-question-type"].charts
        for row in values(chart)
    }
    expected = {
        (f"{row['subgroup']} ({row['n']:,})", row["model"]): (row["value"], row["low"], row["high"])
        for row in scores.to_dicts()
    }
    assert 0 < len(shown) <= len(expected)
    assert shown.items() <= expected.items()


def test_reliance_by_k(folders: Folders, figures: dict[tuple[str, str], Figure], tmp_path: Path) -> None:
    assert figures.get(("swapmix", "reliance-by-k")) is None, "one k has no curve"
    models = ("grounded_model", "shortcut_model")
    given = {one: folders.out / "swapmix-answers" / f"{one}.parquet" for one in models}
    expected: dict[str, dict[tuple[str, int], float]] = {}
    most = folders.manifest("swapmix")["config"]["k"]
    for k in (1, most):
        scored = sm.swapmix.score(
            folders.out / "swapmix", predictions=given, out=tmp_path / f"k{k}", k=k, resamples=10
        )
        for row in scored.scores.filter(group="overall").to_dicts():
            expected.setdefault(row["metric"], {})[row["model"], k] = row["value"]
    (room,) = find_rooms(folders.out / "swapmix", [tmp_path / "k1", tmp_path / f"k{most}"])
    charts = {
        figure.name: figure.charts for section in room_page(room).sections for figure in section.figures
    }["reliance-by-k"]
    metrics = ("object_reliance", "attribute_reliance", "context_reliance")
    assert len(charts) == len(metrics)
    for metric, chart in zip(metrics, charts, strict=True):
        chart.to_dict(validate=True)
        assert {(row["row"], row["x"]): row["value"] for row in values(chart)} == expected[metric]


def test_a_curve_differences_and_types_of_swapmix(folders: Folders, tmp_path: Path) -> None:
    """One folder of scores has all k, as many folders of one k each have."""
    models = ("grounded_model", "shortcut_model")
    given = {one: folders.out / "swapmix-answers" / f"{one}.parquet" for one in models}
    scored = sm.swapmix.score(
        folders.out / "swapmix", predictions=given, out=tmp_path / "curve", curve=True,
        baseline="grounded_model", resamples=10,
    )  # fmt: skip
    (room,) = find_rooms(folders.out / "swapmix", [tmp_path / "curve"])
    shown = {figure.name: figure.charts for section in room_page(room).sections for figure in section.figures}
    assert scored.curve is not None
    assert scored.differences is not None
    metrics = ("object_reliance", "attribute_reliance", "context_reliance")
    for metric, chart in zip(metrics, shown["reliance-by-k"], strict=True):
        chart.to_dict(validate=True)
        expected = scored.curve.filter(metric=metric).select("model", "k", "value").rows()
        assert {(row["row"], row["x"], row["value"]) for row in values(chart)} == {*expected}
    types = scored.scores.filter(pl.col("group") != "overall", pl.col("metric") == "context_reliance")
    assert len(shown["types"]) == types["subgroup"].n_unique() > 2
    assert len(shown["differences"]) == len(metrics)


def test_flips_by_class(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    flips = folders.table("swapmix-scores", "class_flips").filter(pl.col("kind") == "class")
    known = {(row["model"], row["from_class"]): row for row in flips.to_dicts()}
    charts = figures["swapmix", "flips"].charts
    assert charts
    for chart in charts:
        model = chart.to_dict()["title"]
        for row in values(chart):
            found = known[model, row["category"]]
            assert row["value"] == pytest.approx(100 * found["flip_count"] / found["swap_count"])


def test_swaps_by_kind(folders: Folders, figures: dict[tuple[str, str], Figure]) -> None:
    counts = folders.manifest("swapmix")["counts"]
    (chart,) = figures["swapmix", "kinds"].charts
    shown = {row["category"]: row["value"] for row in values(chart)}
    assert shown["class"] + shown["class, random"] == counts["class_swaps"]
    assert shown["class, random"] == counts["class_swaps_to_random_classes"]


# ---- one chart ----


def test_bars_are_in_the_order_of_rows_and_leave_room_for_their_labels() -> None:
    table = pl.DataFrame({"name": ["z", "a"], "n": [5, 10], "label": ["5", "10 (66.7%)"]})
    spec = bars(table, category="name", value="n", label="label", unit="things").to_dict()
    encoding = spec["layer"][0]["encoding"]
    (rows,) = spec["datasets"].values()
    assert [row["category"] for row in rows] == ["z", "a"]
    assert encoding["y"]["sort"] is None
    assert encoding["x"]["scale"]["domainMax"] > 10
    assert encoding["x"]["title"] == "things"


def test_bars_of_nothing_have_an_axis() -> None:
    table = pl.DataFrame({"name": ["a"], "n": [0], "label": ["0"]})
    spec = bars(table, category="name", value="n", label="label", unit="things").to_dict()
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domainMax"] > 0


def test_narrow_parts_have_no_number() -> None:
    table = pl.DataFrame({"name": ["a", "a"], "part": ["x", "y"], "share": [95.0, 5.0]})
    chart = share_bars(
        table, category="name", part="part", value="share", colours={"x": "blue", "y": "grey"}, unit="%"
    )
    assert [row["label"] for row in values(chart)] == ["95", ""]


def test_numbers_beside_bars_have_commas() -> None:
    table = pl.DataFrame({"name": ["a"] * 3, "part": ["x", "y", "z"], "n": [1_234_567, 123, 100_000]})
    colours = {"x": "blue", "y": "grey", "z": "green"}
    chart = grouped_bars(table, category="name", part="part", value="n", colours=colours, unit="things")
    assert [row["label"] for row in values(chart)] == ["1,234,567", "123", "100,000"]


def test_a_value_without_an_interval_is_shown_without_one() -> None:
    table = pl.DataFrame({"model": ["m"], "value": [50.0], "low": [None], "high": [None]},
                         schema_overrides={"low": pl.Float64, "high": pl.Float64})  # fmt: skip
    assert values(interval_dots(table, row="model", unit="percent"))[0]["label"] == "50.0"


def test_differences_are_drawn_from_zero_with_room_for_the_lowest_point() -> None:
    table = pl.DataFrame({"model": ["m"], "value": [-2.0], "low": [-5.0], "high": [1.0]})
    chart = interval_dots(table, row="model", unit="points", domain=None)
    assert {"zero": 0} in values(chart)
    start, end = chart.to_dict()["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert start < -5
    assert end > 1
    assert values(chart)[1]["label"] == "\u22122.0 [\u22125.0, 1.0]"


def test_charts_side_by_side_have_one_axis(figures: dict[tuple[str, str], Figure]) -> None:
    several = [figure.charts for figure in figures.values() if len(figure.charts) > 1]
    assert len(several) > 10
    for charts in several:
        layers = [next(one for one in chart.to_dict()["layer"] if "x" in one["encoding"]) for chart in charts]
        assert len({json.dumps(layer["encoding"]["x"]["scale"]) for layer in layers}) == 1


def test_numbers_on_pale_fills_are_dark() -> None:
    for fill in ("blue", "vermilion", "green", "purple", *PALE):
        for palette in (LIGHT, DARK):
            number = palette["night" if fill in PALE else "paper"]
            assert contrast(number, palette[fill]) >= 4.5, fill
    table = pl.DataFrame({"name": ["a", "a"], "part": ["x", "y"], "share": [60.0, 40.0]})
    colours = {"x": "blue", "y": "grey"}
    chart = share_bars(table, category="name", part="part", value="share", colours=colours, unit="%")
    colour = chart.to_dict()["layer"][1]["encoding"]["color"]
    assert colour["condition"]["test"]["oneOf"] == ["y"]
    assert (colour["condition"]["value"], colour["value"]) == (LIGHT["night"], LIGHT["paper"])


def test_names_with_an_answer_have_it_in_a_line_of_its_own(figures: dict[tuple[str, str], Figure]) -> None:
    svg = vl_convert.vegalite_to_svg(figures["vqa_ce", "exploited-shortcuts"].charts[0].to_dict())
    first = values(figures["vqa_ce", "exploited-shortcuts"].charts[0])[0]["row"]
    items, _, answer = first.partition(" \u2192 ")
    assert re.search(rf"<tspan>{re.escape(items)}</tspan><tspan[^>]*>\u2192 {re.escape(answer)}</tspan>", svg)


def test_the_plane_has_a_named_point_a_model() -> None:
    table = pl.DataFrame({"s": [0.1], "c": [0.7], "model": ["m"]})
    assert values(plane(table, x="s", y="c", name="model", units=("s", "c"))) == [
        {"x": 0.1, "y": 0.7, "name": "m"}
    ]


# ---- colours ----


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_stands_out_from_the_paper(palette: dict[str, str]) -> None:
    for name in ("ink", "muted"):
        for paper in ("paper", "panel"):
            assert contrast(palette[name], palette[paper]) >= 4.5, (name, paper)
    for name in ("blue", "vermilion", "green", "purple", "grey", "amber"):
        assert contrast(palette[name], palette["paper"]) >= 2.8, name


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_both_palettes_have_the_same_names() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT), "a colour stands for one variable"
