"""The formats of questions: VQA's two files, and sets whose one file holds questions and answers.

Readers take a Content, the rule for bad rows and, but for annotations, how many questions to look at. Flat
tables of questions (:mod:`.tables`) are not among them: their columns are named freely.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from shortcut_miner.sources.opening.kinds import Counts, Form, Format, for_options
from shortcut_miner.sources.questions import gqa_questions as gqa
from shortcut_miner.sources.questions import released_sets as sets
from shortcut_miner.sources.questions import visdial, vqa_annotations, vqa_questions
from shortcut_miner.sources.questions.set_records import SetShape, read_set

_VQA_CE = "vqa-ce build --train-questions or --val-questions"
QUESTIONS_GO_TO = f"{_VQA_CE}, or to rad build --questions"

QUESTIONS = for_options(
    QUESTIONS_GO_TO,
    Format(
        vqa_questions.QUESTIONS, vqa_questions.read_questions,
        "JSON", vqa_questions.is_vqa_questions, vqa_questions.count_questions,
    ),
)  # fmt: skip
ANNOTATIONS = for_options(
    "vqa-ce build --train-annotations or --val-annotations, or to rad build --annotations",
    Format(
        vqa_annotations.ANNOTATIONS, vqa_annotations.read_annotations,
        "JSON", vqa_annotations.is_vqa_annotations, vqa_annotations.count_annotations,
    ),
)  # fmt: skip
GQA = for_options(
    f"fpvg, swapmix, rad or gqa-ood build --questions, or to {_VQA_CE}",
    Format(gqa.GQA_QUESTIONS, gqa.read_questions, "JSON", gqa.is_gqa_questions, "questions"),
)


def _of_set(
    shape: SetShape,
    recognise: Callable[[Any], bool],
    holds: str | Callable[[Any], Counts] = "questions",
    form: Form = "JSON",
) -> Format:
    return Format(shape.kind, partial(read_set, shape), form, recognise, holds)


SETS = (
    for_options(
        QUESTIONS_GO_TO,
        _of_set(sets.A_OKVQA, sets.is_aokvqa),
        _of_set(sets.VIZWIZ, sets.is_vizwiz),
        _of_set(sets.TEXTVQA, sets.is_textvqa, sets.count_textvqa),
        _of_set(sets.VQA_X, sets.is_vqa_x),
        Format(visdial.VISDIAL.kind, visdial.read_visdial, "JSON", visdial.is_visdial, visdial.count_dialogs),
    )
    + for_options(
        f"{QUESTIONS_GO_TO}; or, as weights of answers, to vqa-ce score --soft-labels",
        _of_set(sets.LXMERT, sets.is_lxmert),
    )
    + for_options(
        f"{QUESTIONS_GO_TO}; or, to be answered, to pope score --questions",
        _of_set(sets.POPE, sets.is_pope, form="JSONL"),
    )
)
# Columns of tables that are read by their names -> what takes them.
TABLES = (
    ({"question_id", "question", "answer"}, QUESTIONS_GO_TO),
    (
        {"question_id", "question", "multiple_choice_answer"},
        "rad build --questions, with --columns answer=multiple_choice_answer",
    ),
)
