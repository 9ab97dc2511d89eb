"""Forms of "How many" questions beyond the paper's: words before the noun, "does X have", "S have", "S wear".

The paper asks for a noun right after "How many" and for the main verb *are*. The same word classes tell the
noun and the verb of these questions too.
"""

import dataclasses
import itertools
from collections.abc import Collection
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.rad.config import PAPER_FORMS
from shortcut_miner.diagnostics.rad.how_many import (
    FIRST,
    NOT_A_MODIFIER,
    NOT_A_NOUN,
    NOUNS,
    OTHER_VERB,
    SECOND_CLAUSE,
    SINGULAR,
    Counted,
    counted,
    has_second_clause,
    is_counted,
    is_finite,
    is_wh,
    main_verb,
    noun_end,
    parse_from_noun,
    parse_how_many,
)
from shortcut_miner.diagnostics.rad.language import is_plural
from shortcut_miner.diagnostics.rad.word_lists import words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

MODIFIED, DOES_HAVE, HAVE, SEEN = "modified", "does-have", "have", "seen"
_BEFORE_A_NOUN = frozenset({"JJ", "JJS", "VBN", "VBG", "CD", "CC", "HYPH", ",", *NOUNS})
_AFTER_A_NOUN = frozenset({"IN", "RB", "TO", "VBG", "VBN", "WDT"})
_ASKED = frozenset({"i", "we", "you"})
_STATES = {"have": "with", "wear": "wearing"}


def parse_forms(doc: "Doc", forms: Collection[str]) -> Counted:
    """Return what a tagged "How many" question gives where these forms are chosen.

    Where nothing but the paper's are, this is what :func:`.how_many.parse_how_many` gives, and questions
    "can be seen" have another main verb than *are*.
    """
    found = parse_how_many(doc)
    if found.form == SEEN and SEEN not in forms:
        found = Counted(OTHER_VERB)
    if {*forms} <= {*PAPER_FORMS}:
        return found
    if found.reason in (NOT_A_NOUN, OTHER_VERB) and not {MODIFIED, DOES_HAVE, HAVE}.isdisjoint(forms):
        further = parse_further(doc)
        return further if further.reason is not None or further.form in forms else found
    if found.reason is None and not _is_plural(doc, noun_end(doc, FIRST)):
        return Counted(SINGULAR)
    return found


def parse_further(doc: "Doc") -> Counted:
    """Return what a question gives whose next word is no noun, or whose main verb is not *are*.

    ``How many red buses are REST?`` is asked as the paper's forms are ("modified"), ``How many S does X have
    REST?`` as ``Does X have N S REST?`` ("does-have"), ``How many S have REST?`` as ``Are there N S with
    REST?`` and ``How many S wear REST?`` as ``Are there N S wearing REST?`` (both "have").
    """
    tokens = doc[: len(doc) - 1]
    head = _head_noun(tokens)
    if head is None:
        return Counted(NOT_A_NOUN)
    verb = main_verb(tokens, head + 1)
    if verb is not None and tokens[verb].lower_ in ("do", "does") and "have" in _lower(tokens[verb:]):
        found = _does_have(tokens, head, verb)
    elif verb is not None and tokens[verb].lower_ in _STATES:
        found = _have(tokens, head, verb)
    else:
        found = _modified(tokens, head)
    if found.reason is None and not _is_plural(tokens, head):
        return Counted(SINGULAR)
    if any(token.lower_ in words("modifiers", "kinds_of_many") for token in tokens[FIRST:head]):
        return dataclasses.replace(found, singular=None)
    return found


def _head_noun(tokens: "Span") -> int | None:
    """Return where the head noun stands: behind "How many" and words that may stand before a noun."""
    at = FIRST
    if at < len(tokens) and tokens[at].lower_ in words("modifiers", "nouns", "verbs_before"):
        at += 1  # "stop signs": taken for a verb
    while at < len(tokens) and tokens[at].tag_ in _BEFORE_A_NOUN - NOUNS:
        at += 1
    if at == len(tokens) or tokens[at].tag_ not in NOUNS:
        return None
    return noun_end(tokens, at)


