"""The demo world in the SwapMix room: tiny word vectors, a detector, a plan, and both models' answers.

What the models say follows from what their kind would see: the leaning one sometimes takes the name of a
swapped context object for a hint and changes its answer, the grounded one hardly ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import polars as pl

from shortcut_miner.columnar import read_frame
from shortcut_miner.demo.detector import write_detections
from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.demo.folders import demo_folder, further_files
from shortcut_miner.diagnostics.swapmix.build import build
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.outputs import BuildReport
from shortcut_miner.diagnostics.swapmix.score import ScoreReport, score
from shortcut_miner.keyed_draws import draw_uniform, id_keys
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.timing import OnStage

HEADLINES = ("context_reliance", "effective_accuracy")
VECTORS_FILE = "word_vectors.txt"
K = 5
DIMENSIONS = 8
# Names that are used alike; others stand alone.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "people": ("man", "woman", "boy", "girl"),
    "animals": ("bird", "giraffe", "zebra", "sheep", "elephant", "dog", "cat", "horse",
                "rabbit", "ferret", "parrot"),
    "vehicles": ("car", "bus", "truck", "bicycle", "boat"),
    "furniture": ("chair", "couch", "bench", "bed", "lamp", "mirror", "pillow"),
    "kitchen": ("oven", "sink", "microwave", "refrigerator", "bowl", "cup", "knife"),
    "food": ("banana", "apple", "cake"),
    "sports": ("skis", "ski pole", "ball", "surfboard", "tennis racket", "badminton racket", "padel racket",
               "baseball bat", "baseball glove", "frisbee", "kite"),
    "outdoors": ("tree", "grass", "snow", "water", "sand", "fence", "court"),
    "street": ("building", "wall", "window", "fire hydrant", "traffic light", "sign", "flag"),
    "things": ("laptop", "phone", "tv", "keyboard", "handbag", "briefcase", "umbrella", "newspaper"),
}  # fmt: skip
# How often each model is wrong without a swap, and how often a swap of either kind changes its answer.
HABITS: Mapping[str, tuple[float, Mapping[str, float]]] = {
    "shortcut_model": (0.3, {"class": 0.012, "attribute": 0.006}),
    "grounded_model": (0.15, {"class": 0.001, "attribute": 0.0005}),
}


@dataclass(frozen=True, slots=True)
class SwapMixDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        The evaluation plan for the world's GQA questions.
    scores : ScoreReport
        Both models' context reliance.
    embeddings, detections : Path
        The word vectors (GloVe text) and the detector's file, in the world's folder.
    answers : dict of str to Path
        Model -> its answers to the rows of the plan, as Parquet.
    """

    built: BuildReport
    scores: ScoreReport
    embeddings: Path
    detections: Path
    answers: dict[str, Path]


def run_swapmix(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> SwapMixDemo:
    """Plan context swaps for the world's GQA questions and score its two models on them.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`; the detector's file and the word
        vectors are written beside them.
    out : Path
        Folder for swapmix/, swapmix-answers/ and swapmix-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the draws.
    force : bool
        Replace what a demo of another seed wrote.
    """
    folder = world.gqa_questions.parent
    names = read_scene_graphs(world.val_scene_graphs).table["name"].unique().sort().to_list()
    embeddings = folder / VECTORS_FILE
    with further_files(folder) as staging:
        (staging / VECTORS_FILE).write_text(word_vectors(names, seed), encoding="utf-8")
        found = write_detections(world.val_scene_graphs, staging, seed=seed)
    detections = folder / found.name
    files = SwapMixFiles(
        questions=world.gqa_questions,
        scene_graphs=(world.val_scene_graphs,),
        detections=(detections,),
        embeddings=str(embeddings),
    )
    built = build(files, SwapMixConfig(k=K, seed=seed), out / "swapmix", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    answers = {model: out / "swapmix-answers" / f"{model}.parquet" for model in HABITS}
    with demo_folder(out / "swapmix-answers", seed, force=force) as staging:
        for model, path in answers.items():
            _answers(out / "swapmix", model, seed).write_parquet(staging / path.name)
    scores = score(out / "swapmix", answers, ScoreConfig(), out / "swapmix-scores", force=force)
    return SwapMixDemo(built, scores, embeddings, detections, answers)


def word_vectors(names: list[str], seed: int) -> str:
    """Return GloVe text with a vector per name, near the others of its topic; blanks are written ``_``.

    >>> len(word_vectors(["dog", "fire hydrant"], 0).splitlines())
    2
    """
    topic_of = {name: topic for topic, members in TOPICS.items() for name in members}
    lines = []
    for name in names:
        centre = Random(f"{seed}/{topic_of.get(name, name)}/topic")
        own = Random(f"{seed}/{name}/word")
        numbers = [centre.gauss(0, 1) + 0.4 * own.gauss(0, 1) for _ in range(DIMENSIONS)]
        lines.append(f"{name.replace(' ', '_')} {' '.join(f'{number:.4f}' for number in numbers)}\n")
    return "".join(lines)


def _answers(built: Path, model: str, seed: int) -> pl.DataFrame:
    """Return a model's answer to every row of the plan."""
    questions = read_frame(built / "questions.parquet", ["question_id", "answer"])
    plan = read_frame(built / "swaps.parquet", ["question_id", "perturbation", "kind"])
    wrong, flips = HABITS[model]
    asked = plan.join(questions, on="question_id", how="left", validate="m:1", maintain_order="left")
    question = id_keys(asked["question_id"], seed, f"demo {model}")
    draws = draw_uniform(question, asked["perturbation"].to_numpy() + 1)
    rate = asked["kind"].replace_strict(flips, default=0.0, return_dtype=pl.Float64).to_numpy()
    is_wrong = pl.Series(draw_uniform(question, 0) < wrong)
    return asked.with_columns(
        answer=pl.when(pl.Series(draws < rate))
        .then(pl.lit("something else"))
        .when(is_wrong)
        .then(pl.lit("yes"))
        .otherwise("answer")
    ).select("question_id", "perturbation", "answer")
