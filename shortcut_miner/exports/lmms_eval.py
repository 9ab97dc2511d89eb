"""Questions as tasks of lmms-eval: a folder for its ``--include_path``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.datasets.cards import Config
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter, scored
from shortcut_miner.exports.huggingface import write_data
from shortcut_miner.exports.standalone import standalone_text
from shortcut_miner.exports.tasks import POST_PROMPT, result_places, task_name
from shortcut_miner.sources.images.image_files import Images

_CODE = ("answer_text.py", "exports/official_accuracy.py", "exports/lmms_eval_utils.py")
_METRIC = "accuracy"
_SPLIT = "test"
_HOOKS = ("doc_to_visual", "doc_to_text", "doc_to_target", "process_results")


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write a task and a table for each split, a group for each set with several, and the scoring.

    The tables name images by their paths, or hold packed ones. The scoring is utils.py, which needs nothing
    of this package. In samples the answer comes with its question's id, so that they can be scored again
    here.
    """
    (folder / "utils.py").write_text(standalone_text(*_CODE), encoding="utf-8", newline="\n")
    if images.kind == "packed":
        configs, _ = write_data(questions, images, folder)
    else:
        named = questions.changed(lambda table: table.with_columns(image=images.file()))
        configs, _ = write_data(named, Images(), folder)
    room = questions.command.split()[0]
    groups = {config.name: _write_tasks(config, room, folder) for config in configs}
    places = result_places(groups)
    return Exported(
        run="\n".join(
            "python -m lmms_eval --model dummy --model_args response=yes "
            f"--tasks {groups[name]} --include_path {{out}} --batch_size 1 --log_samples "
            f"--output_path {place}"
            for name, place in places.items()
        ),
        read_back=scored(questions, {name: f"dummy={place}" for name, place in places.items()}),
        notes=_notes(images),
    )


EXPORTER = Exporter("lmms-eval", "lmms-eval", write, holds_images=True)


def _write_tasks(config: Config, room: str, folder: Path) -> str:
    """Write the tasks of a set and, where there are several, their group; return what to ask for."""
    group = task_name(room, config.name)
    is_alone = [*config.files] == [config.name]
    tasks = {group if is_alone else task_name(group, split): files for split, files in config.files.items()}
    for task, files in tasks.items():
        _write_yaml(folder / f"{task}.yaml", _task(task, files))
    if len(tasks) == 1:
        return next(iter(tasks))
    _write_yaml(folder / f"{group}.yaml", _group(group, [*tasks]))
    return group


def _task(name: str, files: Sequence[str]) -> dict[str, Any]:
    return {
        "task": name,
        "dataset_path": "parquet",
        "dataset_kwargs": {"data_files": {_SPLIT: [*files]}},
        "test_split": _SPLIT,
        "output_type": "generate_until",
        **{hook: f"!function utils.{hook}" for hook in _HOOKS},
        "generation_kwargs": {"max_new_tokens": 16, "temperature": 0, "do_sample": False},
        "metric_list": [{"metric": _METRIC, "aggregation": "mean", "higher_is_better": True}],
        "lmms_eval_specific_kwargs": {"default": {"pre_prompt": "", "post_prompt": POST_PROMPT}},
        "metadata": [{"version": 1.0}],
    }


def _group(name: str, tasks: list[str]) -> dict[str, Any]:
    return {
        "group": name,
        "task": tasks,
        "aggregate_metric_list": [{"metric": _METRIC, "aggregation": "mean", "weight_by_size": True}],
        "metadata": {"version": 1.0},
    }


def _write_yaml(path: Path, fields: Mapping[str, Any]) -> None:
    """Write fields, each in a line: JSON is YAML, but for the functions that are named."""
    lines = (
        f"{name}: {value if str(value).startswith('!function ') else json.dumps(value)}"
        for name, value in fields.items()
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _notes(images: Images) -> tuple[str, ...]:
    told = {
        "files": "lmms-eval opens images at their paths, so the folder runs on this machine alone",
        "addresses": "lmms-eval opens files alone, no addresses: its models see the text alone",
    }
    told_of_images = (told[images.kind],) if images.kind in told else ()
    return (*told_of_images, "put your model in place of lmms-eval's dummy, which says yes to everything")
