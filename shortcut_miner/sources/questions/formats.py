"""The formats of questions: VQA's two files, and sets whose one file holds questions and answers.

Readers take a Content, the rule for bad rows and, but for annotations, how many questions to look at. Flat
tables of questions (:mod:`.tables`) are not among them: their columns are named freely.
"""

from functools import partial

from shortcut_miner.sources.opening.kinds import Format, for_options
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions import gqa_questions as gqa
from shortcut_miner.sources.questions import released_sets as sets
from shortcut_miner.sources.questions import visdial, vqa_annotations, vqa_questions
from shortcut_miner.sources.questions.set_records import SetShape, read_set

QUESTIONS_GO_TO = "vqa-ce build --train-questions or --val-questions, or to rad build --questions"

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
    f"fpvg, swapmix or rad build --questions, or to {QUESTIONS_GO_TO.partition(',')[0]}",
    Format(gqa.GQA_QUESTIONS, gqa.read_questions, "JSON", gqa.is_gqa_questions, "questions"),
)


def _reads(shape: SetShape) -> tuple[str, partial[Reading]]:
    return shape.kind, partial(read_set, shape)


SETS = for_options(
    QUESTIONS_GO_TO,
    Format(*_reads(sets.A_OKVQA), "JSON", sets.is_aokvqa, "questions"),
    Format(*_reads(sets.VIZWIZ), "JSON", sets.is_vizwiz, "questions"),
    Format(*_reads(sets.TEXTVQA), "JSON", sets.is_textvqa, sets.count_textvqa),
    Format(*_reads(sets.VQA_X), "JSON", sets.is_vqa_x, "questions"),
    Format(*_reads(sets.POPE), "JSONL", sets.is_pope, "questions"),
    Format(visdial.VISDIAL.kind, visdial.read_visdial, "JSON", visdial.is_visdial, visdial.count_dialogs),
) + for_options(
    f"{QUESTIONS_GO_TO}; or, as weights of answers, to vqa-ce score --soft-labels",
    Format(*_reads(sets.LXMERT), "JSON", sets.is_lxmert, "questions"),
)
