"""Questions as tasks of inspect_ai: a task file, and JSON Lines beside it."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter, scored
from shortcut_miner.exports.records import json_texts, record_texts, write_lines
from shortcut_miner.exports.standalone import standalone_text
from shortcut_miner.exports.tasks import POST_PROMPT, result_places, task_name
from shortcut_miner.sources.images.image_files import Images

_CODE = ("answer_text.py", "exports/official_accuracy.py", "exports/inspect_ai_task.py.txt")
# inspect_ai finds tasks by reading the file, so each set has its own function.
_TASK = '''

@task
def {name}(subset: str = "") -> Task:
    """{title}: {splits}; all of them, or those that are named, with commas."""
    return questions("{name}", subset)
'''
_METADATA = (
    "question_id",
    "image_id",
    "subset",
    "question_type",
    "answer_type",
    "answer",
    "answers",
    "answer_record_key",
)


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write task.py with a task for each set, and the set's questions as samples.

    A sample's metadata hold the question's id and what it is scored by; the scoring in task.py needs nothing
    of this package. Images are named by their paths or addresses.
    """
    text, room = standalone_text(*_CODE), questions.command.split()[0]
    tasks = {name: task_name(room, name) for name in questions.sets}
    for name, splits in questions.sets.items():
        named = [table.with_columns(subset=pl.lit(split)) for split, table in splits.items()]
        write_samples(pl.concat(named), images, folder / f"{tasks[name]}.jsonl")
        text += _TASK.format(name=tasks[name], title=questions.title, splits=", ".join(splits))
    (folder / "task.py").write_text(text, encoding="utf-8", newline="\n")
    places = result_places(tasks)
    return Exported(
        run="\n".join(
            f"inspect eval {{out}}/task.py@{tasks[name]} --model mockllm/model --log-dir {place}"
            for name, place in places.items()
        ),
        read_back=scored(questions, {name: f"mockllm={place}" for name, place in places.items()}),
        notes=_notes(images),
    )


EXPORTER = Exporter("inspect-ai", "inspect_ai", write)


def write_samples(questions: pl.DataFrame, images: Images, path: Path) -> None:
    """Write questions as inspect_ai's samples, a line each: id, input, target, metadata.

    Parameters
    ----------
    questions : pl.DataFrame
        Of one set, each question_id once, with a column `subset`.
    images : Images
        Where they are; a question without image is text alone.
    path : Path
        The file to write.
    """
    image = pl.when(pl.col("image").is_not_null()).then(_json(type=pl.lit("image"), image=pl.col("image")))
    asked = _json(type=pl.lit("text"), text=pl.concat_str("question", pl.lit(POST_PROMPT)))
    content = pl.concat_str(image, asked, separator=",", ignore_nulls=True)
    samples = questions.with_columns(image=images.place()).select(
        id="question_id",
        input=pl.concat_str(pl.lit('[{"role":"user","content":['), content, pl.lit("]}]")),
        target=pl.col("answer").fill_null(""),
        metadata=json_texts(pl.struct(_METADATA)),
    )
    write_lines(record_texts(samples, ["input", "metadata"]), path)


def _json(**fields: pl.Expr) -> pl.Expr:
    return json_texts(pl.struct([one.alias(name) for name, one in fields.items()]))


def _notes(images: Images) -> tuple[str, ...]:
    told = {
        "files": "inspect_ai opens images at their paths, so the folder runs on this machine alone",
        "addresses": "inspect_ai hands the addresses of images to the model",
    }
    model = (
        "put your model in place of mockllm/model, which gives one answer to everything (and fetches a "
        "tokeniser on its first run)"
    )
    return (*((told[images.kind],) if images.kind in told else ()), model)
