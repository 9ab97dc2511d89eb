"""What a VQA-CE folder offers to evaluators: its subsets."""

from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.vqa_ce.outputs import COMMAND, read_folder
from shortcut_miner.schemas import SUBSETS

CITATION = """\
@inproceedings{dancette2021beyond,
  title = {Beyond Question-Based Biases: Assessing Multimodal Shortcut Learning in Visual Question Answering},
  author = {Dancette, Corentin and Cad{\\`e}ne, R{\\'e}mi and Teney, Damien and Cord, Matthieu},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision},
  year = {2021}
}"""
_ORDER = ("counterexamples", *(name for name in SUBSETS if name != "counterexamples"))


def question_sets(path: Path) -> QuestionSets:
    """Return the validation questions by subset, each of them once.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, or a missing or damaged file.
    """
    folder = read_folder(path)
    subsets = folder.split.select("question_id", "subset")
    table = folder.questions.join(subsets, on="question_id", how="inner", validate="1:1")
    return question_sets_of(
        path,
        command=COMMAND,
        title="VQA-CE subsets",
        sets={"vqa-ce": {name: table.filter(subset=name) for name in _ORDER}},
        read_back=f"vqa-ce score {quoted(path)} --predictions {{predictions}}",
        citation=CITATION,
    )
