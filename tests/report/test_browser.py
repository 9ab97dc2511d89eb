"""The page in a real browser, without a screen: nothing goes wrong or is loaded, all of it can be used."""

import contextlib
import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report.folders import PLAIN, Folders, build_rows
from report.test_hostile import hostile_rows, write_hostile_page

from shortcut_miner.cli.run import run
from shortcut_miner.report.report import write_html_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None or importlib.util.find_spec("selenium") is None:
    pytest.skip(
        "needs selenium, chromium and chromedriver (Debian: chromium-driver)", allow_module_level=True
    )

NARROW, WIDE = 390, 1440


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    with contextlib.suppress(Exception):
        driver.quit()


def look(browser: Any, page: Path, width: int = WIDE, *, is_dark: bool = False) -> None:
    """Open a page on a screen of some width, and wait until its charts are drawn."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"prefers-color-scheme": "dark" if is_dark else "light", "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in media.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(page.as_uri())
    browser.set_script_timeout(120)
    is_drawn = (
        "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg') || one.textContent)"
    )
    browser.execute_async_script(
        f"const done = arguments[0]; const wait = () => {is_drawn} ? done() : setTimeout(wait, 50); wait();"
    )


def requests(browser: Any) -> list[str]:
    """Return the addresses that were asked for since the page was opened."""
    entries = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    asked = [one for one in entries if one["method"] == "Network.requestWillBeSent"]
    return [one["params"]["request"]["url"] for one in asked]


def rows(browser: Any) -> list[list[str]]:
    """Return the cells of the rules that are shown."""
    found: list[list[str]] = browser.execute_script(
        "return [...document.querySelectorAll('.rules tr.rule')].map((row) => "
        "[...row.cells].map((cell) => cell.textContent))"
    )
    return found


def told(browser: Any) -> str:
    return str(browser.execute_script("return document.querySelector('.rules .count').textContent"))


def type_into(browser: Any, selector: str, text: str) -> None:
    browser.execute_script(
        "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        "one.dispatchEvent(new Event('input', {bubbles: true}));"
        "one.dispatchEvent(new Event('change', {bubbles: true}));",
        selector,
        text,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_goes_wrong_or_leaves_the_page(
    browser: Any, folders: Folders, width: int, is_dark: bool
) -> None:
    look(browser, folders.page, width, is_dark=is_dark)
    assert browser.get_log("browser") == []
    elsewhere = [one for one in requests(browser) if not one.startswith(("file:", "data:"))]
    assert elsewhere == []
    charts = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].map((one) => "
        "[one.querySelectorAll('svg').length, one.textContent.includes('could not be drawn')])"
    )
    assert len(charts) > 40
    assert all(one == [1, False] for one in charts)


@pytest.mark.slow
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_is_wider_than_the_screen(browser: Any, folders: Folders, width: int) -> None:
    look(browser, folders.page, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = browser.execute_script(
        "return [...document.querySelectorAll('.chart svg')].filter((one) => "
        "one.getBoundingClientRect().right > window.innerWidth).length"
    )
    assert wide == 0
    small = browser.execute_script(
        "return Math.min(...[...document.querySelectorAll('body *')].filter((one) => "
        "one.offsetParent && one.firstChild?.nodeType === 3).map((one) => "
        "parseFloat(getComputedStyle(one).fontSize)))"
    )
    assert small >= 11


@pytest.mark.slow
def test_the_dark_page_is_dark_and_the_button_changes_it(browser: Any, folders: Folders) -> None:
    from selenium.webdriver.common.by import By

    look(browser, folders.page, is_dark=True)
    paper = "return getComputedStyle(document.body).backgroundColor"
    ink = "return getComputedStyle(document.querySelector('.chart text')).fill"
    dark = browser.execute_script(paper), browser.execute_script(ink)
    browser.find_element(By.ID, "theme").click()
    light = browser.execute_script(paper), browser.execute_script(ink)
    assert brightness(dark[0]) < 60 < 200 < brightness(light[0])
    assert brightness(light[1]) < 120 < brightness(dark[1])


def brightness(colour: str) -> float:
    numbers = [float(one) for one in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers) / 3


def test_search_finds_rules(browser: Any, folders: Folders) -> None:
    look(browser, folders.page)
    rules = folders.table("vqa-ce", "rules")
    assert told(browser) == f"{len(rules):,} of {len(rules):,} rules"
    assert len(rows(browser)) == 50
    type_into(browser, ".rules input[type=search]", "TENNIS sport")
    hits = [
        row
        for row in rules.to_dicts()
        if all(
            word in " ".join([*row["antecedent_words"], *row["antecedent_objects"], row["answer"]])
            for word in ("tennis", "sport")
        )
    ]
    assert 0 < len(hits) < len(rules)
    assert told(browser).startswith(f"{len(hits):,} of ")
    type_into(browser, ".rules input[type=search]", "no rule has this")
    assert rows(browser) == []
    assert told(browser).startswith("0 of ")


@pytest.mark.slow
def test_filters_narrow_the_rules(browser: Any, folders: Folders) -> None:
    look(browser, folders.page)
    rules = folders.table("vqa-ce", "rules")
    labels = browser.execute_script(
        "return [...document.querySelectorAll('.controls label')].map((one) => one.firstChild.textContent)"
    )
    assert labels == [
        "Search words, objects and answers", "Kind", "Verdict", "Exploited by", "Least confidence",
    ]  # fmt: skip
    type_into(browser, ".controls label:nth-child(2) select", "objects")
    expected = rules.filter(modality="objects")
    assert told(browser).startswith(f"{len(expected):,} of ")
    type_into(browser, ".controls input[type=number]", "0.9")
    assert told(browser).startswith(f"{(expected['confidence'] >= 0.9).sum():,} of ")
    type_into(browser, ".controls label:nth-child(2) select", "")
    type_into(browser, ".controls input[type=number]", "")
    type_into(browser, ".controls label:nth-child(4) select", "shortcut_model")
    used = folders.table("vqa-ce-scores", "exploited_shortcuts").filter(
        "is_exploited", model="shortcut_model"
    )
    assert told(browser).startswith(f"{len(used):,} of ")


@pytest.mark.slow
def test_headings_sort(browser: Any, folders: Folders) -> None:
    from selenium.webdriver.common.by import By

    look(browser, folders.page)
    headings = browser.find_elements(By.CSS_SELECTOR, ".rules th button")
    names = [one.text for one in headings]
    lift = headings[names.index("Lift")]
    lift.click()
    assert lift.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    shown = [float(row[names.index("Lift")].replace(",", "")) for row in rows(browser)]
    expected = folders.table("vqa-ce", "rules")["lift"].sort(descending=True).head(50).to_list()
    assert shown == pytest.approx(expected, rel=0.01, abs=0.06)
    lift.click()
    assert lift.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    assert float(rows(browser)[0][names.index("Lift")]) < 2


@pytest.mark.slow
def test_pages_of_rules_turn(browser: Any, folders: Folders) -> None:
    from selenium.webdriver.common.by import By

    look(browser, folders.page)
    first = rows(browser)
    previous, following = browser.find_elements(By.CSS_SELECTOR, ".pager button")
    assert not previous.is_enabled()
    browser.execute_script("arguments[0].click()", following)
    assert rows(browser) != first
    assert "51-100" in browser.find_element(By.CSS_SELECTOR, ".pager").text
    browser.execute_script("arguments[0].click()", previous)
    assert rows(browser) == first


@pytest.mark.slow
def test_keys_search_move_and_open(browser: Any, folders: Folders) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    look(browser, folders.page)
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    assert browser.switch_to.active_element.get_attribute("type") == "search"
    opener = browser.find_element(By.CSS_SELECTOR, ".rules td.antecedent button")
    browser.execute_script("arguments[0].focus()", opener)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    second = browser.switch_to.active_element
    assert second.find_element(By.XPATH, "ancestor::tr").get_attribute("data-row") == "1"
    second.send_keys(Keys.ENTER)
    opened = browser.switch_to.active_element
    assert opened.get_attribute("aria-expanded") == "true"
    detail = browser.find_element(By.CSS_SELECTOR, "tr.detail").text
    rule = folders.table("vqa-ce", "rules").row(1, named=True)
    assert "It is right on" in detail
    assert "It is wrong on" in detail
    assert detail.count("question") == min(3, rule["val_rule_count"]) + min(
        3, rule["val_antecedent_count"] - rule["val_rule_count"]
    ) + detail.count("no validation question")
    opened.send_keys(Keys.ENTER)
    assert browser.find_elements(By.CSS_SELECTOR, "tr.detail") == []


@pytest.mark.slow
def test_everything_has_a_name_for_screen_readers(browser: Any, folders: Folders) -> None:
    look(browser, folders.page)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    wanted = {"button", "textbox", "searchbox", "combobox", "spinbutton", "image", "table", "link", "heading"}
    shown = [one for one in nodes if not one.get("ignored") and one["role"]["value"] in wanted]
    nameless = [one["role"]["value"] for one in shown if not one.get("name", {}).get("value", "").strip()]
    assert nameless == []
    assert {one["role"]["value"] for one in shown} >= {"button", "searchbox", "spinbutton", "table", "link"}


def test_hostile_labels_do_nothing(browser: Any, tmp_path: Path) -> None:
    page = write_hostile_page(tmp_path)
    for width in (NARROW, WIDE):
        look(browser, page, width)
        assert browser.get_log("browser") == []
        assert browser.execute_script("return window.hacked") is None
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    answers = {row[1] for row in rows(browser)}
    assert "</script><script>window.hacked=1</script>" in answers
    assert len(answers) == len({answer for _, _, answer in hostile_rows()})


@pytest.mark.slow
def test_a_page_without_rules_works(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_html_report(build_rows(tmp_path / "rows", PLAIN, PLAIN, min_count=5), page)
    look(browser, page)
    assert browser.get_log("browser") == []
    assert "No rules." in told(browser)


@pytest.mark.slow
def test_rules_without_questions_open_to_their_measures(browser: Any, tmp_path: Path) -> None:
    rows = "".join(
        f"{word},{answer}\n" for word, answer in (("win", "spam"), ("lunch", "ham")) for _ in range(4)
    )
    (tmp_path / "table.csv").write_text("words,answer\n" + rows)
    mine = ["mine", str(tmp_path / "table.csv"), "--words", "words", "--min-count", "3"]
    assert run([*mine, "--out", str(tmp_path / "mined")]) == 0
    write_html_report(tmp_path / "mined", tmp_path / "report.html")
    look(browser, tmp_path / "report.html")
    browser.execute_script("document.querySelector('.rules tr.rule button').click()")
    detail = browser.execute_script("return document.querySelector('tr.detail').textContent")
    assert "rows where it fires4" in detail
    assert "It is right on" not in detail
    assert browser.get_log("browser") == []
