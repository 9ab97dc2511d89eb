"""Options of the VQA-CE room: what changes its result, and nothing else.

A preset fills in the options that were not given: ``code`` follows VQA-CE's released program, ``paper``
the article (Dancette et al., ICCV 2021). The room's README has the table of both.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    AnswerTies,
    ItemKinds,
    OnBadRow,
    ScoreOptions,
    Scorer,
    SupersetFilter,
    Tokenizer,
    as_paths,
    check_between,
    check_texts,
    check_whole,
    fill_in,
    named_columns,
    named_items,
    option_name,
)

Preset = Literal["code", "paper"]
Vote = Literal["best", "weighted"]
SupportRounding = Literal["floor-float32", "ceil"]

DEFAULT_MIN_COUNT = 8
# What a table's columns may be named as.
COLUMNS = (
    "question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers", "split",
    "labels", "group",
)  # fmt: skip
_TABLE_OPTIONS = ("columns", "item_columns", "split_column", "val_share")
PRESETS: dict[str, dict[str, Any]] = {
    "code": {
        "superset_filter": "immediate",
        "vote": "best",
        "support_rounding": "floor-float32",
        "empty_rule": False,
    },
    "paper": {
        "superset_filter": "all",
        "vote": "weighted",
        "support_rounding": "ceil",
        "empty_rule": True,
    },
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VqaCeFiles:
    """Input files of ``vqa-ce build``.

    Questions come by --train-questions and --val-questions, or by --table, which takes rows of any kind.

    Attributes
    ----------
    train_questions : Path, optional
        Questions that rules are mined from: those of VQA, VQA-CP, OK-VQA or TDIUC; or, with their answers,
        A-OKVQA, TextVQA, VizWiz, VQA-X, LXMERT, GQA, VisDial or POPE.
    train_annotations : Path, optional
        The annotations of these questions, where they are a file of their own.
    val_questions : Path, optional
        Questions that are split into easy, counterexamples and hard.
    val_annotations : Path, optional
        The annotations of these questions, where they are a file of their own.
    table : tuple of Path, optional
        In place of these: rows of questions and answers that rules are mined from, as Parquet, Arrow, CSV,
        TSV, JSON Lines, a JSON list or xlsx; several files, their folder, or a Hugging Face dataset's.
    val_table : tuple of Path, optional
        The rows that are split; without it they are some of --table, by its own splits, --split-column or
        --val-share.
    detections : tuple of Path, optional
        Object labels of both splits' images: detect-shortcuts JSON, COCO instances JSON, a table with
        image_id and label, scene graphs, or boxes with labels; several files, or their folder.
    detections_info : tuple of Path, optional
        The file that some formats of boxes need beside: categories of COCO results, LXMERT's vocabulary, Open
        Images' class descriptions. One for all detections, or one each.
    """

    # What each way to give questions needs, and what may be beside; the first is named where none was begun.
    ways: ClassVar[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = (
        (("train_questions", "val_questions"), ("train_annotations", "val_annotations")),
        (("table",), ("val_table",)),
    )

    train_questions: Path | None = None
    train_annotations: Path | None = None
    val_questions: Path | None = None
    val_annotations: Path | None = None
    table: tuple[Path, ...] | None = None
    val_table: tuple[Path, ...] | None = None
    detections: tuple[Path, ...] | None = None
    detections_info: tuple[Path, ...] | None = None

    def __post_init__(self) -> None:
        """Take paths as text too, and check that they are of one way to give questions."""
        as_paths(self)
        by_files, by_table = (
            [name for part in way for name in part if getattr(self, name) is not None] for way in self.ways
        )
        if by_files and by_table:
            raise ConfigError(
                f"{', '.join((*by_files, *by_table))}: got questions in two ways, expected one of them. "
                f"Leave out {_options(by_files)}, or {_options(by_table)}."
            )
        needed, _ = self.ways[1 if by_table else 0]
        if missing := [name for name in needed if getattr(self, name) is None]:
            instead = "" if by_files or by_table else ", or --table"
            raise ConfigError(
                f"{', '.join(missing)}: missing, expected questions to mine from and to split. "
                f"Give {_options(missing)}{instead}."
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VqaCeConfig:
    """Options of ``vqa-ce build``. None means: what the preset says.

    Attributes
    ----------
    columns : str, optional
        Names in --table, as in question=text,answer=gold,group=doc; also question_id, image_id, answers,
        labels, question_type and answer_type.
    item_columns : str, optional
        Further columns of --table, with commas between, whose values are items, such as genre,source.
    split_column : str, optional
        The column of --table that says which rows are mined (train) and which are split (validation, val or
        dev; test where there are none of these).
    val_share : float, optional
        Split this share of the rows of --table, and mine from the rest: whole groups, by --seed.
    preset : {"code", "paper"}
        Follow the released program or the article where they differ.
    items : {"words", "objects", "both"}, optional
        What an antecedent may hold; default both, or words without detections and labels.
    tokenizer : {"basic_english", "spacy", "spacy-lemma"}
        Words of a question: the released program's tokeniser, or spaCy's tokens or lemmas.
    min_count : int, optional
        Least training rows with antecedent and answer together; default 8.
    min_support : float, optional
        The same as a share of the training rows, in place of --min-count.
    max_antecedent : int
        Most items of an antecedent, 1 to 8 (the released program's max_length counts the answer too).
    min_confidence : float
        Least confidence of a rule, 0 to 1.
    score_threshold : float
        Least detection score of an object label.
    top_answers : int
        Train on rows with one of this many most common answers.
    answer_ties : {"first", "lexicographic"}
        Which answers make the cut among equally common ones: met first in the questions file, or by name.
    superset_filter : {"immediate", "all", "none"}, optional
        Drop a rule when a subset of its antecedent (one item smaller, any, none) is as confident.
    vote : {"best", "weighted"}, optional
        How the rule classifier answers: its most confident rule, or the sum of confidences.
    support_rounding : {"floor-float32", "ceil"}, optional
        How --min-support becomes a count.
    empty_rule : bool, optional
        Whether the empty antecedent (the most common answer) is a rule like any other.
    keep_dropped : bool
        Also write the rules that the superset filter drops.
    keep_matches : bool
        Also write every (question, rule) pair.
    max_rules : int, optional
        Stop mining at this many antecedents, those of the most frequent items first, with exit code 3;
        default: as many as fit in memory.
    holdout : bool
        Mine on one half of the training images (groups) and test the rules found on the other half.
    seed : int
        Decides which image is in which half, and which group is in the --val-share.
    max_q : float
        Verdict "chance" from this q value on (with --holdout: Holm's p), 0 to 1.
    max_improvement_p : float
        Verdict "redundant" from this p value of the gain over the best subset on, 0 to 1.
    min_val_count : int
        Verdict "unstable" only for rules that fire on so many validation questions.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    columns: str | None = None
    item_columns: str | None = None
    split_column: str | None = None
    val_share: float | None = None
    preset: Preset = "code"
    items: ItemKinds | None = None
    tokenizer: Tokenizer = "basic_english"
    min_count: int | None = None
    min_support: float | None = None
    max_antecedent: int = 4
    min_confidence: float = 0.3
    score_threshold: float = 0.5
    top_answers: int = 3000
    answer_ties: AnswerTies = "first"
    superset_filter: SupersetFilter | None = None
    vote: Vote | None = None
    support_rounding: SupportRounding | None = None
    empty_rule: bool | None = None
    keep_dropped: bool = False
    keep_matches: bool = False
    max_rules: int | None = None
    holdout: bool = False
    seed: int = 0
    max_q: float = 0.05
    max_improvement_p: float = 0.05
    min_val_count: int = 10
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value."""
        fill_in(self, PRESETS)
        named_columns(self.columns, COLUMNS)
        named_items(self.item_columns)
        if self.split_column is not None:
            check_texts(split_column=self.split_column)
        if self.val_share is not None:
            check_between(self, "val_share", 0, 1, above=True, below=True)
        if self.split_column is not None and self.val_share is not None:
            raise ConfigError(
                f"split_column and val_share: got {self.split_column!r} and {self.val_share}, expected only "
                "one. Leave one of --split-column and --val-share out."
            )
        if self.min_count is not None and self.min_support is not None:
            raise ConfigError(
                f"min_count and min_support: got {self.min_count} and {self.min_support}, expected only one. "
                "Leave one of --min-count and --min-support out."
            )
        if self.min_support is not None:
            check_between(self, "min_support", 0, 1, above=True)
        if self.min_count is not None:
            check_whole(self, "min_count", 1)
        check_whole(self, "max_antecedent", 1, 8)
        check_whole(self, "seed", 0)
        if self.max_rules is not None:
            check_whole(self, "max_rules", 1)
        for name in ("top_answers", "min_val_count"):
            check_whole(self, name, 1)
        for name in ("min_confidence", "score_threshold", "max_q", "max_improvement_p"):
            check_between(self, name, 0, 1)

    def for_files(self, files: VqaCeFiles, *, has_labels: bool = False) -> "VqaCeConfig":
        """Return the options with those decided that were left open.

        ``items`` is both, or words without detections and without labels in the table; ``min_count`` has its
        default without a min_support.
        """
        decided: dict[str, Any] = {}
        if self.items is None:
            decided["items"] = "both" if files.detections or has_labels else "words"
        if self.min_count is None and self.min_support is None:
            decided["min_count"] = DEFAULT_MIN_COUNT
        return dataclasses.replace(self, **decided)

    def check_files(self, files: VqaCeFiles) -> None:
        """Raise ConfigError for options that the files leave without meaning."""
        given = [name for name in _TABLE_OPTIONS if getattr(self, name) is not None]
        if given and files.table is None:
            raise ConfigError(
                f"{', '.join(given)}: got options of a table without one, expected --table. "
                f"Give --table, or leave out {_options(given)}."
            )
        cut = [name for name in ("split_column", "val_share") if getattr(self, name) is not None]
        if cut and files.val_table is not None:
            raise ConfigError(
                f"val_table and {cut[0]}: got both, expected only one. "
                f"Leave one of --val-table and {option_name(cut[0])} out."
            )


def _options(names: Sequence[str]) -> str:
    return " and ".join(map(option_name, names))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``vqa-ce score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact", "soft-labels"}
        How answers are scored. auto: by the annotators' answers of each question, vqa-official for 10 or
        more, three-agree (three matches are full score) for 3 to 9, any-answer for 1 or 2; soft-labels with
        --soft-labels.
    baseline : str, optional
        Model that all others are compared with, question by question.
    min_count : int
        Least validation rows where a rule fires, for the list of exploited shortcuts.
    resamples : int
        Bootstrap resamples of images, or of a table's groups; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    scorer: Scorer = "auto"
    baseline: str | None = None
    min_count: int = 5
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_whole(self, "min_count", 1)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
