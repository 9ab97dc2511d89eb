"""Labels of anybody's choice are text, wherever a page shows them."""

import json
import re
from pathlib import Path

import pytest
from report.folders import Row, build_rows, data_of, text_of

import shortcut_miner as sm
from shortcut_miner.report.html import as_script_data, vega_bundle
from shortcut_miner.report.pages import LONGEST_LABEL, label
from shortcut_miner.report.report import write_html_report

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    '"><svg onload=window.hacked=1>',
    "[/bold] {{ 7*7 }} {% x %}",
    "\u202eright to left\u202c",
    "\x1b[31mred",
    "var(--ink)",
    "x" * 10_000,
)


def hostile_rows() -> list[Row]:
    pairs = zip(HOSTILE, reversed(HOSTILE), strict=True)
    return [(f"what {word}", [one, word], one) for one, word in pairs] * 3


def write_hostile_page(folder: Path) -> Path:
    rows = hostile_rows()
    built = build_rows(folder, rows, rows, min_confidence=0.1)
    given = folder / "answers.json"
    answers = [{"question_id": f"val{at}", "answer": HOSTILE[0]} for at in range(len(rows))]
    given.write_text(json.dumps(answers))
    scores = folder / "scores"
    sm.vqa_ce.score(built, {HOSTILE[1]: given}, out=scores, resamples=10, min_count=1)
    page = folder / "report.html"
    write_html_report(built, page, scores=[scores])
    return page


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hostile_page(tmp_path_factory.mktemp("hostile"))


def test_no_markup_of_labels_gets_into_the_page(hostile_page: Path) -> None:
    text = hostile_page.read_text(encoding="utf-8")
    bare = text.replace(vega_bundle(), "")
    assert "<img src=x" not in bare
    assert "<svg onload" not in bare
    assert "<script>window" not in bare
    assert "{{ 7*7 }}" in text_of(text)
    assert len(re.findall("<script", text)) == len(re.findall("</script>", text))


def test_hostile_labels_are_shown_as_they_are(hostile_page: Path) -> None:
    text = hostile_page.read_text(encoding="utf-8")
    rules = data_of(text, "room-0-all-rules-data")
    answers = {rules["texts"][one] for one in rules["columns"]["answer"]}
    assert answers == {label(one) for one in HOSTILE}
    assert HOSTILE[0] in answers
    told = text_of(text)
    assert HOSTILE[1] in told  # the model's name, in a table


def test_what_can_not_be_seen_is_escaped_and_what_is_endless_is_cut(hostile_page: Path) -> None:
    text = hostile_page.read_text(encoding="utf-8")
    assert not set("\u202e\u202c\x1b") & set(text.replace(vega_bundle(), ""))
    assert "\\u202eright to left\\u202c" in text_of(text)
    assert "x" * (LONGEST_LABEL + 1) not in text


def test_data_can_not_end_a_script() -> None:
    assert as_script_data(["</script><!--", "a & b", "\u2028"]) == (
        '["\\u003c/script\\u003e\\u003c!--","a \\u0026 b","\\u2028"]'
    )


def test_labels_that_look_like_a_colour_of_the_page_stay_what_they_are(tmp_path: Path, page: Path) -> None:
    rows = [("what colour", ["dog"], "#1f6fb2")] * 3
    built = build_rows(tmp_path / "rows", rows, rows)
    write_html_report(built, page)
    charts = data_of(page.read_text(encoding="utf-8"), "charts-data")["charts"]
    (rows,) = charts["chart-0-answers-0"]["datasets"].values()
    assert rows[0]["category"] == "#1f6fb2"
