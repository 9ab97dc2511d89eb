"""What a SwapMix folder offers to evaluators: the questions of its plan."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.swapmix.outputs import COMMAND
from shortcut_miner.schemas import Questions

CITATION = """\
@inproceedings{gupta2022swapmix,
  title = {{SwapMix}: Diagnosing and Regularizing the Over-Reliance on Visual Context in
    Visual Question Answering},
  author = {Gupta, Vipul and Li, Zhuowan and Kortylewski, Adam and Zhang, Chenyu and Li, Yingwei and
    Yuille, Alan},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year = {2022}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the questions that have rows in the plan, whatever kind of plan it is.

    An evaluator answers them without a swap; a score needs the answers to all swaps beside these.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, or a missing or damaged file.
    """
    table = open_folder(path, COMMAND).table("questions", Questions)
    return question_sets_of(
        path,
        command=COMMAND,
        title="questions of a SwapMix plan",
        sets={"swapmix": {"planned": table.filter(pl.col("exclusion").is_null()).drop("exclusion")}},
        read_back=f"swapmix score {quoted(path)} --predictions NAME=ANSWERS_TO_ALL_SWAPS.parquet",
        citation=CITATION,
    )
