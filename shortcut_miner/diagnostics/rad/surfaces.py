"""The text of an augmentation: a source question's parts with an answer put in."""

import polars as pl

from shortcut_miner.diagnostics.rad.config import Mode, Surface
from shortcut_miner.diagnostics.rad.language import number_word
from shortcut_miner.diagnostics.rad.what_kind import what_kind_surface

_KINDS_SCHEMA = {
    "subject": pl.String,
    "substitute": pl.String,
    "kind_text": pl.String,
    "kind_form": pl.String,
}


# VQA's question types that an opening of further forms may have; "none of the above" otherwise.
_TYPES = r"(?i)^(does the|does this|do|is that a|is)\b"


def with_surfaces(
    chosen: pl.DataFrame, mode: Mode, surface: Surface | None = "plain", *, mends_slips: bool = False
) -> pl.DataFrame:
    """Return the rows with ``augmented`` (the question) and ``form`` filled in.

    Parameters
    ----------
    chosen : pl.DataFrame
        augmentation, form, subject, plural, singular, opening as in :class:`.sources.Sources`, and
        substitute: the answer to ask for (digits for how-many).
    mode : {"grammar", "literal"}
        Of what-kind questions.
    surface : {"plain", "exact"}
        Of how-many questions.
    mends_slips : bool
        Put names of makers before what they make.

    Notes
    -----
    Rosenberg et al. (ACL 2021), Tables 1 and 6.
    """
    kind = pl.col("augmentation")
    pairs = chosen.filter(kind == "what-kind").select("subject", "substitute").unique()
    rows = [
        (subject, answer, *what_kind_surface(subject, answer, mode, with_brands=mends_slips))
        for subject, answer in pairs.iter_rows()
    ]
    kinds = pl.DataFrame(rows, schema=_KINDS_SCHEMA, orient="row")
    counts = chosen.filter(kind == "how-many")["substitute"].unique()
    numbers = pl.DataFrame(
        {"substitute": counts, "number_word": [number_word(int(count)) for count in counts]},
        schema={"substitute": pl.String, "number_word": pl.String},
    )
    is_one, opening = pl.col("substitute") == "1", pl.col("opening")
    number = "exactly {}" if surface == "exact" else "{}"
    text = (
        pl.when(kind == "colors")
        .then(pl.format("Is the color of the {} {}?", "subject", "substitute"))
        .when((kind == "how-many") & is_one)
        .then(pl.format(f"{{}} {number} {{}}?", opening.fill_null("Is there"), pl.lit("one"), "singular"))
        .when(kind == "how-many")
        .then(pl.format(f"{{}} {number} {{}}?", opening.fill_null("Are there"), "number_word", "plural"))
        .when(opening.is_not_null())
        .then(pl.col("kind_text").str.replace("^Is this", opening))
        .otherwise("kind_text")
    )
    keeps_its_form = (kind != "what-kind") | (pl.col("form") == "what-type").fill_null(False)
    return (
        chosen.join(kinds, on=["subject", "substitute"], how="left", validate="m:1", maintain_order="left")
        .join(numbers, on="substitute", how="left", validate="m:1", maintain_order="left")
        .with_columns(
            augmented=text,
            form=pl.when(keeps_its_form).then("form").otherwise("kind_form"),
        )
        .with_columns(question_type=question_type())
        .drop("kind_text", "kind_form", "number_word")
    )


def question_type() -> pl.Expr:
    """Return VQA's question type of an augmentation: its opening."""
    kind, is_one = pl.col("augmentation"), pl.col("substitute") == "1"
    special = pl.col("augmented").str.extract(_TYPES).str.to_lowercase().fill_null("none of the above")
    return (
        pl.when(pl.col("opening").is_not_null())
        .then(special)
        .when(kind == "colors")
        .then(pl.lit("is the"))
        .when(kind == "what-kind")
        .then(pl.lit("is this"))
        .when(is_one)
        .then(pl.lit("is there"))
        .otherwise(pl.lit("are there"))
    )
