"""What ``mine`` wrote: rules of a table, without questions to judge them by."""

import polars as pl

from shortcut_miner.report.found import FoundRoom
from shortcut_miner.report.pages import Number, RoomPage, Section
from shortcut_miner.report.rooms.models import room_page, with_figures
from shortcut_miner.report.rooms.vqa_ce import kinds_in_words, rule_count, rule_lengths, rule_section
from shortcut_miner.report.rule_examples import Examples
from shortcut_miner.report.rule_rows import chosen_rules

TITLE = "Rules of a table"


def page(room: FoundRoom) -> RoomPage:
    """Return the page of a folder of rules."""
    rules = room.first.table("rules")
    rows, answers = room.first.manifest["counts"]["rows"], rules["answer"].n_unique()
    summary = f"{rows:,} rows give {rule_count(rules)}: words and labels that go with one answer."
    numbers = (
        Number(value=f"{rows:,}", label="rows", colour="blue"),
        Number(value=f"{len(rules):,}", label="rules", note=kinds_in_words(rules) or "none found"),
        Number(value=f"{answers:,}", label="answers", note="that some rule gives", colour="green"),
    )
    sections = [_lengths(rules)] if len(rules) else []
    chosen = chosen_rules(rules, room.most_rules)
    return room_page(room, TITLE, (summary, numbers, sections), (), [_table(chosen, len(rules))])


def _lengths(rules: pl.DataFrame) -> Section:
    return Section(
        title="Rules",
        text="A rule is a set of words and labels, and the answer that goes with it. Its confidence is the "
        "share of rows with that set which have that answer.",
        figures=with_figures([rule_lengths(rules)]),
    )


def _table(rules: pl.DataFrame, total: int) -> Section:
    nothing: list[list[int]] = [[] for _ in range(len(rules))]
    return rule_section(rules, total, Examples(nothing, nothing, {}))
