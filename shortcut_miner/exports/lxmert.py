"""LXMERT: lists of questions with weights of answers, a file a split, and one without for predictions."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter
from shortcut_miner.exports.numbered import MOST_64, SOURCE_ID, Numbers, number_questions
from shortcut_miner.exports.records import (
    SOURCE_IMAGE,
    by_frequency,
    feature_notes,
    image_stems,
    json_texts,
    record_texts,
    source_image,
    write_records,
    write_value,
)
from shortcut_miner.scoring.scorers import LEAST_ANSWERS, OFFICIAL_ANSWERS
from shortcut_miner.sources.images.image_files import Images
from shortcut_miner.text import answer_forms

_ASKED = ("question_id", "img_id", "sent", "question_type", "answer_type", SOURCE_ID, SOURCE_IMAGE)
_FIELDS = (*_ASKED, "label", "answer", "answers")
_RUN, _RESULTS = "lxmert-run", "lxmert-results"
_NOTES = (
    "SET_questions.json has no labels, as LXMERT stops at an answer that a model's table doesn't have; "
    "to train on SET_SPLIT.json call it train, valid, minival or nominival, as LXMERT reads no others, "
    "and take trainval_ans2label.json and trainval_label2ans.json from here",
    "LXMERT leaves out questions whose image has no features without a word: compare the counts",
)


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write SET_SPLIT.json with weights, SET_questions.json without, and LXMERT's two tables of answers."""
    numbers = number_questions(questions, MOST_64)
    tables = questions.by_stem()
    labels = {stem: answer_weights(table) for stem, table in tables.items()}
    for stem, table in tables.items():
        write_records(_records(table, labels[stem], numbers, images), folder / f"{stem}.json")
    for name, splits in questions.sets.items():
        write_records(_unlabelled(list(splits.values()), numbers, images), folder / f"{name}_questions.json")
    _write_answers(pl.concat(labels.values()), folder)
    numbers.write(folder)
    first = next(iter(questions.sets))
    return Exported(
        run=_run(questions),
        read_back=numbers.scored(questions, f"{_RESULTS}/{first}/test_predict.json"),
        notes=(*_NOTES, *feature_notes("img_id: the image's id", images), *numbers.notes("LXMERT", 64)),
    )


def answer_weights(table: pl.DataFrame) -> pl.DataFrame:
    """Return how much each answer to a question is worth, as LXMERT's labels say it.

    What one is worth is its accuracy by the scorer "auto": of ten annotators one gives 0.3, two 0.6, three
    0.9, more 1. Answers are as the official evaluation compares them: normalised, but where all annotators
    agree as they are, stripped. Each counts as another annotator's: LXMERT keeps no records that could be
    equal.

    Returns
    -------
    pl.DataFrame
        row (of `table`, UInt32), answer (String), weight (Float64), by row, the most frequent answer first.

    >>> answer_weights(pl.DataFrame({"answers": [["Two"] * 7 + ["2"] * 2 + ["3"]]})).rows()
    [(0, '2', 1.0), (0, '3', 0.3)]
    """
    lists = table.select("answers").with_row_index("row").drop_nulls()
    given = lists.explode("answers").drop_nulls().with_row_index("place")
    forms = answer_forms(given["answers"]).rename({"answer": "answers"})
    is_unanimous = pl.col("stripped").n_unique().over("row") == 1
    counted = (
        given.join(forms, on="answers", how="left", validate="m:1")
        .with_columns(answer=pl.when(is_unanimous).then("stripped").otherwise("normalised"))
        .group_by("row", "answer")
        .agg(given=pl.len().cast(pl.Int64), place=pl.col("place").min())
        .with_columns(total=pl.col("given").sum().over("row"))
    )
    one, total = pl.col("given"), pl.col("total")
    matches, full = pl.min_horizontal(one, 3), LEAST_ANSWERS["three-agree"]
    # Each annotator is left out once: those who gave the answer match one fewer.
    left_out = (one * pl.min_horizontal(one - 1, 3) + (total - one) * matches) / (full * total)
    weight = (
        pl.when(total >= OFFICIAL_ANSWERS)
        .then(left_out)
        .when(total >= full)
        .then(matches / full)
        .otherwise(1.0)
    )
    # Of several that are worth 1, a reader takes the first one for the answer.
    ranked = counted.sort("row", "given", "place", descending=[False, True, False])
    return ranked.select("row", "answer", weight=weight)


