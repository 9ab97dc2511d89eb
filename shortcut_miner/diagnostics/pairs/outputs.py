"""What a pairs folder holds: its tables, the questions to ask, its figures; and reading it back."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import (
    BuiltFolder,
    open_folder,
    options_of,
    release_ids,
    write_manifest,
    write_tables,
)
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.pairs.config import PairsConfig
from shortcut_miner.diagnostics.pairs.groups import MEMBERS, Group
from shortcut_miner.diagnostics.pairs.inputs import PairsInputs
from shortcut_miner.diagnostics.pairs.pairing import Found
from shortcut_miner.diagnostics.pairs.rows import ItemSets, Rows, in_id_order
from shortcut_miner.schemas import (
    MODALITIES,
    QuestionGroups,
    QuestionPairs,
    Questions,
    antecedent_columns,
    validated,
)
from shortcut_miner.storage import Provenance

COMMAND = "pairs build"
GIVEN = "given"
SIDES = ("question_id_agree", "question_id_counter")
NO_ANSWER = "questions without an answer"
QUESTIONS_FILE, PAIRS_FILE = "pair_questions.json", "pairs.json"
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {"questions": pl.len(), "images": pl.col("image_id").n_unique()},
    "pairs": {
        "pairs": pl.len(),
        "pair_questions": pl.col(SIDES[0]).append(pl.col(SIDES[1])).n_unique(),
        "rules_with_pairs": pl.col("rule_id").drop_nulls().n_unique(),
    },
    "rules": {
        "rules_with_both_sides": pl.len(),
        **{
            f"pairs_{name}": pl.col("pair_count").filter(pl.col("modality") == name).sum()
            for name in MODALITIES
        },
    },
    "groups": {"groups": pl.len()},
}
_INFO = {
    "description": "Questions of pairs with one shortcut and different answers, written by shortcut_miner."
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a build found.

    Attributes
    ----------
    rows : Rows
        The questions that have an answer.
    found : Found
        Pairs as positions of rows.
    groups : list of Group
        Groups as positions of rows.
    misfits : mapping of str to int
        Of given pairs those that are not what complementary ones are, by reason.
    """

    rows: Rows
    found: Found
    groups: list[Group]
    misfits: Mapping[str, int]


def file_names(config: PairsConfig) -> list[str]:
    """Return what a build writes beside its records."""
    more = ["rules"] * (config.rules != "none") + ["groups"] * config.groups
    return [f"{name}.parquet" for name in ("questions", "pairs", *more)] + [QUESTIONS_FILE, PAIRS_FILE]


def make_tables(
    inputs: PairsInputs, made: Made, config: PairsConfig
) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    tables = {
        "questions": lambda: inputs.questions.sort("question_id"),
        "pairs": lambda: pairs_table(made, inputs, config),
    }
    if inputs.rules is not None:
        tables["rules"] = lambda: rules_table(made.found, inputs.rules)
    if config.groups:
        tables["groups"] = lambda: groups_table(made)
    return tables


def pairs_table(made: Made, inputs: PairsInputs, config: PairsConfig) -> pl.DataFrame:
    """Return schemas.QuestionPairs in the order in which the pairs were found."""
    rows, listed = made.rows, np.array(made.found.pairs, np.int64).reshape(-1, 3)
    rule, agree, counter = (pl.Series(column) for column in listed.T)
    ids, answers = rows.questions["question_id"], rows.questions["answer"]
    rules = inputs.rules
    at = rule.set(rule < 0, None)
    table = pl.DataFrame(
        {
            "pair_id": pl.int_range(len(listed), dtype=pl.UInt32, eager=True),
            "rule_id": _nulls(len(listed), pl.UInt32) if rules is None else rules["rule_id"].gather(at),
            "rule_answer": _nulls(len(listed), pl.String) if rules is None else rules["answer"].gather(at),
            "question_id_agree": ids.gather(agree),
            "question_id_counter": ids.gather(counter),
            "question_similarity": _similarities(rows.words, listed),
            "object_similarity": _similarities(rows.objects, listed),
            "answer_agree": answers.gather(agree),
            "answer_counter": answers.gather(counter),
            "match": pl.repeat(GIVEN if inputs.pairs is not None else config.match, len(listed), eager=True),
        }
    )
    return validated(table, QuestionPairs, "pairs")


def _nulls(count: int, dtype: type[pl.DataType]) -> pl.Series:
    return pl.repeat(None, count, dtype=dtype, eager=True)


