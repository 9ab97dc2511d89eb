"""Models' answers to pairs and groups: what is right, what is a rule's answer, which images go together."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.pairs.config import ScoreConfig
from shortcut_miner.diagnostics.pairs.groups import MEMBERS, group_scores, parse_answer
from shortcut_miner.diagnostics.pairs.outputs import SIDES, PairsFolder
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.text import answer_forms

CLUSTER = "connected_images"
PAIR_METRICS = ("accuracy", "pair_accuracy", "one", "neither")
RULE_METRICS = ("agree_accuracy", "counter_accuracy", "gap", "shortcut_rate")
# An accuracy is a fraction of 30: a threshold such as 60 must not fail by a rounding error.
_ROUNDING = 1e-9


def connected_images(questions: pl.DataFrame, *tables: tuple[pl.DataFrame, tuple[str, ...]]) -> pl.DataFrame:
    """Return image_id and the component of images that pairs or groups join it to, named by its first image.

    Parameters
    ----------
    questions : pl.DataFrame
        question_id, image_id.
    *tables : (pl.DataFrame, tuple of str)
        Rows whose questions belong together, and the columns that name these.

    Examples
    --------
    >>> questions = pl.DataFrame({"question_id": ["1", "2", "3", "4"], "image_id": ["a", "b", "b", "c"]})
    >>> pairs = pl.DataFrame({"one": ["1", "3"], "other": ["2", "4"]})
    >>> connected_images(questions, (pairs, ("one", "other"))).rows()
    [('a', 'a'), ('b', 'a'), ('c', 'a')]
    """
    from scipy import sparse  # it takes a while to load
    from scipy.sparse import csgraph

    images = questions["image_id"].unique().sort()
    places = questions["question_id"], questions["image_id"].cast(pl.Enum(images)).to_physical()
    edges = [
        (table[first].replace_strict(*places), table[other].replace_strict(*places))
        for table, (first, *others) in tables
        for other in others
    ]
    one, two = (np.concatenate([edge[side].to_numpy() for edge in edges]) for side in (0, 1))
    shape = (len(images), len(images))
    _, label = csgraph.connected_components(sparse.csr_array((np.ones(len(one)), (one, two)), shape=shape))
    named = pl.DataFrame({"image_id": images, "label": label})
    return named.select("image_id", pl.col("image_id").min().over("label").alias(CLUSTER))


def component_note(clusters: pl.DataFrame) -> tuple[str, str | None]:
    """Return how images hang together, in words, and a warning if intervals say little for that.

    `clusters` is what :func:`connected_images` gives.
    """
    sizes = clusters.group_by(CLUSTER).len()["len"]
    images, largest = len(clusters), int(sizes.max())  # type: ignore[arg-type]
    note = f"images that pairs connect: {images:,} in {len(sizes):,} parts, the largest of {largest:,}"
    if 2 * largest <= images:
        return note, None
    return note, (
        f"intervals: got {largest:,} of {images:,} images that pairs connect with each other, expected many "
        "small parts: they are resampled as one, so that intervals say little. Take the values alone"
    )


def clusters_of(folder: PairsFolder) -> pl.DataFrame:
    """Return :func:`connected_images` of a folder's pairs and groups."""
    groups = [] if folder.groups is None else [(folder.groups, MEMBERS)]
    return connected_images(folder.asked(), (folder.pairs, SIDES), *groups)