def _is_plural(tokens: "Doc | Span", head: int) -> bool:
    """Return whether the head noun is a plural, or more of its phrase follows: "paper vending machines"."""
    noun = tokens[head]
    goes_on = head + 1 < len(tokens) and tokens[head + 1].tag_ in ("POS", "VBG", "CC", "JJ", "HYPH")
    ends_so = noun.lower_.endswith("s") and not noun.lower_.endswith(("ss", "us", "is"))
    return noun.tag_ in ("NNS", "NNPS") or goes_on or ends_so or is_counted(noun.lower_)


def _modified(tokens: "Span", head: int) -> Counted:
    found = parse_from_noun(tokens, head)
    return found if found.form is None else dataclasses.replace(found, form=MODIFIED)


def _does_have(tokens: "Span", head: int, verb: int) -> Counted:
    have = verb + _lower(tokens[verb:]).index("have")
    asked, rest = tokens[verb + 1 : have], tokens[have + 1 :]
    between = [*tokens[head + 1 : verb], *asked]
    if not len(asked) or any(is_wh(token) or is_finite(token) for token in between):
        return Counted(OTHER_VERB)
    if not _ASKED.isdisjoint(_lower(asked)) or not _agrees(asked, tokens[verb].lower_):
        return Counted(OTHER_VERB)
    if len(rest) and (rest[0].tag_ in ("TO", "DT", "CC", "PRP", "VB", *NOUNS) or rest[0].lower_ == "been"):
        return Counted(NOT_A_MODIFIER)
    if has_second_clause(tokens[head + 1 :]):
        return Counted(SECOND_CLAUSE)
    found = counted(DOES_HAVE, tokens, head, verb, rest)
    return dataclasses.replace(found, opening=f"{tokens[verb].lower_.capitalize()} {asked.text} have")


def _agrees(asked: "Span", verb: str) -> bool:
    """Return whether "does" or "do" fits its subject: not "does the donuts have"."""
    ahead = list(itertools.takewhile(lambda token: token.tag_ not in _AFTER_A_NOUN, asked))
    while len(ahead) > 1 and ahead[-1].lower_ in ("all", "both", "each"):
        ahead.pop()
    if not ahead or ahead[-1].lower_ in words("modifiers", "nouns", "one_form"):
        return bool(ahead)
    last = ahead[-1]
    is_many = (
        last.tag_ in ("NNS", "NNPS")
        or last.lower_ in ("they", "these", "those")
        or is_plural(last.lower_)
        or any(token.tag_ == "CC" for token in ahead)
    )
    return is_many == (verb == "do")


def _have(tokens: "Span", head: int, verb: int) -> Counted:
    between, rest = tokens[head + 1 : verb], tokens[verb + 1 :]
    if any(is_wh(token) or token.tag_ in ("VBG", "VBN", "RB") for token in between):
        return Counted(OTHER_VERB)
    if not len(rest) or not _is_object(rest):
        return Counted(NOT_A_MODIFIER)
    if "it" in _lower(rest) or (rest[0].lower_ == "the" and all(token.tag_ in NOUNS for token in rest[1:])):
        return Counted(NOT_A_MODIFIER)  # "How many floors have the bus?"
    if has_second_clause(tokens[head + 1 :]):
        return Counted(SECOND_CLAUSE)
    found = counted(HAVE, tokens, head, verb, rest, state=_STATES[tokens[verb].lower_])
    is_of_many = not words("modifiers", "of_many").isdisjoint(_lower(rest))
    return dataclasses.replace(found, singular=None) if is_of_many else found


def _is_object(rest: "Span") -> bool:
    """Return whether a noun phrase follows "have": not "have been peeled", "have to", "have on hats"."""
    if rest[0].tag_ in ("VBN", "VBD"):
        return len(rest) > 1 and rest[0].lower_.endswith("ed") and rest[1].tag_ in ("NNS", "NNPS")
    return rest[0].tag_ in ("DT", "PRP$", "JJ", "JJR", "JJS", "CD", "VBG", "NN", "NNS", "NNP", "NNPS", "PDT")


def _lower(tokens: "Span") -> list[str]:
    return [token.lower_ for token in tokens]
