"""A tiny world in files of many formats, a folder of every room, and the commands that read them."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from cli.commands import tiny_world

from shortcut_miner.cli.run import run
from shortcut_miner.demo.detector import write_detections
from shortcut_miner.demo.files import write_demo_world
from shortcut_miner.demo.fpvg import write_runs
from shortcut_miner.demo.swapmix import word_vectors

QUESTIONS = 12
_VQA = "--train-questions @tq.json --train-annotations @ta.json --val-questions @vq.json "
_VQA += "--val-annotations @va.json --threads 1"
_GQA = "--questions @gqa.json --scene-graphs @sg.json"
_RAD = "--questions @rq.json --annotations @ra.json"
_RUNS = "--all m=@all.json --relevant m=@relevant.json --irrelevant m=@irrelevant.json --resamples 0"
_PAIRS = "--original m=@original.json --augmented m=@augmented.json --resamples 0"
_MINED = "--objects items --answer answer --min-count 1"
# Of every command line @ is the world's folder, and @new what is written.
BUILDS = {
    "ce": f"vqa-ce build {_VQA} --detections @det.json --min-count 2 --out @ce",
    "rad": f"rad build {_RAD} --out @rad",
    "balanced": f"rad build {_RAD} --draw balanced --out @balanced",
    "fpvg": f"fpvg build {_GQA} --detections @boxes.jsonl --out @fpvg",
    "swap": f"swapmix build {_GQA} --detections @boxes.jsonl --embeddings @vectors.txt --k 2 --out @swap",
    "ood": "gqa-ood build --questions @gqa.json --entropy-cut none --out @ood",
    "pope": "pope build --objects @sg.json --image-count 9 --objects-per-image 1 --out @pope",
    "rules": f"mine @table.jsonl {_MINED} --threads 1 --out @rules",
    "shards": f"shard @table.jsonl {_MINED} --shards 1 --work @shards",
}
# Commands by what they read: any of these files may be damaged.
READS = {
    **{name: words for name, words in BUILDS.items() if name not in ("rules", "shards")},
    "ce config": f"vqa-ce build {_VQA} --config @run.toml --dry-run",
    "ce table": "vqa-ce build --table @table.csv --val-share 0.5 --columns labels=items --min-count 1 "
    "--out @new",
    "ce skip": f"vqa-ce build {_VQA} --detections @det.json --min-count 2 --on-bad-row skip --out @new",
    "sweep": f"vqa-ce sweep {_VQA} --detections @det.json --min-counts 2,3 --out @new",
    "ce score": "vqa-ce score @ce --predictions m=@answers.json --soft-labels @soft.json --resamples 0 "
    "--out @new",
    "rad table": "rad build --questions @asked.parquet --out @new",
    "rad pools": f"rad build {_RAD} --pools @rad/pools.parquet --out @new",
    "rad balance": f"rad build {_RAD} --draw balanced --pools @balanced/pools.parquet "
    "--balance @balanced/balance.parquet --out @new",
    "rad score": f"rad score @rad {_PAIRS} --out @new",
    "rad pairs": f"rad score --pairs @pairs.csv {_RAD} --augmented-questions @asked.parquet {_PAIRS} "
    "--out @new",
    "fpvg skip": f"fpvg build {_GQA} --detections @boxes.jsonl --nested-json --on-bad-row skip --out @new",
    "fpvg score": f"fpvg score @fpvg {_RUNS} --ids i=@ids.json --importance m=@importance.csv --out @new",
    "fpvg coco": f"fpvg build {_GQA} --detections @coco.json --detections-info @categories.json --out @new",
    "swap skip": f"swapmix build {_GQA} --detections @boxes.jsonl --similar-classes @similar.json --k 2 "
    "--on-bad-row skip --out @new",
    "swap score": "swapmix score @swap --predictions m=@swapped.parquet --resamples 0 --out @new",
    "swap results": "swapmix score --class-results @class.json --attribute-results @attribute.json "
    "--out @new",
    "ood table": "gqa-ood build --questions @asked.parquet --group answer_type --entropy-cut none --out @new",
    "ood score": "gqa-ood score @ood --predictions m=@all.json --resamples 0 --out @new",
    "pope labels": "pope build --objects @det.json --image-count 3 --objects-per-image 1 --out @new",
    "pope score": "pope score --questions popular=@pope/coco_pope_popular.json --predictions m=@polled.json "
    "--relabel @pope/coco_pope_random.json --resamples 0 --out @new",
    "mine": f"mine @table.jsonl {_MINED} --threads 1 --out @new",
    "mine csv": f"mine @table.csv {_MINED} --item-columns question --threads 1 --on-bad-row skip --out @new",
    "mine typed": "mine @ce/questions.parquet --words question --objects objects --min-count 2 --out @new",
}
# Commands on folders that commands wrote: any file in them may be damaged.
FOLDERS = {
    "inspect": ("inspect FOLDER", ("ce", "rad", "fpvg", "swap", "ood", "pope", "rules")),
    "rules": ("rules FOLDER", ("ce", "rules")),
    "explain": ("explain FOLDER 2000", ("ce",)),
    "export": ("export FOLDER --to vqa-json --out @new", ("ce", "rad", "fpvg", "swap", "ood")),
    "export hf": ("export FOLDER --to huggingface --out @new", ("ce", "fpvg")),
    "export lmms": ("export FOLDER --to lmms-eval --out @new", ("ce", "swap")),
    "repeat": ("repeat FOLDER --dry-run", ("ce", "rad", "fpvg", "swap", "ood")),
    "rebuild": (BUILDS["fpvg"].replace("@fpvg", "FOLDER --force"), ("fpvg",)),
    "ce score": ("vqa-ce score FOLDER --predictions m=@answers.json --resamples 0", ("ce",)),
    "rad score": (f"rad score FOLDER {_PAIRS}", ("rad",)),
    "fpvg score": (f"fpvg score FOLDER {_RUNS}", ("fpvg",)),
    "swap score": ("swapmix score FOLDER --predictions m=@swapped.parquet --resamples 0", ("swap",)),
    "ood score": ("gqa-ood score FOLDER --predictions m=@all.json --resamples 0", ("ood",)),
    "shard": ("mine --work FOLDER --shard 0 --threads 1", ("shards",)),
    "merge": ("merge FOLDER --threads 1 --out @new", ("shards",)),
}


@dataclass(frozen=True)
class Command:
    """A command line, and the file of the world that is damaged before it runs; `folder` is copied first."""

    name: str
    words: tuple[str, ...]
    damaged: str
    folder: str | None = None


def write_world(folder: Path) -> None:
    """Write the files, and run the builds; takes some seconds."""
    _write_vqa(folder)
    _write_gqa(folder)
    _write_tables(folder)
    for words in BUILDS.values():
        code = run([*in_folder(shlex.split(words), folder), "--quiet"])
        assert code == 0, (words, code)
    assert run(in_folder(shlex.split("mine --work @shards --shard 0 --threads 1 --quiet"), folder)) == 0
    _write_answers(folder)


def in_folder(words: Sequence[str], folder: Path) -> list[str]:
    """Return a command line with the world's files, which are written with @, by their whole paths."""
    return [word.replace("@", f"{folder}/") for word in words]


