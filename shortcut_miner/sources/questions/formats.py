"""The formats of questions: VQA's two files, and GQA's one. Readers take a Content and options.

Flat tables of questions (:mod:`.tables`) are not among them: their columns are named freely.
"""

from shortcut_miner.sources.opening.kinds import Format, for_options
from shortcut_miner.sources.questions import gqa_questions as gqa
from shortcut_miner.sources.questions import vqa_annotations, vqa_questions

QUESTIONS = for_options(
    "vqa-ce build --train-questions or --val-questions, or to rad build --questions",
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
    "fpvg, swapmix or rad build --questions",
    Format(gqa.GQA_QUESTIONS, gqa.read_questions, "JSON", gqa.is_gqa_questions, "questions"),
)
