"""What a slices folder offers to evaluators: the questions of the slices to read first, and the others."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.slices.outputs import COMMAND, read_folder
from shortcut_miner.diagnostics.slices.score import is_in
from shortcut_miner.errors import SourceError

CITATION = """\
@inproceedings{pastor2021looking,
  title = {Looking for Trouble: Analyzing Classifier Behavior via Pattern Divergence},
  author = {Pastor, Eliana and de Alfaro, Luca and Baralis, Elena},
  booktitle = {Proceedings of the 2021 International Conference on Management of Data},
  year = {2021}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the questions of a build, told apart by whether a slice to read first holds them.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, a missing or damaged file, or a build of a table without questions.
    """
    folder = read_folder(path)
    questions = folder.questions
    if "accuracy" not in questions.columns:
        raise SourceError(
            f"{path}: got slices of a table with outcomes, expected those of questions, which models answer. "
            "Build slices of questions."
        )
    slices = folder.slices.join(folder.cover, on="slice_id", how="semi")
    held = pl.any_horizontal([pl.lit(False), *map(is_in, slices.iter_rows(named=True))])
    sets = {"in_slices": questions.filter(held), "elsewhere": questions.filter(~held)}
    return question_sets_of(
        path,
        command=COMMAND,
        title="questions of failure slices, and others",
        sets={"slices": sets},
        read_back=f"slices score {quoted(path)} --predictions {{predictions}}",
        citation=CITATION,
    )
