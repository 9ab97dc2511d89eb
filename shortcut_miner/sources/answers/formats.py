"""The formats of models' answers, and of the weights that answers are scored with.

Readers of answers take a Content and :class:`~.answer_rows.Asked`, and return
:class:`~.answer_rows.AnswerRows`; those of weights take a Content and return :class:`~.label_rows.LabelRows`.
"""

from shortcut_miner.sources.answers import inspect_logs, results, samples
from shortcut_miner.sources.answers import label_rows as labels
from shortcut_miner.sources.answers.answer_column import are_answers
from shortcut_miner.sources.answers.inspect_logs import read_log
from shortcut_miner.sources.answers.results import (
    read_by_id,
    read_gqa_predictions,
    read_results,
    read_vlmevalkit,
)
from shortcut_miner.sources.answers.samples import read_samples
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.kinds import Format, for_options, with_columns, with_fields

_is_vlmevalkit = with_columns(*results.VLMEVALKIT_COLUMNS)
_is_vlmevalkit_list = with_fields(*results.VLMEVALKIT_COLUMNS)
_OPTIONS = "vqa-ce score --predictions, rad score --original and --augmented, or fpvg score --all"


def _has_answers(table: FlatTable) -> bool:
    return are_answers(table.columns)


def _only_answers(table: FlatTable) -> bool:
    return are_answers(table.columns) and not {*labels.COLUMNS} <= {*table.columns}


# Records of records: what the user names are paths in them. Of a file that fits two the first one counts.
NESTED = for_options(
    _OPTIONS,
    Format(samples.LM_EVAL_SAMPLES, read_samples, "JSONL", samples.are_lm_eval_samples, "answers"),
    Format(samples.LMMS_EVAL_SAMPLES, read_samples, "JSONL", samples.are_samples, "answers"),
    Format(inspect_logs.INSPECT_EVAL, read_log, "eval", lambda table: True, "answers"),
    Format(inspect_logs.INSPECT_JSON, read_log, "JSON", inspect_logs.is_log, inspect_logs.log_counts),
)
PREDICTIONS = NESTED + for_options(
    _OPTIONS,
    Format(
        results.GQA_PREDICTIONS, read_gqa_predictions, "JSON", with_fields(*results.GQA_FIELDS), "answers"
    ),
    Format(results.VLMEVALKIT_JSON, read_vlmevalkit, "JSON", _is_vlmevalkit_list, "answers"),
    Format(results.RESULTS, read_results, "JSON", results.is_answer_list, "answers"),
    Format(results.LISTED, read_results, "JSON", results.has_answer_list, results.listed_count),
    Format(results.BY_ID, read_by_id, "JSON", results.are_by_id, "answers"),
    Format(results.PREDICTIONS_JSONL, read_results, "JSONL", results.are_predictions, "answers"),
    Format(results.VLMEVALKIT_TSV, read_vlmevalkit, "CSV", _is_vlmevalkit, "answers"),
    Format(results.VLMEVALKIT_XLSX, read_vlmevalkit, "xlsx", _is_vlmevalkit, "answers"),
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
# Columns of tables that are read by their names -> what takes them.
TABLES = (
    ({"original_id", "augmented_id"}, "rad score --pairs"),
    ({"question_id", "perturbation", "answer"}, "swapmix score --predictions"),
    ({"question_id", "region_index", "importance"}, "fpvg score --importance"),
)