def _similarities(sets: ItemSets, listed: np.ndarray) -> pl.Series:
    """Return the similarity of each pair's sets; null where one of them is not known."""
    values = [float(sets.similarity(p, np.array([n]))[0]) for _, p, n in listed.tolist()]
    is_known = sets.is_known[listed[:, 1]] & sets.is_known[listed[:, 2]]
    return pl.Series(values, dtype=pl.Float64).set(pl.Series(~is_known), None)


def rules_table(found: Found, rules: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rules with questions on both sides: how many there are, and how many pairs."""
    assert rules is not None
    assert found.eligible is not None
    counted = pl.DataFrame({"rule_at": [rule for rule, _, _ in found.pairs]}, schema={"rule_at": pl.Int64})
    pairs = counted.group_by("rule_at").agg(pair_count=pl.len().cast(pl.UInt32))
    listed = found.eligible.join(pairs, on="rule_at", how="left", validate="1:1", maintain_order="left")
    columns = ("rule_id", *antecedent_columns(rules), "answer", "modality", "antecedent_count", "confidence")
    return (
        rules[listed["rule_at"].to_numpy()]
        .select(columns)
        .with_columns(listed["agree_count"], listed["counter_count"], listed["pair_count"].fill_null(0))
    )


def groups_table(made: Made) -> pl.DataFrame:
    """Return schemas.QuestionGroups in the order in which the groups were found."""
    questions, listed = made.rows.questions, np.array(made.groups, np.int64).reshape(-1, 4)
    members = {
        name: questions["question_id"].gather(pl.Series(one))
        for name, one in zip(MEMBERS, listed.T, strict=True)
    }
    table = pl.DataFrame(
        {
            "group_id": pl.int_range(len(listed), dtype=pl.UInt32, eager=True),
            "image_id_0": questions["image_id"].gather(pl.Series(listed[:, 0])),
            "image_id_1": questions["image_id"].gather(pl.Series(listed[:, 1])),
            **members,
        }
    )
    return validated(table, QuestionGroups, "groups")


def describe(
    inputs: PairsInputs, made: Made, config: PairsConfig, limit: int | None
) -> tuple[Provenance, dict[str, Any]]:
    """Return the provenance of a build, and its figures."""
    pairs = made.found.pairs
    counts = {
        "questions": len(inputs.questions),
        "images": inputs.questions["image_id"].n_unique(),
        "pairs": len(pairs),
        "pair_questions": len({row for pair in pairs for row in pair[1:]}),
    }
    if inputs.rules is not None:
        rules = rules_table(made.found, inputs.rules)
        of_modality = dict(rules.group_by("modality").agg(pl.col("pair_count").sum()).iter_rows())
        counts |= {
            "rules_with_both_sides": len(rules),
            "rules_with_pairs": len({rule for rule, _, _ in pairs}),
            **{f"pairs_{name}": of_modality[name] for name in MODALITIES if name in of_modality},
        }
    if config.groups:
        counts["groups"] = len(made.groups)
    without = len(inputs.questions) - len(made.rows)
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=inputs.facts.records,
        counts=counts,
        dropped=dict(inputs.facts.dropped) | ({NO_ANSWER: without} if without else {}),
    )
    figures = {
        "rules": None if inputs.rules is None else len(inputs.rules),
        "unpaired": dict(made.found.unpaired),
        "given_pairs_that_differ": dict(made.misfits),
    }
    return provenance, figures


def warnings_of(made: Made) -> tuple[str, ...]:
    """Return what may be wrong with the pairs."""
    total = len(made.found.pairs)
    told = [
        f"pairs: got {count:,} of {total:,} with {reason}, expected one text and two answers. They are kept; "
        "check that the pairs belong to these questions."
        for reason, count in made.misfits.items()
    ]
    if not total:
        told.append("pairs: got none. Try a looser --match, all rules, or more questions.")
    return tuple(told)


def with_warnings(facts: InputFacts, warnings: tuple[str, ...]) -> InputFacts:
    """Return facts with further warnings."""
    return dataclasses.replace(facts, warnings=(*facts.warnings, *warnings))


def in_words(provenance: Provenance, figures: Mapping[str, Any]) -> dict[str, str]:
    """Return what a build read and found, as the console prints it."""
    counts, config = provenance.counts, provenance.config
    words = {"questions": f"{counts['questions']:,} about {counts['images']:,} images"}
    if "rules_with_both_sides" in counts:
        words["rules"] = (
            f"{figures['rules']:,} ({config['rules']}); {counts['rules_with_both_sides']:,} are right on some"
            f" questions and wrong on others, {counts['rules_with_pairs']:,} of them have pairs"
        )
        kinds = [f"{counts[f'pairs_{name}']:,} {name}" for name in MODALITIES if counts.get(f"pairs_{name}")]
        words["pairs by rule"] = ", ".join(kinds) or "none"
    words["pairs"] = f"{counts['pairs']:,} of {counts['pair_questions']:,} questions"
    if "groups" in counts:
        words["groups"] = f"{counts['groups']:,} of two questions and two images"
    if figures["unpaired"]:
        reasons = (f"{count:,} {reason}" for reason, count in figures["unpaired"].items())
        words["not in a pair"] = "; ".join(reasons)
    return words


def write(
    folder: Path,
    tables: Mapping[str, Callable[[], pl.DataFrame]],
    provenance: Provenance,
    figures: dict[str, Any],
) -> None:
    """Write the tables, the questions to ask, the pairs as a list, and the manifest into a folder."""
    made = {name: make() for name, make in tables.items()}
    write_tables(folder, provenance, made)
    asked = asked_questions(made["questions"], made["pairs"], made.get("groups"))
    ids, images = (release_ids(asked[column]) for column in ("question_id", "image_id"))
    records = [
        {"image_id": image_id, "question": text, "question_id": question_id}
        for question_id, image_id, text in zip(ids, images, asked["question"], strict=True)
    ]
    shared = {"info": _INFO, "task_type": "Open-Ended", "data_subtype": "pairs"}
    _write_json(shared | {"questions": records}, folder / QUESTIONS_FILE)
    both = release_ids(pl.concat([made["pairs"][one].rename("id") for one in SIDES]))
    half = len(both) // 2
    _write_json([list(pair) for pair in zip(both[:half], both[half:], strict=True)], folder / PAIRS_FILE)
    write_manifest(folder, provenance, figures)


def _write_json(value: object, path: Path) -> None:
    path.write_bytes(msgspec.json.encode(value) + b"\n")


def asked_questions(
    questions: pl.DataFrame, pairs: pl.DataFrame, groups: pl.DataFrame | None
) -> pl.DataFrame:
    """Return the questions that pairs and groups are made of, each once, in the order of their ids."""
    parts = [pairs[one].rename("question_id") for one in SIDES]
    parts += [] if groups is None else [groups[one].rename("question_id") for one in MEMBERS]
    ids = pl.concat(parts).unique().to_frame()
    return in_id_order(questions.join(ids, on="question_id", how="semi", maintain_order="left"))


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``pairs build`` did."""

    @property
    def pairs(self) -> pl.DataFrame:
        """schemas.QuestionPairs, in the order in which they were found."""
        return self._table("pairs")

    @property
    def rules(self) -> pl.DataFrame:
        """The rules that are right on some questions and wrong on others, with their numbers of pairs."""
        return self._table("rules")

    @property
    def groups(self) -> pl.DataFrame:
        """schemas.QuestionGroups; with ``groups``."""
        return self._table("groups")

    @property
    def questions(self) -> pl.DataFrame:
        """All questions that were read: schemas.Questions, sorted by question_id."""
        return self._table("questions")


@dataclasses.dataclass(frozen=True, slots=True)
class PairsFolder:
    """What ``pairs build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.Questions: all that were read.
    pairs : pl.DataFrame
        schemas.QuestionPairs.
    groups, rules : pl.DataFrame or None
        schemas.QuestionGroups, and the rules of the pairs, where the build was asked for them.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    pairs: pl.DataFrame
    groups: pl.DataFrame | None
    rules: pl.DataFrame | None
    manifest: dict[str, Any]

    def asked(self) -> pl.DataFrame:
        """Return the questions that pairs and groups are made of."""
        return asked_questions(self.questions, self.pairs, self.groups)


def read_folder(path: Path) -> PairsFolder:
    """Return the tables of a pairs folder.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    config = folder.manifest["config"]
    return PairsFolder(
        path=path,
        questions=folder.table("questions", Questions),
        pairs=folder.table("pairs", QuestionPairs),
        groups=folder.table("groups", QuestionGroups) if config.get("groups") else None,
        rules=_rules_of(folder) if config.get("rules") != "none" else None,
        manifest=folder.manifest,
    )


def _rules_of(folder: BuiltFolder) -> pl.DataFrame:
    return folder.table("rules")
