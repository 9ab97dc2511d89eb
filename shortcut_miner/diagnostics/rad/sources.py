"""Which questions give an augmentation, with everything it needs, and why each other one gives none.

All decisions that drop a question are made here or in :mod:`.pools`, before any coin is tossed.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import polars as pl

from shortcut_miner.diagnostics.rad.agreement import agreement
from shortcut_miner.diagnostics.rad.colors import color_set, is_multicolored, offers_colors
from shortcut_miner.diagnostics.rad.config import TYPES, RadConfig
from shortcut_miner.diagnostics.rad.further_forms import parse_forms
from shortcut_miner.diagnostics.rad.how_many import Counted
from shortcut_miner.diagnostics.rad.language import Tagger, load_tagger, written_number
from shortcut_miner.diagnostics.rad.what_kind import (
    MAX_SUBJECT_WORDS,
    has_article,
    is_a_sentence,
    is_of_many,
    names_a_kind,
)
from shortcut_miner.diagnostics.rad.word_lists import words

YES_NO = "a yes/no question"
NO_OPENING = "no opening of a chosen type"
INNER_MARK = "a question mark or a further sentence inside"
NO_ANSWER = "no answer"
NOT_A_COLOR = "the answer is not a colour"
OFFERED = "the question offers the answers"
FORM_NOT_CHOSEN = "a form that was not chosen"
NOT_DIGITS = "the answer is not a whole number in digits"
NO_SINGULAR = "the answer is 1, but the question fits no single one"
ARTICLE_INSIDE = "an article inside the subject"
LONG_SUBJECT = f"a subject of more than {MAX_SUBJECT_WORDS} words"
NO_NOUN_PHRASE = "the subject is no noun phrase"
PLURAL_SUBJECT = "the subject stands in the plural"
NO_KIND = "the answer names no kind"
TOO_FEW_AGREE = "too few annotators agree on the answer"
MULTICOLORED = "an annotator says that it has many colours"

_OPENINGS = {
    "colors": r"(?i)^what color is the (.+)$",
    "how-many": r"(?i)^how many (.+)$",
    "what-kind": r"(?i)^what kind of (.+) is this$",
}
# Form -> the opening of its type where it is chosen.
_WIDER_OPENINGS = {
    "color-are": ("colors", r"(?i)^what color (?:is|are) the (.+)$"),
    "what-type": ("what-kind", r"(?i)^what (?:kind|sort|type) of (.+) is (?:this|that)$"),
}
_COUNTED = dict.fromkeys(("reason", "form", "plural", "singular", "opening"), pl.String)
NUMBER_WORDS = "number-words"
_MAX_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Sources:
    """Questions that give an augmentation, and all others.

    Attributes
    ----------
    eligible : pl.DataFrame
        The columns of ``schemas.Questions`` and: augmentation (type), form, subject (S), plural and singular
        (of how-many), opening (null: the usual one), substance (the answer as it may be asked for).
    skipped : pl.DataFrame
        question_id, augmentation (null: no opening), reason.
    tagger : Tagger or None
        What found the nouns, if anything was tagged.
    """

    eligible: pl.DataFrame
    skipped: pl.DataFrame
    tagger: Tagger | None = None


def find_sources(questions: pl.DataFrame, config: RadConfig) -> Sources:
    """Return the questions that give an augmentation, and the reason for each other one.

    Parameters
    ----------
    questions : pl.DataFrame
        ``schemas.Questions``.
    config : RadConfig
        Options.

    Raises
    ------
    BackendError
        spaCy, its model or inflect is missing, and there are how-many questions to tag.
    """
    opened = questions.with_columns(body=question_body(pl.col("question"))).with_columns(
        augmentation=_opening(config),
        answered=pl.col("answer").str.strip_chars().str.replace_all(r"\s+", " "),
    )
    opened = opened.with_columns(subject=_subject(config)).with_columns(reason=_early_reason())
    tagger = None
    asked = opened.filter(_is_type("how-many") & pl.col("reason").is_null())["body"].unique().sort()
    if len(asked):
        tagger = load_tagger(config.spacy_model)
    counted = _counted_table(asked, tagger, config)
    opened = (
        opened.join(counted, on="body", how="left", validate="m:1", maintain_order="left")
        .with_columns(form=_form(), opening=_special_opening())
        .with_columns(reason=pl.coalesce("reason", "counted_reason"))
    )
    opened = _with_answer_checks(_with_numbers_in_digits(opened, config), config)
    opened = opened.with_columns(reason=pl.coalesce("reason", *_late_reasons(config)))
    opened = _with_doubts(opened, config)
    eligible = opened.filter(pl.col("reason").is_null()).select(
        *questions.columns, "augmentation", "form", "subject", "plural", "singular", "opening",
        substance=_substance(),
    )  # fmt: skip
    skipped = opened.filter(pl.col("reason").is_not_null()).select("question_id", "augmentation", "reason")
    return Sources(eligible, skipped, tagger)


def question_body(question: pl.Expr) -> pl.Expr:
    """Return a question with single blanks, without the marks at its end.

    >>> table = pl.DataFrame({"question": ["What  color is the cat ??"]})
    >>> table.select(question_body(pl.col("question"))).item()
    'What color is the cat'
    """
    return question.str.replace_all(r"\s+", " ").str.strip_chars(" ").str.strip_chars_end("?. ")


def _opening(config: RadConfig) -> pl.Expr:
    openings = _openings(config)
    fitting = [
        pl.when(pl.col("body").str.contains(openings[name])).then(pl.lit(name))
        for name in TYPES
        if name in config.chosen_types
    ]
    return pl.coalesce(*fitting, pl.lit(None, pl.String))


def _openings(config: RadConfig) -> dict[str, str]:
    return _OPENINGS | dict(_WIDER_OPENINGS[form] for form in config.chosen_forms if form in _WIDER_OPENINGS)


def _subject(config: RadConfig) -> pl.Expr:
    return pl.coalesce(
        pl.when(_is_type(name)).then(pl.col("body").str.extract(pattern))
        for name, pattern in _openings(config).items()
    )


def _is_type(name: str) -> pl.Expr:
    return (pl.col("augmentation") == name).fill_null(False)


def _early_reason() -> pl.Expr:
    """Return the reason that needs no grammar, the first that holds."""
    kind = pl.col("answer_type").fill_null(
        pl.when(pl.col("answered").str.to_lowercase().is_in(["yes", "no"])).then(pl.lit("yes/no"))
    )
    body = pl.col("body")
    return _first_reason(
        ((kind == "yes/no").fill_null(False), YES_NO),
        (pl.col("augmentation").is_null(), NO_OPENING),
        (body.str.contains("?", literal=True) | body.str.contains(". ", literal=True), INNER_MARK),
        ((pl.col("answered").fill_null("") == ""), NO_ANSWER),
    )


def _first_reason(*cases: tuple[pl.Expr, str]) -> pl.Expr:
    return pl.coalesce(
        *(pl.when(condition).then(pl.lit(reason)) for condition, reason in cases), pl.lit(None, pl.String)
    )


def _counted_table(bodies: pl.Series, tagger: Tagger | None, config: RadConfig) -> pl.DataFrame:
    """Return body and, of distinct "How many" questions, what they give: counted_reason, counted_form, ..."""
    parsed: Iterable[Counted] = ()
    if tagger is not None:
        docs = tagger.tag([f"{body}?" for body in bodies])
        parsed = (parse_forms(doc, config.chosen_forms) for doc in docs)
    rows = pl.DataFrame([asdict(one) for one in parsed], schema=_COUNTED)
    rows = rows.rename({name: f"counted_{name}" for name in ("reason", "form", "opening")})
    return rows.with_columns(bodies.rename("body")) if len(bodies) else rows.with_columns(body=pl.lit(""))


def _form() -> pl.Expr:
    """Return the form of a how-many question, and whether others have the paper's opening or a wider one."""
    body = pl.col("body")
    forms = [
        pl.when(_is_type(kind) & ~body.str.contains(_OPENINGS[kind])).then(pl.lit(form))
        for form, (kind, _) in _WIDER_OPENINGS.items()
    ]
    color = pl.when(_is_type("colors")).then(pl.lit("color"))
    return pl.coalesce(*forms, color, pl.when(_is_type("how-many")).then("counted_form"))


