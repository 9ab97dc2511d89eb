"""What a POPE folder offers to evaluators: the questions of each strategy."""

from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of, quoted
from shortcut_miner.diagnostics.pope.outputs import COMMAND, read_folder, strategies_of

CITATION = """\
@inproceedings{li2023pope,
  title = {Evaluating Object Hallucination in Large Vision-Language Models},
  author = {Li, Yifan and Du, Yifan and Zhou, Kun and Wang, Jinpeng and Zhao, Wayne Xin and Wen, Ji-Rong},
  booktitle = {Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing},
  year = {2023}
}"""


def question_sets(path: Path) -> QuestionSets:
    """Return the questions, with the strategies as splits of one set.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, or a missing or damaged file.
    """
    questions = read_folder(path).questions
    return question_sets_of(
        path,
        command=COMMAND,
        title="POPE questions",
        sets={"pope": {name: questions.filter(strategy=name) for name in strategies_of(questions)}},
        read_back=f"pope score {quoted(path)} --predictions {{predictions}}",
        citation=CITATION,
    )