def commands(folder: Path) -> list[Command]:
    """Return every command with each file that it reads."""
    found = []
    for name, line in READS.items():
        words = tuple(shlex.split(line.replace(f"--out @{name}", "--out @new")))
        files = [word.rpartition("@")[2] for word in words if "@" in word]
        found += [Command(name, words, file) for file in files if (folder / file).is_file()]
    for name, (line, folders) in FOLDERS.items():
        for one in folders:
            for path in sorted((folder / one).rglob("*")):
                if path.is_file() and path.suffix not in (".md", ".tex"):
                    words = tuple(shlex.split(line.replace("FOLDER", f"@{one}")))
                    found.append(Command(f"{name} {one}", words, str(path.relative_to(folder)), one))
    return found


def _dump(folder: Path, **files: Any) -> None:
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))


def _write_vqa(folder: Path) -> None:
    world = tiny_world()
    short = {
        "tq": "train_questions", "ta": "train_annotations", "vq": "val_questions", "va": "val_annotations",
        "det": "detections",
    }  # fmt: skip
    _dump(folder, **{name: world[role] for name, role in short.items()})
    numbers, colors, sports = ("2", "3", "1", "4"), ("red", "blue", "green", "red"), ("golf", "tennis") * 2
    asked = [("What color is the cat?", one) for one in colors]
    asked += [("How many dogs are there?", one) for one in numbers]
    asked += [("What sport is this?", one) for one in sports]
    head = [{"question_id": at, "image_id": at, "question": text} for at, (text, _) in enumerate(asked)]
    judged = [
        {
            "question_id": at, "image_id": at, "multiple_choice_answer": answer, "answer_type": "other",
            "question_type": "what", "answers": [{"answer": answer, "answer_id": n} for n in range(1, 11)],
        }
        for at, (_, answer) in enumerate(asked)
    ]  # fmt: skip
    _dump(folder, rq={"questions": head}, ra={"annotations": judged})
    _dump(folder, original=[{"question_id": at, "answer": answer} for at, (_, answer) in enumerate(asked)])
    columns = {"question_id": range(12), "image_id": range(12), "question": [one for one, _ in asked]}
    answers = {"answer": [one for _, one in asked], "answers": [[one] * 3 for _, one in asked]}
    pl.DataFrame({**columns, **answers}).write_parquet(folder / "asked.parquet")
    (folder / "run.toml").write_text('min_count = 2\nmin_confidence = 0.3\nitems = "words"\n')


