"""LAVIS: a list of records a split, and the answers that a model ranks."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter
from shortcut_miner.exports.numbered import MOST_64, SOURCE_ID, number_questions
from shortcut_miner.exports.records import (
    SOURCE_IMAGE,
    by_frequency,
    record_texts,
    source_image,
    write_records,
    write_value,
)
from shortcut_miner.sources.images.image_files import Images

_ANSWER_LIST = "answer_list.json"
_FIELDS = (
    "image", "question", "question_id", "answer", "dataset", "multiple_choice_answer", "answer_type",
    "question_type", SOURCE_ID, SOURCE_IMAGE,
)  # fmt: skip
_RESULTS = "lavis-results"


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write SET_SPLIT.json for each split, as LAVIS's data sets for VQA read it, and answer_list.json."""
    numbers = number_questions(questions, MOST_64)
    for stem, table in questions.by_stem().items():
        write_records(_records(numbers.put_into(table), images), folder / f"{stem}.json")
    answers = questions.values("answer")
    write_value(by_frequency(answers.filter(answers != "")), folder / _ANSWER_LIST)
    numbers.write(folder)
    first = next(iter(questions.sets))
    return Exported(
        run=_run(questions),
        read_back=numbers.scored(questions, f"{_RESULTS}/{first}_*/*/result/val_vqa_result.json"),
        notes=(
            f"{_ANSWER_LIST}: the answers of these very questions, so a model that ranks answers finds each "
            "right one in it; for numbers to publish take LAVIS's own list for VQA v2",
            *_image_notes(images),
            *numbers.notes("LAVIS", 64),
        ),
    )


def _records(table: pl.DataFrame, images: Images) -> pl.Series:
    """Return the records; `answer` is the list of all annotators' answers, as LAVIS calls it."""
    places = table["image_id"].replace(images.places)
    records = table.with_columns(
        image=places,
        answer="answers",
        multiple_choice_answer="answer",
        dataset=pl.lit("vqa"),
        **source_image(places),
    )
    return record_texts(records.select(name for name in _FIELDS if name in records.columns))


def _image_notes(images: Images) -> tuple[str, ...]:
    if images.kind == "files":
        return ()
    if images.kind == "addresses":
        return ("image: addresses, which LAVIS can't open; give --images a folder",)
    return ("image: ids of images alone, which LAVIS can't open; give --images",)


def _run(questions: QuestionSets) -> str:
    """Return the commands; LAVIS downloads nothing that is there under the name it is stored by."""
    data = "datasets.coco_vqa.build_info"
    return (
        "git clone https://github.com/salesforce/LAVIS\n"
        f"OUT=$(realpath {{out}}); RESULTS=$PWD/{_RESULTS}\n"
        f"for stem in {' '.join(questions.by_stem())}; do\n"
        f'    FILES="[$OUT/$stem.json,$OUT/{_ANSWER_LIST}]"\n'
        "    (cd LAVIS && python -m torch.distributed.run --nproc_per_node=1 evaluate.py \\\n"
        "        --cfg-path lavis/projects/blip/eval/vqav2_eval.yaml --options \\\n"
        f'        {data}.annotations.val.url="$FILES" {data}.annotations.val.storage="$FILES" \\\n'
        f'        {data}.images.storage=/ run.output_dir="$RESULTS/$stem")\n'
        "done"
    )


EXPORTER = Exporter("lavis", "LAVIS", write)
