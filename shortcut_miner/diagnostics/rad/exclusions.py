"""Which answers of a pool a "no" question must not ask with: they may be right.

Everything is decided once per distinct answer (or subject and answer) and joined back to the rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import polars as pl

from shortcut_miner.diagnostics.rad.colors import are_compatible, color_set, mentioned_colors
from shortcut_miner.diagnostics.rad.language import ANY_NUMBER, mentioned_numbers
from shortcut_miner.diagnostics.rad.what_kind import content_words, is_a_property
from shortcut_miner.text import normalise_answer

Pairs = pl.DataFrame  # row UInt32, position UInt32 (of the pool's answer), each pair once

_SCHEMA = {"row": pl.UInt32, "position": pl.UInt32}
_FORBIDDEN = {"pool": pl.String, "subject": pl.String, "said": pl.String, "position": pl.UInt32}


def excluded_answers(
    rows: pl.DataFrame,
    pools: pl.DataFrame,
    *,
    exclude_annotators: bool,
    exclude_doubtful: bool = False,
    exclude_properties: bool = False,
) -> Pairs:
    """Return the answers of its pool that each row must not be asked with.

    Parameters
    ----------
    rows : pl.DataFrame
        row UInt32 (its number), augmentation, pool, subject, singular, substance, answer, answers.
    pools : pl.DataFrame
        augmentation, pool, substitute, position UInt32.
    exclude_annotators : bool
        Also what may agree with any annotator's answer, or comes close to it; otherwise the original answer
        alone (after VQA normalisation; for colours, sets that contain it or are contained in it).
    exclude_doubtful : bool
        Also numbers between the least and the most that annotators gave.
    exclude_properties : bool
        Also adjectives and colours where a kind was given that has nothing of them: a cow may be brown.

    Returns
    -------
    pl.DataFrame
        row, position; sorted.
    """
    said = _said(rows, exclude_annotators)
    parts = [
        _joined(said, _forbidden(kind, said, pools, exclude_annotators))
        for kind in ("colors", "how-many", "what-kind")
        if kind in pools["augmentation"]
    ]
    parts.append(_ones(rows, pools))
    if exclude_doubtful:
        parts.append(_between(_said(rows, exclude_annotators=True), pools))
    if exclude_properties:
        parts.append(_properties(rows, pools))
    return pl.concat([pl.DataFrame(schema=_SCHEMA), *parts]).unique().sort("row", "position")


def _said(rows: pl.DataFrame, exclude_annotators: bool) -> pl.DataFrame:
    """Return row, augmentation, pool, subject, said: every answer to steer clear of."""
    keys = ("row", "augmentation", "pool", "subject")
    said = rows.select(*keys, said="substance")
    if exclude_annotators:
        given = rows.select(*keys, said="answers").explode("said", empty_as_null=True).drop_nulls("said")
        said = pl.concat([said, given])
    # Only what-kind looks at the subject.
    subject = pl.when(pl.col("augmentation") == "what-kind").then("subject")
    return said.with_columns(subject=subject.fill_null("")).unique()


def _joined(said: pl.DataFrame, forbidden: Iterable[tuple[str, str, str, int]]) -> Pairs:
    table = pl.DataFrame(list(forbidden), schema=_FORBIDDEN, orient="row")
    return said.join(table, on=["pool", "subject", "said"], how="inner").select("row", "position")


def _forbidden(
    kind: str, said: pl.DataFrame, pools: pl.DataFrame, is_wide: bool
) -> Iterator[tuple[str, str, str, int]]:
    """Give (pool, subject, said, position) for every answer of a pool that agrees with what was said."""
    asked = said.filter(pl.col("augmentation") == kind).select("pool", "subject", "said").unique()
    match = {"colors": _color_matches, "how-many": _number_matches, "what-kind": _kind_matches}[kind]
    for (pool,), texts in asked.group_by("pool"):
        answers = pools.filter(pl.col("pool") == pool).select("substitute", "position").rows()
        for subject, text, position in match(texts.select("subject", "said").rows(), answers, is_wide):
            yield str(pool), subject, text, position


Asked = list[tuple[str, str]]
Answers = list[tuple[str, int]]
Matches = Iterator[tuple[str, str, int]]


def _color_matches(asked: Asked, answers: Answers, is_wide: bool) -> Matches:
    colors = {at: color_set(answer) or frozenset() for answer, at in answers}
    related: dict[frozenset[str], list[int]] = {}
    for subject, said in asked:
        named = color_set(said) or mentioned_colors(said)
        if named not in related:
            related[named] = [
                at for at in colors if named and are_compatible(named, colors[at], count_near=is_wide)
            ]
        yield from ((subject, said, at) for at in related[named])


def _number_matches(asked: Asked, answers: Answers, is_wide: bool) -> Matches:
    numbers = [(int(answer), at) for answer, at in answers]
    for subject, said in asked:
        for low, high in mentioned_numbers(said):
            yield from ((subject, said, at) for number, at in numbers if low <= number <= high)


def _kind_matches(asked: Asked, answers: Answers, is_wide: bool) -> Matches:
    """Give equal answers and, if wide, those whose words contain what was said or are contained in it.

    The subject's own words don't count: of a truck, "garbage" and "garbage truck" say the same.
    """
    words = {at: content_words(answer) for answer, at in answers}
    normalised = defaultdict(list)
    postings: dict[str, list[int]] = defaultdict(list)
    for answer, at in answers:
        normalised[normalise_answer(answer)].append(at)
        for word in words[at]:
            postings[word].append(at)
    for subject, said in asked:
        agreeing = set(normalised.get(normalise_answer(said), ()))
        if is_wide:
            own, spoken = content_words(subject), content_words(said)
            candidates = {at for word in own | spoken for at in postings.get(word, ())}
            agreeing.update(at for at in candidates if _agree(words[at], spoken, own))
        yield from ((subject, said, at) for at in sorted(agreeing))


def _agree(one: frozenset[str], other: frozenset[str], own: frozenset[str]) -> bool:
    """Return whether two answers may mean the same, or one says nothing that the subject does not say.

    >>> _agree(frozenset({"garbage", "truck"}), frozenset({"garbage"}), frozenset({"truck"}))
    True
    >>> _agree(frozenset({"cat"}), frozenset({"dog"}), frozenset({"animal"}))
    False
    """
    left, right = one - own, other - own
    return not left or one <= other or other <= one or (bool(right) and (left <= right or right <= left))


def _between(said: pl.DataFrame, pools: pl.DataFrame) -> Pairs:
    """Return the numbers from the least to the most that each row's annotators gave."""
    said = said.filter(pl.col("augmentation") == "how-many")
    spans = [(text, low, max(low, high) if high < ANY_NUMBER else low)
             for text in said["said"].unique() for low, high in mentioned_numbers(text)]  # fmt: skip
    table = pl.DataFrame(
        spans, schema={"said": pl.String, "low": pl.Int64, "high": pl.Int64}, orient="row"
    ).filter(pl.col("high") <= ANY_NUMBER)
    spanned = (
        said.join(table, on="said").group_by("row", "pool").agg(pl.col("low").min(), pl.col("high").max())
    )
    numbers = pools.filter(pl.col("augmentation") == "how-many").select(
        "position", number=pl.col("substitute").cast(pl.Int64), of="pool"
    )
    within = spanned.join_where(
        numbers,
        pl.col("pool") == pl.col("of"),
        pl.col("number") >= pl.col("low"),
        pl.col("number") <= pl.col("high"),
    )
    return within.select("row", "position")


def _properties(rows: pl.DataFrame, pools: pl.DataFrame) -> Pairs:
    """Return the adjectives and colours for each what-kind row whose own answer is none."""
    kinds = rows.filter(pl.col("augmentation") == "what-kind")
    answers = pools.filter(pl.col("augmentation") == "what-kind").select(
        "pool", "position", said="substitute"
    )
    texts = pl.concat([kinds["substance"], answers["said"].rename("substance")]).unique()
    properties = pl.Series([text for text in texts if is_a_property(text)], dtype=pl.String).implode()
    named = kinds.filter(~pl.col("substance").is_in(properties)).select("row", "pool")
    described = answers.filter(pl.col("said").is_in(properties)).select("pool", "position")
    return named.join(described, on="pool", how="inner").select("row", "position")


def _ones(rows: pl.DataFrame, pools: pl.DataFrame) -> Pairs:
    """Return the answer 1 for every how-many row that fits no single one."""
    without = rows.filter((pl.col("augmentation") == "how-many") & pl.col("singular").is_null())
    one = pools.filter((pl.col("augmentation") == "how-many") & (pl.col("substitute") == "1"))
    return (
        without.select("row", "pool")
        .join(one.select("pool", "position"), on="pool", how="inner")
        .select("row", "position")
    )