def _write_gqa(folder: Path) -> None:
    world = write_demo_world(folder / "demo")
    questions = dict(list(json.loads(world.gqa_questions.read_text()).items())[:QUESTIONS])
    graphs = json.loads(world.val_scene_graphs.read_text())
    images = list(dict.fromkeys(one["imageId"] for one in questions.values()))
    _dump(folder, gqa=questions, sg={one: graphs[one] for one in images})
    write_detections(folder / "sg.json", folder).rename(folder / "boxes.jsonl")
    names = {one["name"] for image in images for one in graphs[image]["objects"].values()}
    (folder / "vectors.txt").write_text(word_vectors(sorted(names), 0))
    (runs, *_) = write_runs(folder / "gqa.json", folder, 0)
    for condition in ("all", "relevant", "irrelevant"):
        getattr(runs, condition).rename(folder / f"{condition}.json")
    found = [{"image_id": one, "category_id": 1, "bbox": [1, 2, 30, 40], "score": 0.5} for one in images]
    _dump(folder, coco=found, categories=[{"id": 1, "name": "cat"}], ids=list(questions)[:5])


def _write_tables(folder: Path) -> None:
    rows = [{"items": ["dog", "cat"][: n % 2 + 1], "answer": ["red", "no"][n % 2]} for n in range(8)]
    (folder / "table.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    lines = [f'{n},{n % 3},What {n % 2}?,"dog,cat",{"red" if n % 2 else "no"}' for n in range(8)]
    (folder / "table.csv").write_text(
        "question_id,image_id,question,items,answer\n" + "\n".join(lines) + "\n"
    )
    _dump(folder, similar={"tree": {"grass": 0.9, "sky": 0.8}, "man": {"woman": 0.7}})
    run_of = {"ans": 1, "changes": ["dog"], "pred": [[1, 2]]}
    _dump(folder, **{"class": {"6": {}, "7": {"01": run_of}}, "attribute": {"6": {}, "7": {"01": run_of}}})


def _write_answers(folder: Path) -> None:
    ids = [one["question_id"] for one in tiny_world()["val_questions"]["questions"]]
    _dump(folder, answers=[{"question_id": one, "answer": "golf"} for one in ids])
    _dump(folder, soft=[{"question_id": one, "label": {"golf": 1, "red": 0.3}} for one in ids])
    _dump(folder, polled=[{"question_id": at, "answer": "yes"} for at in range(1, 19)])
    made = pl.read_parquet(folder / "rad" / "augmentations.parquet")
    new = made["question_id"].to_list()
    _dump(folder, augmented=[{"question_id": one, "answer": "yes"} for one in new])
    old = ["0"] * len(new)  # all augmentations of one question
    pairs = "".join(f"{one},{other}\n" for one, other in zip(old, new, strict=True))
    (folder / "pairs.csv").write_text("original_id,augmented_id\n" + pairs)
    swaps = pl.read_parquet(folder / "swap" / "swaps.parquet").select("question_id", "perturbation")
    swaps.with_columns(answer=pl.lit("yes")).write_parquet(folder / "swapped.parquet")
    regions = pl.read_parquet(folder / "fpvg" / "regions.parquet").filter(pl.col("region_count") > 0)
    rows = [
        (one, at, 0.5)
        for one, count in regions.select("question_id", "region_count").iter_rows()
        for at in range(count)
    ]
    importance = pl.DataFrame(rows, schema=["question_id", "region_index", "importance"], orient="row")
    importance.write_csv(folder / "importance.csv")
