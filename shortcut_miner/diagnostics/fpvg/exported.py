"""What an FPVG folder offers to evaluators: its evaluable questions."""

from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
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