def _special_opening() -> pl.Expr:
    is_that = _is_type("what-kind") & pl.col("body").str.contains("(?i)that$")
    return pl.when(is_that).then(pl.lit("Is that")).when(_is_type("how-many")).then("counted_opening")


def _with_numbers_in_digits(opened: pl.DataFrame, config: RadConfig) -> pl.DataFrame:
    """Write answers such as "two" or "just 7 dogs" in digits, where that form is chosen."""
    if NUMBER_WORDS not in config.chosen_forms:
        return opened
    is_text = pl.col("form").is_in(config.chosen_forms) & ~pl.col("answered").str.contains(r"^\d+$")
    keys = ("answered", "body")
    asked = opened.filter(_is_type("how-many") & is_text).select(keys).unique()
    rows = [(answer, body, written_number(answer, body)) for answer, body in asked.iter_rows()]
    digits = pl.DataFrame(rows, schema=dict.fromkeys((*keys, "digits"), pl.String), orient="row").drop_nulls()
    found = opened.join(digits, on=keys, how="left", validate="m:1", maintain_order="left")
    is_found = _is_type("how-many") & pl.col("digits").is_not_null()
    return found.with_columns(
        answered=pl.when(is_found).then("digits").otherwise("answered"),
        form=pl.when(is_found).then(pl.lit(NUMBER_WORDS)).otherwise("form"),
    ).drop("digits")


