"""A folder that ``datasets.load_dataset(FOLDER)`` opens: Parquet, and a card that says what is in it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.datasets.cards import Config, write_card
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exported, Exporter, scored
from shortcut_miner.sources.images.image_files import Images
from shortcut_miner.storage import ROW_GROUP_SIZE
from shortcut_miner.timing import in_parts

IMAGE = "image"
_LOCAL = "file://"
# Readers hold a row group at a time.
_ROWS_WITH_IMAGES = 100
# Files are as large as the library's own, so that a part of them can be fetched.
_SHARD_BYTES = 500 << 20
_IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
# Several questions in a row are about one image, which is stored once in a row group.
_DICTIONARY_BYTES = 1 << 30
_ABOUT = {
    "question_id": "the question, once in each split",
    "image_id": "its image",
    IMAGE: "the image itself",
    "question": "its text",
    "question_type": "as in the original annotations",
    "answer_type": "as in the original annotations",
    "answer": "the one that counts where a method needs one",
    "answers": "those of all annotators, in order",
    "answer_record_key": "numbers annotators' records that are equal but for the answer; null: none are",
    "subset": "the subset of VQA-CE",
    "words": "words of the question, as rules know them",
    "objects": "objects of the image, as rules know them; null: not known",
    "group": "what questions that belong together have in common",
}


def write(questions: QuestionSets, images: Images, folder: Path) -> Exported:
    """Write SET-SPLIT-00000-of-0000N.parquet for each split, and README.md."""
    configs, notes = write_data(questions, images, folder)
    default = configs[0].name
    write_card(
        folder,
        configs,
        _text(questions, images, configs),
        default=default,
        more={
            "pretty_name": questions.title,
            **({"license": questions.license} if questions.license else {}),
            "task_categories": ["visual-question-answering"],
        },
    )
    show = "import sys, datasets; print(datasets.load_dataset(sys.argv[1]))"
    return Exported(
        run=f"python -c '{show}' {{out}}",
        read_back=scored(questions, "NAME=ANSWERS.jsonl"),
        notes=notes,
    )


def write_data(questions: QuestionSets, images: Images, folder: Path) -> tuple[list[Config], tuple[str, ...]]:
    """Write the Parquet files, and return the sets as configurations of a data set, and notes."""
    configs, notes = [], []
    for name, splits in questions.sets.items():
        named = {_split_name(split): table for split, table in splits.items()}
        renamed = [f"{split} is {_split_name(split)}" for split in splits if split != _split_name(split)]
        if renamed:
            notes.append(f"splits named as the library allows: {', '.join(renamed)}")
        schema = _schema(next(iter(named.values())), images)
        configs.append(
            Config(
                name=name,
                files={
                    split: _write_split(table, schema, images, folder, f"{name}-{split}")
                    for split, table in named.items()
                },
                rows={split: len(table) for split, table in named.items()},
                schema=schema,
                images=() if images.kind == "none" else (IMAGE,),
            )
        )
    return configs, tuple(notes)


def _split_name(split: str) -> str:
    """Return a split's name in letters, digits and underscores, which is not "all".

    >>> _split_name("how-many"), _split_name("all")
    ('how_many', 'all_')
    """
    name = re.sub(r"[^A-Za-z0-9_]", "_", split)
    return "all_" if name == "all" else name


def _schema(table: pl.DataFrame, images: Images) -> pa.Schema:
    """Return a table's columns as plain texts and lists, with the image after its id."""
    fields = [pa.field(one.name, _plain(one.type)) for one in _arrow(table.clear()).schema]
    if images.kind != "none":
        place = next(number for number, one in enumerate(fields) if one.name == "image_id") + 1
        fields.insert(place, pa.field(IMAGE, _IMAGE_TYPE))
    return pa.schema(fields)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    return pa.string() if pa.types.is_large_string(kind) else kind


def _arrow(table: pl.DataFrame) -> pa.Table:
    return table.to_arrow(compat_level=pl.CompatLevel.oldest())


