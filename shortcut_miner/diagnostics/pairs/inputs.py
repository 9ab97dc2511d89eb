"""Reading what pairs are made of: a VQA-CE folder, or questions with answers; and pairs that are given."""

from dataclasses import dataclass

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.rule_folders import RuleFolder, read_rule_folder
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.pairs.config import PairsConfig, PairsFiles
from shortcut_miner.diagnostics.pairs.given import read_pairs
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.question_sets import read_questions
from shortcut_miner.sources.questions.tables import column_names


@dataclass(frozen=True, slots=True)
class PairsInputs:
    """What was read.

    Attributes
    ----------
    questions : pl.DataFrame
        schemas.Questions; of a folder schemas.SplitQuestions, with words and objects.
    rules : pl.DataFrame or None
        The rules that pairs are found by, in rule order.
    pairs : pl.DataFrame or None
        first_id, second_id: pairs that are given.
    facts : InputFacts
        Records, drops and notes.
    """

    questions: pl.DataFrame
    rules: pl.DataFrame | None
    pairs: pl.DataFrame | None
    facts: InputFacts


def read_inputs(files: PairsFiles, config: PairsConfig, limit: int | None = None) -> PairsInputs:
    """Return the inputs of a build; `limit` keeps the first questions.

    Raises
    ------
    SourceError, SchemaError
        A file or folder that can't be read or has rows that don't fit.
    ConfigError
        Annotations of a file that holds its own answers, or none of one that doesn't.
    """
    readings: dict[str, Reading] = {}
    folder: RuleFolder | None = None
    if files.folder is not None:
        folder = read_rule_folder(files.folder)
        questions = folder.questions.head(limit) if limit is not None else folder.questions
    else:
        assert files.questions is not None
        questions, readings = read_questions(
            files.questions,
            files.annotations,
            column_names(config.columns),
            on_bad_row=config.on_bad_row,
            limit=limit,
        )
    pairs = None
    if files.pairs is not None:
        readings["pairs"] = read_pairs(files.pairs, questions, config.on_bad_row)
        pairs = readings["pairs"].table
    facts = InputFacts.of(readings)
    rules = None
    if folder is not None:
        record = build_record(folder.path, folder.manifest)
        facts = InputFacts(records=(record, *facts.records), dropped=facts.dropped, notes=facts.notes)
        if config.rules in ("kept", "all"):
            rules = folder.chosen("kept" if config.rules == "kept" else "all")
    return PairsInputs(questions=questions, rules=rules, pairs=pairs, facts=facts)