def judge_pairs(
    folder: PairsFolder, answers: Mapping[str, pl.DataFrame], config: ScoreConfig, scorer: str
) -> pl.DataFrame:
    """Return a row a model and pair: its metrics in percent, what it is of, and its images.

    Returns
    -------
    pl.DataFrame
        model, pair_id, rule_id, modality (null without rules), answer_type (of the first question), the
        component of images; accuracy, pair_accuracy, one, neither, agree_accuracy, counter_accuracy, gap,
        flip_rate and shortcut_rate (null without a rule), Float64.
    """
    pairs, questions = folder.pairs, folder.asked()
    clusters = clusters_of(folder)
    of_pair = pairs.select(
        "pair_id", "rule_id", "rule_answer", *SIDES
    ).join(
        questions.select("image_id", "answer_type", question_id_agree="question_id"),
        on="question_id_agree", how="left", validate="m:1", maintain_order="left",
    ).join(clusters, on="image_id", how="left", validate="m:1", maintain_order="left")  # fmt: skip
    if folder.rules is None:
        of_pair = of_pair.with_columns(modality=pl.lit(None, pl.String))
    else:
        of_pair = of_pair.join(
            folder.rules.select("rule_id", "modality"), on="rule_id", how="left", validate="m:1",
            maintain_order="left",
        )  # fmt: skip
    return pl.concat(
        of_pair.pipe(_with_side, "agree", said).pipe(_with_side, "counter", said)
        .select("pair_id", "rule_id", "modality", "answer_type", CLUSTER, model=pl.lit(model), **_metrics())
        for model, table in answers.items()
        for said in [_said(questions, table, config, scorer)]
    )  # fmt: skip


def _said(questions: pl.DataFrame, table: pl.DataFrame, config: ScoreConfig, scorer: str) -> pl.DataFrame:
    """Return question_id, whether a model is right there, and its answer after VQA normalisation."""
    scored = score_questions(questions, table, scorer=scorer)
    is_right = pl.col("accuracy") >= config.correct_at - _ROUNDING
    return scored.select("question_id", right=is_right).join(
        normalised(table, "answer").select("question_id", said="answer"),
        on="question_id", how="left", validate="1:1", maintain_order="left",
    )  # fmt: skip


def normalised(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return a table with the answers in a column after VQA normalisation; null stays null."""
    forms = answer_forms(table[column].rename("answer"))
    changed = pl.col(column).replace_strict(
        forms["answer"], forms["normalised"], default=None, return_dtype=pl.String
    )
    return table.with_columns(changed)


def _with_side(pairs: pl.DataFrame, side: str, said: pl.DataFrame) -> pl.DataFrame:
    names = {"question_id": f"question_id_{side}", "right": f"{side}_right", "said": f"{side}_said"}
    joined = said.rename(names)
    return pairs.join(
        joined, on=f"question_id_{side}", how="left", validate="m:1", maintain_order="left"
    ).pipe(normalised, "rule_answer")


def _metrics() -> dict[str, pl.Expr]:
    agree, counter = pl.col("agree_right"), pl.col("counter_right")
    is_shortcut = (pl.col("agree_said") == pl.col("rule_answer")) & (
        pl.col("counter_said") == pl.col("rule_answer")
    )
    shares = {
        "pair_accuracy": agree & counter,
        "one": agree ^ counter,
        "neither": ~(agree | counter),
        "agree_accuracy": agree,
        "counter_accuracy": counter,
        "flip_rate": pl.col("agree_said") != pl.col("counter_said"),
        "shortcut_rate": is_shortcut,
    }
    numbers = {name: 100.0 * share.cast(pl.Float64) for name, share in shares.items()}
    return {
        "accuracy": (numbers["agree_accuracy"] + numbers["counter_accuracy"]) / 2,
        "gap": numbers["agree_accuracy"] - numbers["counter_accuracy"],
        **numbers,
    }


def judge_groups(folder: PairsFolder, answers: Mapping[str, pl.DataFrame]) -> pl.DataFrame | None:
    """Return a row a model and group: its metrics in percent, and its images; None without groups."""
    groups = folder.groups
    if groups is None or groups.is_empty():
        return None
    clusters = clusters_of(folder)
    of_group = groups.select("group_id", image_id="image_id_0").join(
        clusters, on="image_id", how="left", validate="m:1", maintain_order="left"
    )
    tables = []
    for model, table in answers.items():
        parsed = {question_id: parse_answer(text) for question_id, text in table.iter_rows()}
        said = np.array([[parsed[one] for one in row] for row in groups.select(MEMBERS).iter_rows()])
        tables.append(of_group.hstack(group_scores(said)).with_columns(model=pl.lit(model)))
    return pl.concat(tables)
