"""The tree of commands. Each is registered by import path, with its help and an example that runs."""

import dataclasses

from cyclopts import App

from shortcut_miner import __version__
from shortcut_miner.cli.options import prepare_arguments

_BUILD_INPUTS = r"""
    --train-questions world/v2_OpenEnded_mscoco_train2014_questions.json \
    --train-annotations world/v2_mscoco_train2014_annotations.json \
    --val-questions world/v2_OpenEnded_mscoco_val2014_questions.json \
    --val-annotations world/v2_mscoco_val2014_annotations.json \
    --detections world/image_to_detection.json""".strip()
_ENTER = "cd shortcut-miner-demo    # made by: shortcut-miner demo"


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, the function behind it (by import path), its help, and an example.

    The examples run, in any folder, after ``shortcut-miner demo``.
    """

    words: tuple[str, ...]
    function: str
    help: str
    example: str


COMMANDS = (
    Command(
        ("demo",),
        "shortcut_miner.cli.demo:demo",
        "Write a small world with planted shortcuts, find them, and score two models on it.",
        "shortcut-miner demo",
    ),
    Command(
        ("vqa-ce", "build"),
        "shortcut_miner.cli.vqa_ce:build",
        "Find the shortcuts of training questions and split validation questions by them.",
        f"{_ENTER}\nshortcut-miner vqa-ce build \\\n    {_BUILD_INPUTS} \\\n    --out my-vqa-ce",
    ),
    Command(
        ("vqa-ce", "score"),
        "shortcut_miner.cli.vqa_ce_score:score",
        "Score models on the split of a build, and list the shortcuts that they exploit.",
        f"{_ENTER}\nshortcut-miner vqa-ce score vqa-ce \\\n"
        "    --predictions leaning=world/shortcut_model_results.json \\\n"
        "    --predictions grounded=world/grounded_model_results.json \\\n"
        "    --baseline grounded",
    ),
    Command(
        ("vqa-ce", "sweep"),
        "shortcut_miner.cli.vqa_ce:sweep",
        "Compare minimum counts and confidences by the accuracy of the rule classifier.",
        f"{_ENTER}\nshortcut-miner vqa-ce sweep \\\n    {_BUILD_INPUTS} \\\n"
        "    --min-counts 8,16,32 --min-confidences 0.3,0.5,0.7",
    ),
    Command(
        ("rad", "build"),
        "shortcut_miner.cli.rad:build",
        "Make yes/no questions from colour, how-many and what-kind questions.",
        f"{_ENTER}\nshortcut-miner rad build \\\n"
        "    --questions world/v2_OpenEnded_mscoco_val2014_questions.json \\\n"
        "    --annotations world/v2_mscoco_val2014_annotations.json \\\n"
        "    --out my-rad",
    ),
    Command(
        ("rad", "score"),
        "shortcut_miner.cli.rad:score",
        "Score how many right answers stay right on an augmentation, for a build or any pairs of questions.",
        f"{_ENTER}\nshortcut-miner rad score rad \\\n"
        "    --original leaning=world/shortcut_model_results.json \\\n"
        "    --augmented leaning=rad-answers/shortcut_model_results.json",
    ),
    Command(
        ("fpvg", "build"),
        "shortcut_miner.cli.fpvg:build",
        "Find the regions of each image that a question is about, and those that it is not about.",
        f"{_ENTER}\nshortcut-miner fpvg build \\\n"
        "    --questions world/val_balanced_questions.json \\\n"
        "    --scene-graphs world/val_sceneGraphs.json \\\n"
        "    --detections world/val_objects.jsonl \\\n"
        "    --out my-fpvg",
    ),
    Command(
        ("fpvg", "score"),
        "shortcut_miner.cli.fpvg:score",
        "Score whether models' answers rest on the relevant regions, from three runs of each.",
        f"{_ENTER}\nshortcut-miner fpvg score fpvg \\\n"
        "    --all grounded=world/grounded_model_all_regions.json \\\n"
        "    --relevant grounded=world/grounded_model_relevant_regions.json \\\n"
        "    --irrelevant grounded=world/grounded_model_irrelevant_regions.json",
    ),
    Command(
        ("swapmix", "build"),
        "shortcut_miner.cli.swapmix:build",
        "Plan swaps of irrelevant objects: which region takes which donor's features, per question.",
        f"{_ENTER}\nshortcut-miner swapmix build \\\n"
        "    --questions world/val_balanced_questions.json \\\n"
        "    --scene-graphs world/val_sceneGraphs.json \\\n"
        "    --detections world/val_objects.jsonl \\\n"
        "    --embeddings world/word_vectors.txt --k 5 --out my-swapmix",
    ),
    Command(
        ("swapmix", "score"),
        "shortcut_miner.cli.swapmix:score",
        "Score how often models change right answers when irrelevant objects are swapped.",
        f"{_ENTER}\nshortcut-miner swapmix score swapmix \\\n"
        "    --predictions leaning=swapmix-answers/shortcut_model.parquet \\\n"
        "    --predictions grounded=swapmix-answers/grounded_model.parquet",
    ),
    Command(
        ("mine",),
        "shortcut_miner.cli.mine:mine",
        "Mine rules from any Parquet, CSV or JSONL table of words, labels and answers.",
        f"{_ENTER}\nshortcut-miner mine vqa-ce/questions.parquet \\\n"
        "    --words question --objects objects --min-count 20 --out my-rules",
    ),
    Command(
        ("rules",),
        "shortcut_miner.cli.rules:rules",
        "Look up rules by item, answer, kind and strength.",
        f"{_ENTER}\nshortcut-miner rules vqa-ce --contains sport --min-confidence 0.5",
    ),
    Command(
        ("explain",),
        "shortcut_miner.cli.rules:explain",
        "Show the rules that fire on one question, and why it is in its subset.",
        f"{_ENTER}\nshortcut-miner explain vqa-ce 101496000",
    ),
    Command(
        ("inspect",),
        "shortcut_miner.cli.inspect:inspect",
        "Say what files are, what they hold, and what is wrong with them (exit code 1).",
        f"{_ENTER}\nshortcut-miner inspect world/image_to_detection.json vqa-ce",
    ),
)
GROUPS = {
    "fpvg": "Faithful and plausible visual grounding of VQA models (Reich et al., EMNLP Findings 2023).",
    "vqa-ce": "Counterexamples, easy and hard questions of VQA data (Dancette et al., ICCV 2021).",
    "rad": "Yes/no augmentations of any VQA questions, and the RAD score (Rosenberg et al., ACL 2021).",
    "swapmix": "Swaps of irrelevant objects, and how much a model leans on them (Gupta et al., CVPR 2022).",
}

_EXIT_CODES = """\
Exit codes: 0 done; 1 a check failed; 2 bad usage or bad input; 3 finished but incomplete;
101 a bug in shortcut-miner; 130 interrupted."""


def build_app() -> App:
    """Return the command line application."""
    app = App(
        name="shortcut-miner",
        help="Mine multimodal shortcuts from VQA data and build the datasets that expose them.",
        help_format="plaintext",
        help_epilogue=f"Start here:\n\n  shortcut-miner demo\n\n{_EXIT_CODES}",
        version=__version__,
        config=prepare_arguments,
        suppress_keyboard_interrupt=False,
    )
    groups = {name: App(name=name, help=text) for name, text in GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for command in COMMANDS:
        *parent, name = command.words
        (groups[parent[0]] if parent else app).command(
            command.function, name=name, help=command.help, help_epilogue=_epilogue(command.example)
        )
    return app


def _epilogue(example: str) -> str:
    return "Example:\n\n" + "\n".join(f"  {line}" for line in example.splitlines())
