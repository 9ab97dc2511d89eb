"""What a POPE folder holds: its questions, also as POPE has them, and counts; and reading it back."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import open_folder, options_of, write_manifest, write_tables
from shortcut_miner.diagnostics.pope.config import STRATEGIES, PopeConfig
from shortcut_miner.diagnostics.pope.inputs import PopeInputs
from shortcut_miner.diagnostics.pope.objects import UNKNOWN
from shortcut_miner.diagnostics.pope.polling import Chosen, Ranks, Slot, near_names
from shortcut_miner.diagnostics.pope.schemas import PopeQuestions
from shortcut_miner.diagnostics.pope.wording import question_about
from shortcut_miner.storage import Provenance, write_json

COMMAND = "pope build"
FREQUENCIES, CO_OCCURRENCES = "object_counts.json", "co_occurrence_counts.json"
CROWD, NEAR_NAME = "crowd", "near name"
_FEW_OBJECTS, _FEW_ABSENT = "image with too few objects", "image that lacks too few names"
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {
        "questions": pl.len(),
        "images": pl.col("image_id").n_unique(),
        "yes": (pl.col("answer") == "yes").sum(),
        "no": (pl.col("answer") == "no").sum(),
        "fallbacks": pl.col("is_fallback").sum(),
        "doubtful_yes": (pl.col("doubt") == CROWD).sum(),
        "doubtful_no": (pl.col("doubt") == NEAR_NAME).sum(),
    },
    "counts": {"models": pl.col("model").n_unique()},
}
Tables = dict[str, Callable[[], pl.DataFrame]]


@dataclasses.dataclass(frozen=True, slots=True)
class Polled:
    """What a build read and chose: the inputs, the images, names by frequency, and slots by strategy."""

    inputs: PopeInputs
    chosen: Chosen
    ranks: Ranks
    slots: Mapping[str, Sequence[Slot]]


def describe(
    polled: Polled, config: PopeConfig, limit: int | None
) -> tuple[Provenance, dict[str, Any], Tables]:
    """Return the provenance of a build, its figures, and its table of questions."""
    questions = question_table(polled, config)
    chosen, facts = polled.chosen, polled.inputs.facts
    counts = {
        name: int(value)
        for name, value in questions.select(**COUNTED["questions"]).row(0, named=True).items()
    }
    counts |= {"eligible_images": chosen.eligible, "objects": len(polled.ranks.frequency)}
    left_out = {
        UNKNOWN: polled.inputs.unknown,
        _FEW_OBJECTS: chosen.few_objects,
        _FEW_ABSENT: chosen.few_absent,
    }
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=facts.records,
        counts=counts,
        dropped=dict(facts.dropped) | {reason: count for reason, count in left_out.items() if count},
    )
    by_strategy = {
        strategy: {
            "questions": int((questions["strategy"] == strategy).sum()),
            "absent_objects": len({slot.absent for slot in slots}),
            "fallbacks": sum(slot.is_fallback for slot in slots),
        }
        for strategy, slots in polled.slots.items()
    }
    return provenance, {"strategies": by_strategy}, {"questions": lambda: questions}


def question_table(polled: Polled, config: PopeConfig) -> pl.DataFrame:
    """Return the questions: the columns of :class:`.schemas.PopeQuestions`, strategy by strategy."""
    rows = [row for strategy, slots in polled.slots.items() for row in _rows(polled, strategy, slots, config)]
    schema = {
        "strategy": pl.String, "number": pl.UInt32, "image_id": pl.String, "object": pl.String,
        "answer": pl.String, "paired_object": pl.String, "slot": pl.UInt32, "rank": pl.UInt32,
        "is_fallback": pl.Boolean, "doubt": pl.String,
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=schema, orient="row")
    texts = [question_about(name, config.template, config.article or "letter") for name in table["object"]]
    return table.select(
        pl.format("{}_{}", "strategy", "number").alias("question_id"),
        "image_id",
        pl.Series("question", texts, pl.String),
        pl.col("strategy").alias("question_type"),
        pl.lit("yes/no").alias("answer_type"),
        "answer",
        pl.concat_list("answer").alias("answers"),
        pl.lit(None, pl.List(pl.UInt8)).alias("answer_record_key"),
        pl.lit(None, pl.String).alias("split"),
        "strategy",
        "number",
        pl.col("image_id").replace_strict(polled.inputs.images, return_dtype=pl.String).alias("image"),
        *("object", "paired_object", "slot", "rank", "is_fallback", "doubt"),
    ).sort("question_id")


def _rows(
    polled: Polled, strategy: str, slots: Sequence[Slot], config: PopeConfig
) -> Iterator[tuple[Any, ...]]:
    """Give one strategy's questions in the order of its file."""
    size = config.objects_per_image
    for first in range(0, len(slots), size):
        of_image = slots[first : first + size]
        sides = [(at, label) for at in range(size) for label in ("yes", "no")]
        if config.layout == "blocks":
            sides.sort(key=lambda side: side[1], reverse=True)
        for number, (at, label) in enumerate(sides, start=2 * first + 1):
            yield (strategy, number, *_row(polled, strategy, of_image[at], at + 1, label))


