"""MMF: JSON lines of its VQA v2 data set, a file a split.

MMF's own files are arrays of pickled records (.npy), and a pickle runs what it holds. Its reader takes JSON
lines just as well, without the header that a .npy begins with.
"""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter
from shortcut_miner.exports.numbered import MOST_32, SOURCE_ID, are_numbers, number_questions
from shortcut_miner.exports.records import feature_notes, image_stems, record_texts, write_lines
from shortcut_miner.publishing import published_folder
from shortcut_miner.sources.images.image_files import Images

_RESULTS = "mmf-results"
# In a path, each of these makes MMF read the file as another data set.
_OTHER_READERS = ("visdial", "visual_dialog", "flickr30k")
_ENDS = r"^[\s\x1c-\x1f]+|[\s\x1c-\x1f]+$"  # what Python strips
_FIELDS = (
    "question_id", "image_id", "image_name", "image_path", "feature_path", "question_str", "question_tokens",
    "answers", "answer", "question_type", "answer_type", SOURCE_ID,
)  # fmt: skip


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write SET_SPLIT.jsonl for each split."""
    numbers = number_questions(questions, MOST_32)
    # The ids of a batch must be of one kind.
    kind = pl.Int64() if are_numbers(questions.values("image_id"), MOST_32) else pl.String()
    for stem, table in questions.by_stem().items():
        write_lines(_records(numbers.put_into(table), images, kind), folder / f"{stem}.jsonl")
    numbers.write(folder)
    first = next(iter(questions.sets))
    return Exported(
        run=_run(questions),
        read_back=numbers.scored(questions, f"{_RESULTS}/{first}_*/*.json"),
        notes=(
            *_path_notes(published_folder(folder)),
            *feature_notes("feature_path: the image's id with .npy", images),
            *numbers.notes("MMF", 32),
        ),
    )


def _records(table: pl.DataFrame, images: Images, image_id: pl.DataType) -> pl.Series:
    """Return the records; one without answers has none, for MMF looks at the last one of a list."""
    stems = image_stems(table["image_id"], images)
    records = table.with_columns(
        pl.col("image_id").cast(image_id),
        pl.when(pl.col("answers").list.len() > 0).then("answers").alias("answers"),
        image_name=stems,
        image_path=images.file(),
        feature_path=stems + ".npy",
        question_str="question",
        question_tokens=_tokens(pl.col("question")),
    )
    return record_texts(records.select(name for name in _FIELDS if name in records.columns))


def _tokens(question: pl.Expr) -> pl.Expr:
    """Return words and runs of marks, in lower case, as MMF splits: 's apart, no commas and question marks.

    >>> pl.DataFrame({"q": ["What's the dog's name, Rex?"]}).select(_tokens(pl.col("q"))).item().to_list()
    ['what', "'", 's', 'the', 'dog', "'", 's', 'name', 'rex']
    """
    plain = question.str.to_lowercase().str.replace_all("'s", " 's", literal=True).str.replace_all("[,?]", "")
    runs = plain.str.extract_all(r"[\p{L}\p{N}_]+|[^\p{L}\p{N}_]+")
    stripped = runs.list.eval(pl.element().str.replace_all(_ENDS, ""))
    return stripped.list.eval(pl.element().filter(pl.element() != ""))


def _path_notes(folder: Path) -> tuple[str, ...]:
    odd = [word for word in _OTHER_READERS if word in str(folder)]
    if not odd:
        return ()
    shown = " or ".join(odd)
    return (f"{folder}: MMF takes files with {shown} in their path for another data set's; move the folder",)


def _run(questions: QuestionSets) -> str:
    return (
        "git clone https://github.com/facebookresearch/mmf\n"
        f"OUT=$(realpath {{out}}); RESULTS=$PWD/{_RESULTS}\n"
        f"for stem in {' '.join(questions.by_stem())}; do\n"
        "    (cd mmf && mmf_predict config=projects/visual_bert/configs/vqa2/defaults.yaml \\\n"
        "        model=visual_bert dataset=vqa2 run_type=test \\\n"
        "        checkpoint.resume_zoo=visual_bert.finetuned.vqa2.from_coco_train \\\n"
        '        "dataset_config.vqa2.annotations.test[0]=$OUT/$stem.jsonl" \\\n'
        '        "dataset_config.vqa2.features.test[0]=coco/defaults/features/trainval2014.lmdb" \\\n'
        '        "env.report_dir=$RESULTS/$stem")\n'
        "done"
    )


EXPORTER = Exporter("mmf", "MMF", write)
