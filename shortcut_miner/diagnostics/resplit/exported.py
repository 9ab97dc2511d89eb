"""What a resplit folder offers to evaluators: the questions of the test, and those of validation."""

from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.resplit.outputs import COMMAND, read_folder

CITATION = """\
@inproceedings{agrawal2018dont,
  title = {Don't Just Assume; Look and Answer: Overcoming Priors for Visual Question Answering},
  author = {Agrawal, Aishwarya and Batra, Dhruv and Parikh, Devi and Kembhavi, Aniruddha},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition},
  year = {2018}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the questions of the test, and those of validation; both are to be answered.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, or a missing or damaged file.
    """
    table = read_folder(path).questions
    return question_sets_of(
        path,
        command=COMMAND,
        title="Questions split anew",
        sets={"resplit": {side: table.filter(subset=side) for side in ("test", "val")}},
        read_back=f"resplit score {quoted(path)} --predictions {{predictions}}",
        citation=CITATION,
    )
