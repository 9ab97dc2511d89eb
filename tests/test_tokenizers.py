"""Tokenisers by name; the spaCy ones need the extra."""

import sys

import polars as pl
import pytest

from shortcut_miner.errors import BackendError
from shortcut_miner.tokenizers import tokenize

QUESTIONS = pl.Series(["What are the dogs' names?", None, "", "What are the dogs' names?", "Is it\nsunny?"])


def test_spacy_tokens_are_lower_case() -> None:
    pytest.importorskip("spacy")
    words = tokenize(QUESTIONS, "spacy").to_list()
    assert words[0] == ["what", "are", "the", "dogs", "'", "names", "?"] == words[3]
    assert words[1:3] == [None, []]
    assert words[4] == ["is", "it", "sunny", "?"]


def test_spacy_lemmas() -> None:
    pytest.importorskip("spacy")
    words = tokenize(QUESTIONS, "spacy-lemma").to_list()
    assert words[0] == ["what", "be", "the", "dog", "'", "name", "?"]


@pytest.mark.parametrize("tokenizer", ["spacy", "spacy-lemma"])
def test_without_spacy_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(BackendError, match=r"got no spaCy.*pip install 'shortcut-miner\[rad\]'"):
        tokenize(QUESTIONS, tokenizer)  # type: ignore[arg-type]


def test_without_a_model_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = pytest.importorskip("spacy")
    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    with pytest.raises(BackendError, match=r"got no English model.*spacy download en_core_web_sm"):
        tokenize(QUESTIONS, "spacy-lemma")