def _write_split(
    table: pl.DataFrame, schema: pa.Schema, images: Images, folder: Path, stem: str
) -> list[str]:
    """Write the rows of a split into as many files as their images need, and return their names."""
    groups = _groups(table, schema, images, f"write {stem}")
    parts: list[Path] = []
    group = next(groups, None)
    while group is not None:
        part = folder / f"{stem}.part{len(parts)}"
        parts.append(part)
        with part.open("wb") as file, _writer(file, schema, images) as writer:
            is_full = False
            while group is not None and not is_full:
                writer.write_table(group, row_group_size=ROW_GROUP_SIZE)
                group, is_full = next(groups, None), file.tell() >= _SHARD_BYTES
    names = [f"{stem}-{number:05d}-of-{len(parts):05d}.parquet" for number in range(len(parts))]
    for part, name in zip(parts, names, strict=True):
        part.rename(folder / name)
    return names


def _writer(file: Any, schema: pa.Schema, images: Images) -> pq.ParquetWriter:
    if not images.are_content:
        return pq.ParquetWriter(file, schema, compression="zstd")
    texts = [one.name for one in schema if one.name != IMAGE]
    inner = [f"{name}.list.element" for name in texts if pa.types.is_list(schema.field(name).type)]
    return pq.ParquetWriter(
        file,
        schema,
        # Images are compressed already.
        compression={**dict.fromkeys((*texts, *inner), "zstd"), f"{IMAGE}.bytes": "none"},
        use_dictionary=True,
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
        write_statistics=texts,
    )


def _groups(table: pl.DataFrame, schema: pa.Schema, images: Images, stage: str) -> Iterator[pa.Table]:
    """Give the rows group by group, images read as they are needed."""
    size = _ROWS_WITH_IMAGES if images.are_content else ROW_GROUP_SIZE
    for rows in in_parts([*table.iter_slices(size)], stage, images.on_stage, "parts"):
        group = _arrow(rows)
        if images.kind != "none":
            group = group.append_column(IMAGE, _image_column(rows["image_id"].to_list(), images))
        yield group.select(schema.names).cast(schema)


def _image_column(ids: list[str], images: Images) -> pa.Array:
    """Return images as the library stores them; null where there is none."""
    places = images.places
    if images.kind == "addresses":
        values = [{"bytes": None, "path": _reference(places[one])} if one in places else None for one in ids]
        return pa.array(values, _IMAGE_TYPE)
    read = {one: {"bytes": it.content, "path": it.name} for one, it in images.pictures(ids).items()}
    return pa.array([read.get(one) for one in ids], _IMAGE_TYPE)


def _reference(address: str) -> str:
    """Return an address as the library opens it; what is on this machine, which it opens as a path only.

    >>> _reference("file:///data/my%20image.jpg"), _reference("https://example.org/1.jpg")
    ('/data/my image.jpg', 'https://example.org/1.jpg')
    """
    return unquote(address.removeprefix(_LOCAL)) if address.startswith(_LOCAL) else address


# ---- the card ----


def _text(questions: QuestionSets, images: Images, configs: list[Config]) -> str:
    """Return what people read: what this is, how many questions, the columns, licence and citation."""
    rows = [f"| {one.name} | {split} | {n:,} |" for one in configs for split, n in one.rows.items()]
    names = dict.fromkeys(name for one in configs for name in one.schema.names)
    columns = [f"- `{name}`: {_ABOUT[name]}" if name in _ABOUT else f"- `{name}`" for name in names]
    first = configs[0]
    parts = {
        f"# {questions.title[:1].upper()}{questions.title[1:]}": "\n".join(
            [
                f"Questions of a folder that `shortcut-miner {questions.command}` wrote.",
                f"`datasets.load_dataset(FOLDER)` opens {first.name}: {', '.join(first.rows)}.",
                _about_images(images),
            ]
        ),
        "## Questions": "\n".join(["| configuration | split | questions |", "|---|---|---:|", *rows]),
        "## Columns": "\n".join(columns),
        "## Licence": questions.license
        or "That of the questions, answers and images that the folder was built from.",
        **({"## Citation": f"```bibtex\n{questions.citation}\n```"} if questions.citation else {}),
    }
    return "\n\n".join(f"{heading}\n\n{text}" for heading, text in parts.items()) + "\n"


def _about_images(images: Images) -> str:
    told: Mapping[str, str] = {
        "none": "Images are not included: `image_id` tells which each question is about.",
        "files": "Images are included, each once in a row group.",
        "packed": "Images are included.",
        "addresses": "Images are not included: `image` has their addresses.",
    }
    return told[images.kind]


EXPORTER = Exporter("huggingface", "Hugging Face datasets", write, holds_images=True)
