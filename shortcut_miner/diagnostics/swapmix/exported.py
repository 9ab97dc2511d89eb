"""What a SwapMix folder offers to evaluators: the questions of its plan, and the images drawn of it."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.drawn_sets import drawn_question_sets
from shortcut_miner.datasets.folders import BuiltFolder, open_folder
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


def drawn_sets(folder: BuiltFolder) -> QuestionSets:
    """Return the images of all rows of the plan, those without a swap too, as one set.

    Raises
    ------
    SourceError
        A missing or damaged file.
    """
    asked = folder.manifest["config"]
    words = [f"--k {asked['k']}"] if asked.get("k") is not None else []
    is_part = any(asked.get(name) is not None for name in ("sample", "limit")) or folder.manifest["dropped"]
    words += ["--on-missing skip"] if is_part else []
    return drawn_question_sets(
        folder,
        title="images of a SwapMix plan's swaps",
        sets=lambda table: {"swapmix": {"swaps": table}},
        read_back=lambda build: " ".join(["swapmix score", build, "--predictions {predictions}", *words]),
        citation=CITATION,
    )
