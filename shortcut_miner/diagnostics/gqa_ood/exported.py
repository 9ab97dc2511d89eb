"""What a GQA-OOD folder offers to evaluators: the questions of head and tail."""

from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.gqa_ood.outputs import COMMAND, read_folder
from shortcut_miner.diagnostics.gqa_ood.subsets import HEAD, TAIL
from shortcut_miner.errors import SourceError

CITATION = """\
@inproceedings{kervadec2021roses,
  title = {Roses Are Red, Violets Are Blue... But Should {VQA} Expect Them To?},
  author = {Kervadec, Corentin and Antipov, Grigory and Baccouche, Moez and Wolf, Christian},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year = {2021}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the scored questions, with head and tail as splits of one set.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, a missing or damaged file, or questions whose texts the build was not given.
    """
    folder = read_folder(path)
    asked = folder.asked()
    if without := asked["question"].null_count():
        raise SourceError(
            f"{path}: got {without:,} questions without a text, expected one for each to export. Build from "
            "a table that has the column question."
        )
    return question_sets_of(
        path,
        command=COMMAND,
        title="GQA-OOD subsets",
        sets={"subsets": {name: asked.filter(subset=name) for name in (HEAD, TAIL)}},
        read_back=f"gqa-ood score {quoted(path)} --predictions {{predictions}}",
        citation=CITATION,
    )