def _row(polled: Polled, strategy: str, slot: Slot, place: int, label: str) -> tuple[Any, ...]:
    image_id, ranks = slot.image_id, polled.ranks
    if label == "yes":
        doubt = CROWD if (image_id, slot.present) in polled.inputs.crowds else None
        return (image_id, slot.present, label, slot.absent, place, None, False, doubt)
    ranked = ranks.frequency if strategy == "popular" else ranks.beside[slot.present]
    rank = None
    if strategy != "random" and not slot.is_fallback:
        rank = list(ranked).index(slot.absent) + 1
    doubt = NEAR_NAME if near_names(slot.absent, polled.chosen.objects[image_id]) else None
    return (image_id, slot.absent, label, slot.present, place, rank, slot.is_fallback, doubt)


def in_words(provenance: Provenance, figures: Mapping[str, Any]) -> dict[str, str]:
    """Return what a build read and made, and which labels are doubtful, as the console prints it."""
    counts, config = provenance.counts, provenance.config
    words = {
        "images": f"{counts['images']:,} of {counts['eligible_images']:,} that have "
        f"{config['objects_per_image']} objects and lack as many names",
        "left out": "; ".join(f"{count:,} x {reason}" for reason, count in provenance.dropped.items())
        or "none",
        "objects": f"{counts['objects']:,} names in the chosen images",
    }
    for strategy, found in figures["strategies"].items():
        fallbacks = f", {found['fallbacks']:,} of them draws, as nothing allowed co-occurs"
        words[strategy] = (
            f"{found['questions']:,} questions, half of them yes; {found['absent_objects']:,} "
            + (f"different absent objects{fallbacks if found['fallbacks'] else ''}")
        )
    words["doubtful"] = (
        f"{counts['doubtful_yes']:,} yes about crowds alone; {counts['doubtful_no']:,} no about a name that "
        "shares a word with a present one"
    )
    return words


def released_name(config: PopeConfig, strategy: str) -> str:
    """Return the name of a strategy's file."""
    return f"{config.name}_pope_{strategy}.json"


def file_names(config: PopeConfig) -> list[str]:
    """Return what a build writes beside its records."""
    released = [released_name(config, strategy) for strategy in config.chosen_strategies]
    return ["questions.parquet", FREQUENCIES, CO_OCCURRENCES, *released]


def write(
    folder: Path,
    tables: Tables,
    provenance: Provenance,
    figures: dict[str, Any],
    ranks: Ranks,
    config: PopeConfig,
) -> None:
    """Write the table, POPE's JSON Lines, the counts and the manifest into a folder."""
    questions = tables["questions"]()
    write_tables(folder, provenance, {"questions": questions})
    for strategy in config.chosen_strategies:
        own = questions.filter(strategy=strategy).sort("number")
        lines = [
            msgspec.json.encode({"question_id": number, "image": image, "text": text, "label": label}) + b"\n"
            for number, image, text, label in own.select("number", "image", "question", "answer").iter_rows()
        ]
        (folder / released_name(config, strategy)).write_bytes(b"".join(lines))
    write_json(ranks.frequency, folder / FREQUENCIES)
    write_json({name: ranks.beside[name] for name in ranks.frequency}, folder / CO_OCCURRENCES)
    write_manifest(folder, provenance, figures)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``pope build`` did."""

    @property
    def questions(self) -> pl.DataFrame:
        """The questions of all strategies, sorted by question_id, such as random_1."""
        return self._table("questions")


@dataclasses.dataclass(frozen=True, slots=True)
class PopeFolder:
    """What ``pope build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        As of :class:`BuildReport`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    manifest: dict[str, Any]


def read_folder(path: Path) -> PopeFolder:
    """Return the table of a POPE folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    questions = folder.table("questions", PopeQuestions)
    return PopeFolder(path=path, questions=questions, manifest=folder.manifest)


def strategies_of(questions: pl.DataFrame) -> tuple[str, ...]:
    """Return the strategies of questions, those of the article first and in its order."""
    found = questions["strategy"].unique().sort().to_list()
    return (*(one for one in STRATEGIES if one in found), *(one for one in found if one not in STRATEGIES))
