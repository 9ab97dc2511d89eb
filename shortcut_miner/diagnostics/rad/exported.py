"""What a RAD folder offers to evaluators: augmentations by type, and the questions behind them."""

from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.rad.config import TYPES
from shortcut_miner.diagnostics.rad.outputs import COMMAND, read_folder

CITATION = """\
@inproceedings{rosenberg2021rad,
  title = {Are {VQA} Systems {RAD}? Measuring Robustness to Augmented Data with Focused Interventions},
  author = {Rosenberg, Daniel and Gat, Itai and Feder, Amir and Reichart, Roi},
  booktitle = {Proceedings of the 59th Annual Meeting of the Association for Computational Linguistics},
  year = {2021}
}"""
_OF_AUGMENTATIONS = ("augmentation", "form", "original_question", "original_answer", "substituted_answer")


def question_sets(path: Path) -> QuestionSets:
    """Return the augmentations by type, with the ids of their originals, and the originals that have one.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, or a missing or damaged file.
    """
    folder = read_folder(path)
    made = folder.augmentations
    table = folder.augmented_questions().with_columns(made.select(_OF_AUGMENTATIONS).get_columns())
    augmented = folder.originals().unique().to_frame("question_id")
    originals = folder.questions.join(augmented, on="question_id", how="semi")
    answers = "--original {predictions of originals} --augmented {predictions of augmentations}"
    return question_sets_of(
        path,
        command=COMMAND,
        title="RAD augmentations",
        sets={
            "augmentations": {name: table.filter(augmentation=name) for name in TYPES},
            "originals": {"originals": originals},
        },
        read_back=f"rad score {quoted(path)} {answers}",
        citation=CITATION,
    )
