"""What an FPVG folder offers to evaluators: its evaluable questions, and the images drawn of them."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.drawn_sets import drawn_question_sets
from shortcut_miner.datasets.folders import BuiltFolder
from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.fpvg.images import IDS
from shortcut_miner.diagnostics.fpvg.outputs import COMMAND, read_folder

CITATION = """\
@inproceedings{reich2023measuring,
  title = {Measuring Faithful and Plausible Visual Grounding in {VQA}},
  author = {Reich, Daniel and Putze, Felix and Schultz, Tanja},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2023},
  year = {2023}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the evaluable questions with the relevant and irrelevant regions of each.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, or a missing or damaged file.
    """
    folder = read_folder(path)
    lists = folder.regions.filter("is_evaluable").drop("image_id", "is_evaluable", "exclusion")
    table = folder.questions.join(lists, on="question_id", how="inner", validate="1:1")
    answers = "--all {predictions} --relevant NAME=FILE --irrelevant NAME=FILE"
    return question_sets_of(
        path,
        command=COMMAND,
        title="questions that FPVG can evaluate",
        sets={"fpvg": {"evaluable": table}},
        read_back=f"fpvg score {quoted(path)} {answers}",
        citation=CITATION,
    )


def drawn_sets(folder: BuiltFolder) -> QuestionSets:
    """Return the images of each condition as a set of its own: a model answers them in a run of its own.

    Raises
    ------
    SourceError
        A missing or damaged file.
    """

    def sets(table: pl.DataFrame) -> dict[str, dict[str, pl.DataFrame]]:
        parts = table.partition_by("condition", as_dict=True, maintain_order=True)
        return {str(name): {str(name): rows} for (name,), rows in parts.items()}

    ids = quoted(folder.path / IDS)
    answers = "--all NAME=FILE --relevant {predictions of relevant} --irrelevant {predictions of irrelevant}"
    return drawn_question_sets(
        folder,
        title="images that show what FPVG takes for relevant, and the rest",
        sets=sets,
        read_back=lambda build: f"fpvg score {build} {answers} --ids drawn={ids}",
        citation=CITATION,
    )
