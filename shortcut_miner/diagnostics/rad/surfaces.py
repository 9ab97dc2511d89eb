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


def with_surfaces(chosen: pl.DataFrame, mode: Mode, surface: Surface | None = "plain") -> pl.DataFrame:
    """Return the rows with ``augmented`` (the question) and ``form`` filled in.

    Parameters
    ----------
    chosen : pl.DataFrame
        augmentation, form, subject, plural, singular as in :class:`.sources.Sources`, and substitute: the
        answer to ask for (digits for how-many).
    mode : {"grammar", "literal"}
        Of what-kind questions.
    surface : {"plain", "exact"}
        Of how-many questions.

    Notes
    -----
    Rosenberg et al. (ACL 2021), Tables 1 and 6.
    """
    kind = pl.col("augmentation")
    pairs = chosen.filter(kind == "what-kind").select("subject", "substitute").unique()
    rows = [
        (subject, answer, *what_kind_surface(subject, answer, mode)) for subject, answer in pairs.iter_rows()
    ]
    kinds = pl.DataFrame(rows, schema=_KINDS_SCHEMA, orient="row")
    counts = chosen.filter(kind == "how-many")["substitute"].unique()
    numbers = pl.DataFrame(
        {"substitute": counts, "number_word": [number_word(int(count)) for count in counts]},
        schema={"substitute": pl.String, "number_word": pl.String},
    )
    is_one = pl.col("substitute") == "1"
    number = "exactly {}" if surface == "exact" else "{}"
    text = (
        pl.when(kind == "colors")
        .then(pl.format("Is the color of the {} {}?", "subject", "substitute"))
        .when((kind == "how-many") & is_one)
        .then(pl.format(f"Is there {number} {{}}?", pl.lit("one"), "singular"))
        .when(kind == "how-many")
        .then(pl.format(f"Are there {number} {{}}?", "number_word", "plural"))
        .otherwise("kind_text")
    )
    return (
        chosen.join(kinds, on=["subject", "substitute"], how="left", validate="m:1", maintain_order="left")
        .join(numbers, on="substitute", how="left", validate="m:1", maintain_order="left")
        .with_columns(
            augmented=text,
            form=pl.when(kind == "what-kind").then("kind_form").otherwise("form"),
            question_type=question_type(),
        )
        .drop("kind_text", "kind_form", "number_word")
    )


def question_type() -> pl.Expr:
    """Return VQA's question type of an augmentation: its opening."""
    kind, is_one = pl.col("augmentation"), pl.col("substitute") == "1"
    return (
        pl.when(kind == "colors")
        .then(pl.lit("is the"))
        .when(kind == "what-kind")
        .then(pl.lit("is this"))
        .when(is_one)
        .then(pl.lit("is there"))
        .otherwise(pl.lit("are there"))
    )
