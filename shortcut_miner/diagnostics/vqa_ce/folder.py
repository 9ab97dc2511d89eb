"""Reading a VQA-CE folder back: everything that score, explain and others need is in it."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.encoding import build_vocabulary, encode_item_lists
from shortcut_miner.errors import SourceError
from shortcut_miner.mining.frames.rules import encode_rules
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.schemas import Rules, Split, validated
from shortcut_miner.storage import MANIFEST, read_json_file, read_provenance
from shortcut_miner.text import answer_forms
from shortcut_miner.transactions import Transactions, Vocabulary

_TABLES = ("questions", "rules", "split")


@dataclasses.dataclass(frozen=True, slots=True)
class VqaCeFolder:
    """What ``vqa-ce build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        The evaluated questions: schemas.Questions, with words and objects (the items of each row).
    rules : pl.DataFrame
        schemas.Rules in rule order, with validation counts and ``in_classifier``.
    split : pl.DataFrame
        schemas.Split; rows as in `questions`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    rules: pl.DataFrame
    split: pl.DataFrame
    manifest: dict[str, Any]

    @property
    def default_answer(self) -> str:
        """The most common training answer, which the rule classifier gives when no rule fires."""
        return str(self.manifest["figures"]["default_answer"])


def read_folder(path: Path) -> VqaCeFolder:
    """Return the tables of a VQA-CE folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    if not (path / MANIFEST).is_file():
        what = (
            "a file" if path.is_file() else "no such folder" if not path.exists() else f"no {MANIFEST} in it"
        )
        raise SourceError(f"{path}: got {what}, expected a folder that vqa-ce build wrote. Give that folder.")
    manifest = read_json_file(path / MANIFEST)
    if manifest.get("command") != "vqa-ce build":
        raise SourceError(
            f"{path}: got the output of {manifest.get('command')!r}, expected that of vqa-ce build. "
            "Give the folder of a vqa-ce build."
        )
    tables = {name: _read_table(path / f"{name}.parquet", manifest) for name in _TABLES}
    return VqaCeFolder(
        path=path,
        questions=tables["questions"],
        rules=validated(tables["rules"], Rules, str(path / "rules.parquet")),
        split=validated(tables["split"], Split, str(path / "split.parquet")),
        manifest=manifest,
    )


def _read_table(path: Path, manifest: dict[str, Any]) -> pl.DataFrame:
    try:
        provenance = read_provenance(path)
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: got {error}, expected a table that vqa-ce build wrote. Run the build again."
        ) from error
    if any(provenance.get(key) != manifest.get(key) for key in ("version", "config", "counts")):
        raise SourceError(
            f"{path}: got a table of another build than {MANIFEST} describes, expected files of one build. "
            "The last build was interrupted while it replaced an older one: run it again."
        )
    return table


@dataclasses.dataclass(frozen=True, slots=True)
class EncodedFolder:
    """Rules and rows of a folder in one vocabulary, ready to be matched."""

    vocabulary: Vocabulary
    rules: RuleArrays
    rows: Transactions


def encode_folder(folder: VqaCeFolder, *, normalise_answers: bool = False) -> EncodedFolder:
    """Return the folder's rules and questions as arrays.

    With `normalise_answers`, answers that VQA normalisation makes equal are one class ("Two." and "2"), as
    when a model's free text is compared with a rule's answer.
    """
    rules, questions = folder.rules, folder.questions
    if normalise_answers:
        rules = rules.with_columns(answer=normalised(rules["answer"]))
        questions = questions.with_columns(answer=normalised(questions["answer"]))
    # The default answer is a class even where no rule has it.
    counted = rules.select("answer", pl.col("answer_count").cast(pl.Int64))
    default = pl.DataFrame({"answer": [folder.default_answer], "answer_count": [0]}, schema=counted.schema)
    answers = pl.concat([counted, default])
    vocabulary = build_vocabulary(
        rules["antecedent_words"],
        rules["antecedent_objects"],
        answers["answer"],
        answers["answer_count"],
        counts_are_totals=True,
    )
    return EncodedFolder(
        vocabulary, encode_rules(rules, vocabulary), encode_item_lists(questions, vocabulary)
    )


def normalised(answers: pl.Series) -> pl.Series:
    """Return answers after VQA normalisation; null stays null."""
    forms = answer_forms(answers.drop_nulls().rename("answer"))
    return answers.replace_strict(forms["answer"], forms["normalised"], default=None, return_dtype=pl.String)