def _with_answer_checks(opened: pl.DataFrame, config: RadConfig) -> pl.DataFrame:
    """Add is_color, is_kind and has_article, decided once per distinct text."""

    def is_kind(text: str) -> bool:
        return names_a_kind(text) and not (config.mends_slips and is_a_sentence(text))

    checks = (
        ("colors", "answered", "is_color", lambda text: color_set(text) is not None),
        ("colors", "subject", "offers_colors", offers_colors),
        ("what-kind", "answered", "is_kind", is_kind),
        ("what-kind", "subject", "has_article", has_article),
        ("what-kind", "subject", "is_of_many", is_of_many),
    )
    for kind, column, name, check in checks:
        texts = opened.filter(_is_type(kind))[column].drop_nulls().unique()
        decided = pl.DataFrame(
            {column: texts, name: [check(text) for text in texts]}, schema_overrides={name: pl.Boolean}
        )
        opened = opened.join(decided, on=column, how="left", validate="m:1", maintain_order="left")
    return opened


def _with_doubts(opened: pl.DataFrame, config: RadConfig) -> pl.DataFrame:
    """Add the reasons that other annotators give."""
    doubts = []
    if config.min_agreement != 1:
        left = opened.with_columns(pl.when(pl.col("reason").is_null()).then("answers"))
        # Tenths, as whole numbers: 0.3 * 10 is not 3.
        tenths = (agreement(left, "answered") * 10).round(6).fill_null(10)
        doubts.append((pl.lit(tenths) < config.min_agreement, TOO_FEW_AGREE))
    if config.exclude_doubtful:
        texts = opened.filter(_is_type("colors"))["answers"].explode(empty_as_null=True).drop_nulls().unique()
        many = pl.Series([one for one in texts if is_multicolored(one)], dtype=pl.String)
        says_so = pl.col("answers").list.eval(pl.element().is_in(many.implode())).list.any()
        doubts.append((_is_type("colors") & says_so.fill_null(False), MULTICOLORED))
    return opened.with_columns(reason=pl.coalesce("reason", _first_reason(*doubts)))


def _late_reasons(config: RadConfig) -> list[pl.Expr]:
    """Return the reasons that depend on subject, form and answer."""
    answered = pl.col("answered")
    is_digits = answered.str.contains(rf"^\d{{1,{_MAX_DIGITS}}}$")
    is_long = pl.col("subject").str.split(" ").list.len() > MAX_SUBJECT_WORDS
    is_one = answered.str.contains("^0*1$")
    ends = "|".join(sorted(words("modifiers", "cut_off")))
    # "the kite the man is holding" is whole.
    is_cut = pl.col("subject").str.contains(rf"(?i) (?:{ends})$")
    is_cut &= ~pl.col("subject").str.contains(r"(?i) (?:is|are|was|were) [a-z]+$")
    return [
        _first_reason(
            (_is_type("colors") & pl.col("offers_colors"), OFFERED),
            (_is_type("colors") & ~pl.col("is_color"), NOT_A_COLOR),
            (_is_type("colors") & is_cut & pl.lit(config.mends_slips), NO_NOUN_PHRASE),
            (_is_type("how-many") & ~pl.col("form").is_in(config.chosen_forms), FORM_NOT_CHOSEN),
            (_is_type("how-many") & ~is_digits, NOT_DIGITS),
            (_is_type("how-many") & is_one & pl.col("singular").is_null(), NO_SINGULAR),
            (_is_type("what-kind") & pl.col("has_article"), ARTICLE_INSIDE),
            (_is_type("what-kind") & is_long, LONG_SUBJECT),
            (_is_type("what-kind") & pl.col("is_of_many") & pl.lit(config.mends_slips), PLURAL_SUBJECT),
            (_is_type("what-kind") & ~pl.col("is_kind"), NO_KIND),
        )
    ]


def _substance() -> pl.Expr:
    """Return the answer as it may be asked for: numbers without leading zeros."""
    number = pl.col("answered").str.strip_chars_start("0")
    number = pl.when(number == "").then(pl.lit("0")).otherwise(number)
    return pl.when(_is_type("how-many")).then(number).otherwise("answered")