def _records(table: pl.DataFrame, weights: pl.DataFrame, numbers: Numbers, images: Images) -> pl.Series:
    """Return the records: all with labels, some of them empty, or all without, where no answer is known."""
    pair = pl.concat_str(json_texts(pl.col("answer")), pl.lit(":"), pl.col("weight").cast(pl.String))
    texts = weights.group_by("row", maintain_order=True).agg(pair.str.join(",").alias("label"))
    rows = table.with_row_index("row").join(
        texts, on="row", how="left", validate="1:1", maintain_order="left"
    )
    label = pl.concat_str(pl.lit("{"), pl.col("label").fill_null(""), pl.lit("}"))
    labelled = rows.with_columns(label=label if len(weights) else pl.lit(None, dtype=pl.String))
    return record_texts(_named(labelled, numbers, images, _FIELDS), ["label"])


def _unlabelled(tables: list[pl.DataFrame], numbers: Numbers, images: Images) -> pl.Series:
    columns = ("question_id", "image_id", "question", "question_type", "answer_type")
    rows = pl.concat([table.select(columns) for table in tables])
    distinct = rows.unique(maintain_order=True)
    return record_texts(_named(distinct, numbers, images, _ASKED))


def _named(table: pl.DataFrame, numbers: Numbers, images: Images, fields: tuple[str, ...]) -> pl.DataFrame:
    stems = image_stems(table["image_id"], images)
    rows = numbers.put_into(table).with_columns(img_id=stems, sent="question", **source_image(stems))
    return rows.select(name for name in fields if name in rows.columns)


def _write_answers(weights: pl.DataFrame, folder: Path) -> None:
    """Write the numbers of answers, the most frequent first, and their list."""
    ranked = by_frequency(weights["answer"])
    write_value({answer: number for number, answer in enumerate(ranked)}, folder / "trainval_ans2label.json")
    write_value(ranked, folder / "trainval_label2ans.json")


def _run(questions: QuestionSets) -> str:
    """Return the commands: the data of LXMERT's own checkout stay as they are."""
    sets = " ".join(questions.sets)
    return (
        "git clone https://github.com/airsplay/lxmert  # with its features of val2014, and a model for VQA\n"
        f"OUT=$(realpath {{out}}); RESULTS=$PWD/{_RESULTS}\n"
        f"mkdir -p {_RUN}/data/vqa {_RUN}/data/mscoco_imgfeat\n"
        f"cp lxmert/data/vqa/trainval_*.json {_RUN}/data/vqa/\n"
        f'ln -sf "$PWD/lxmert/data/mscoco_imgfeat/val2014_obj36.tsv" \\\n'
        f"    {_RUN}/data/mscoco_imgfeat/test2015_obj36.tsv\n"
        f"for set in {sets}; do\n"
        f'    cp "$OUT/${{set}}_questions.json" {_RUN}/data/vqa/test.json\n'
        f"    (cd {_RUN} && PYTHONPATH=../lxmert/src python ../lxmert/src/tasks/vqa.py \\\n"
        '        --tiny --train test --valid "" --test test --llayers 9 --xlayers 5 --rlayers 5 \\\n'
        "        --batchSize 32 --optim bert --lr 5e-5 --epochs 4 \\\n"
        '        --load ../lxmert/snap/vqa/vqa_lxr955/BEST --output "$RESULTS/$set")\n'
        "done"
    )


EXPORTER = Exporter("lxmert", "LXMERT", write)
