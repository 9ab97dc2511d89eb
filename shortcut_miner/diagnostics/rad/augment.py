"""From questions to augmentations in memory: sources, pools, draw, surfaces."""

from dataclasses import dataclass

import polars as pl

from shortcut_miner.diagnostics.rad.agreement import soft_targets
from shortcut_miner.diagnostics.rad.config import RadConfig
from shortcut_miner.diagnostics.rad.language import Tagger
from shortcut_miner.diagnostics.rad.pools import answer_pools, draw_answers
from shortcut_miner.diagnostics.rad.sources import find_sources
from shortcut_miner.diagnostics.rad.surfaces import with_surfaces
from shortcut_miner.schemas import Augmentations, SkippedSources, validated
from shortcut_miner.timing import OnStage, StageCost, timed


@dataclass(frozen=True, slots=True)
class Augmented:
    """The augmentations of a set of questions.

    Attributes
    ----------
    augmentations : pl.DataFrame
        schemas.Augmentations, sorted by question_id; with soft targets also target Float64, with several
        augmentations a question also original_id.
    skipped : pl.DataFrame
        schemas.SkippedSources: every other question, sorted by question_id.
    pools : pl.DataFrame
        augmentation, pool, substitute, count: what "no" answers were drawn from.
    tagger : Tagger or None
        The spaCy pipeline, if there was something to tag.
    balance : pl.DataFrame or None
        Of a balanced draw: what the draw of each question needs of all, see :mod:`.balanced`.
    """

    augmentations: pl.DataFrame
    skipped: pl.DataFrame
    pools: pl.DataFrame
    tagger: Tagger | None
    balance: pl.DataFrame | None = None


def augment_questions(
    questions: pl.DataFrame,
    config: RadConfig | None = None,
    *,
    pools: pl.DataFrame | None = None,
    balance: pl.DataFrame | None = None,
    costs: list[StageCost] | None = None,
    on_stage: OnStage | None = None,
) -> Augmented:
    """Return the yes/no augmentations of a table of questions.

    Parameters
    ----------
    questions : pl.DataFrame
        ``schemas.Questions``, in any order.
    config : RadConfig, optional
        Options.
    pools : pl.DataFrame, optional
        Answers to draw from, as of :func:`.pools.answer_pools`; default: those of `questions`. With the
        pools of a whole set, its shards give exactly the rows that the whole gives.
    balance : pl.DataFrame, optional
        For a balanced draw of a shard, beside `pools`: that of the whole.
    costs, on_stage
        Filled with, and told, the stages.

    Raises
    ------
    BackendError
        spaCy, its model or inflect is missing.
    ConfigError
        Pools that are no pools.

    Notes
    -----
    Rosenberg, Gat, Feder and Reichart, "Are VQA Systems RAD?" (ACL 2021), section 2.2.

    Examples
    --------
    >>> answers = ["red", "blue"] * 20
    >>> questions = pl.DataFrame({
    ...     "question_id": [str(n) for n in range(40)], "image_id": "1", "question": "What color is the bus?",
    ...     "question_type": None, "answer_type": "other", "answer": answers,
    ...     "answers": [[answer] * 10 for answer in answers], "answer_record_key": None, "split": "val",
    ... })
    >>> made = augment_questions(questions).augmentations
    >>> made.select("question", "answer", "original_answer").row(0)
    ('Is the color of the bus blue?', 'no', 'red')
    """
    config = config or RadConfig()
    costs = [] if costs is None else costs
    with timed(costs, "find sources", on_stage):
        sources = find_sources(questions, config)
    with timed(costs, "draw", on_stage):
        pools = answer_pools(sources.eligible, config.pool_by) if pools is None else pools
        drawn = draw_answers(sources.eligible, pools, config, balance)
    with timed(costs, "phrase", on_stage):
        made = with_surfaces(drawn.rows, config.mode, config.surface, mends_slips=config.mends_slips)
        targets = [soft_targets(drawn.rows).alias("target")] if config.soft_targets else []
    several = config.per_question > 1
    own_id = pl.format("{}_{}", "question_id", "draw") if several else pl.col("question_id")
    augmentations = (
        made.select(
            own_id.alias("question_id"),
            "augmentation",
            "image_id",
            question="augmented",
            answer="drawn_answer",
            form="form",
            question_type="question_type",
            original_question="question",
            original_answer="answer",
            substituted_answer="substitute",
            split=pl.col("split").fill_null("all"),
            **({"original_id": pl.col("question_id")} if several else {}),
        )
        .with_columns(targets)
        .sort("question_id", "augmentation")
    )
    skipped = pl.concat([sources.skipped, drawn.skipped]).sort("question_id")
    return Augmented(
        validated(augmentations, Augmentations, "augmentations"),
        validated(skipped, SkippedSources, "skipped questions"),
        pools,
        sources.tagger,
        drawn.balance,
    )
