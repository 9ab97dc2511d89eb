"""What a pairs folder offers to evaluators: the questions of its pairs and groups, each once."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.pairs.outputs import COMMAND, SIDES, PairsFolder, read_folder

CITATION = """\
@inproceedings{goyal2017making,
  title = {Making the {V} in {VQA} Matter: Elevating the Role of Image Understanding in Visual Question
    Answering},
  author = {Goyal, Yash and Khot, Tejas and Summers-Stay, Douglas and Batra, Dhruv and Parikh, Devi},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition},
  year = {2017}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the questions of pairs, and those that groups add to them.

    Each question is there once: one set of answers serves pairs and groups.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, a missing or damaged file, or a folder without pairs.
    """
    folder = read_folder(path)
    asked = folder.asked()
    in_pairs = pl.col("question_id").is_in(_ids(folder).implode())
    return question_sets_of(
        path,
        command=COMMAND,
        title="VQA pairs",
        sets={"pairs": {"pairs": asked.filter(in_pairs), "groups": asked.filter(~in_pairs)}},
        read_back=f"pairs score {quoted(path)} --predictions {{predictions}}",
        citation=CITATION,
    )


def _ids(folder: PairsFolder) -> pl.Series:
    return pl.concat([folder.pairs[one].rename("question_id") for one in SIDES])
