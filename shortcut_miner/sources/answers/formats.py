"""The formats of models' answers, and of the weights that answers are scored with.

Readers of answers take a Content and whether document numbers may be ids, and return
:class:`~.evaluators.AnswerRows`; those of weights take a Content and return :class:`~.label_rows.LabelRows`.
"""

from shortcut_miner.sources.answers import evaluators, results
from shortcut_miner.sources.answers import label_rows as labels
from shortcut_miner.sources.answers.evaluators import read_samples, read_vlmevalkit
from shortcut_miner.sources.answers.results import read_gqa_predictions, read_results
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.kinds import Format, for_options, with_columns, with_fields

_is_vlmevalkit = with_columns(*evaluators.VLMEVALKIT_COLUMNS)
_is_vlmevalkit_list = with_fields(*evaluators.VLMEVALKIT_COLUMNS)


def _has_answers(table: FlatTable) -> bool:
    return results.are_answers(table.columns)


def _only_answers(table: FlatTable) -> bool:
    return results.are_answers(table.columns) and not {*labels.COLUMNS} <= {*table.columns}


# Of a file that fits two the first one counts.
PREDICTIONS = for_options(
    "vqa-ce score --predictions, rad score --original and --augmented, or fpvg score --all",
    Format(
        results.GQA_PREDICTIONS, read_gqa_predictions, "JSON", with_fields(*results.GQA_FIELDS), "answers"
    ),
    Format(evaluators.VLMEVALKIT_JSON, read_vlmevalkit, "JSON", _is_vlmevalkit_list, "answers"),
    Format(results.RESULTS, read_results, "JSON", results.is_answer_list, "answers"),
    Format(evaluators.LMMS_EVAL_SAMPLES, read_samples, "JSONL", evaluators.are_samples, "answers"),
    Format(results.PREDICTIONS_JSONL, read_results, "JSONL", results.are_predictions, "answers"),
    Format(evaluators.VLMEVALKIT_TSV, read_vlmevalkit, "CSV", _is_vlmevalkit, "answers"),
    Format(evaluators.VLMEVALKIT_XLSX, read_vlmevalkit, "xlsx", _is_vlmevalkit, "answers"),
    Format(results.PREDICTIONS_CSV, read_results, "CSV", _has_answers, "answers"),
    Format(results.PREDICTIONS_XLSX, read_results, "xlsx", _has_answers, "answers"),
    Format(results.PREDICTIONS_PARQUET, read_results, "Parquet", _only_answers, "answers"),
    Format(results.PREDICTIONS_ARROW, read_results, "Arrow", _only_answers, "answers"),
)
SOFT_LABELS = for_options(
    "vqa-ce score --soft-labels",
    Format(labels.SOFT_LABELS, labels.read_json_labels, "JSON", labels.are_soft_labels, "questions"),
    Format(
        labels.SOFT_LABELS_PARQUET, labels.read_labels_parquet,
        "Parquet", with_columns(*labels.COLUMNS), "labels",
    ),
)  # fmt: skip
