"""``How many S are REST?`` -> ``Are there N S REST?``: what a tagged question gives, or why it gives nothing.

Rosenberg et al. (ACL 2021), section 2.2 and Table 6: the next word must be a noun by spaCy; the permutation
works where the main verb is *are* and what follows it modifies the noun, or where there is no verb.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.rad.language import is_plural, singular_noun
from shortcut_miner.diagnostics.rad.word_lists import words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

NOT_A_NOUN = "the word after 'How many' is not a noun"
OTHER_VERB = "the main verb is not 'are'"
RELATIVE = "a relative clause stands before 'are'"
NOT_A_MODIFIER = "what follows the noun or 'are' does not modify it"
SINGULAR = "the noun after 'How many' stands in the singular"
SECOND_CLAUSE = "a second clause or question follows"

NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
FIRST = 2  # tokens: How, many, and then the noun
_FINITE = frozenset({"VBP", "VBZ", "VBD", "MD", "VB"})
_FORMS_OF_BE = frozenset({"are", "is", "am", "was", "were", "be"})
_AUXILIARIES = _FORMS_OF_BE | {"do", "does", "did", "have", "has", "had"}
_WH = frozenset({"WDT", "WP", "WP$", "WRB"})
_ADVERBS = frozenset({"RB", "RBR", "RBS"})
_SEEING = (["can", "be", "seen"], ["can", "you", "see"], ["do", "you", "see"])


@dataclass(frozen=True, slots=True)
class Counted:
    """What a "How many" question gives.

    Attributes
    ----------
    reason : str or None
        Why it gives no augmentation.
    form : str
        "are", "are-there", "bare" (nothing but nouns), "no-verb" or "seen" (can be seen, do you see); or one
        of :mod:`.further_forms`.
    plural, singular : str or None
        What follows the number; singular is None where one can't be asked for.
    opening : str or None
        What stands before the number; None: "Are there" or "Is there".
    """

    reason: str | None = None
    form: str | None = None
    plural: str | None = None
    singular: str | None = None
    opening: str | None = None


def parse_how_many(doc: "Doc") -> Counted:
    """Return what a tagged question gives; its last token is the question mark."""
    tokens = doc[: len(doc) - 1]
    if len(tokens) <= FIRST or tokens[FIRST].pos_ != "NOUN":
        return Counted(NOT_A_NOUN)
    return parse_from_noun(tokens, noun_end(tokens, FIRST))


def parse_from_noun(tokens: "Span", head: int) -> Counted:
    """Return what a question gives whose head noun stands at a position."""
    if tokens[head].tag_ == "NN" and any(token.tag_ == "NNS" for token in tokens[FIRST:head]):
        return Counted(NOT_A_MODIFIER)  # "How many tracks exit here?": the tagger took a verb for a noun
    verb = main_verb(tokens, head + 1)
    if verb is None:
        return _without_verb(tokens, head)
    if tokens[verb].lower_ != "are":
        return _seen(tokens, head, verb)
    if any(is_wh(token) for token in tokens[head + 1 : verb]):
        return Counted(RELATIVE)
    rest = tokens[verb + 1 :]
    is_there = len(rest) > 0 and rest[0].lower_ == "there"
    rest = rest[1:] if is_there else rest
    if not (is_there and not len(rest)) and not (is_there or _is_modifier(rest)):
        return Counted(NOT_A_MODIFIER)
    if is_there and len(rest) and not _is_after_there(rest):
        return Counted(NOT_A_MODIFIER)
    if has_second_clause(tokens[head + 1 :]):
        return Counted(SECOND_CLAUSE)
    return counted("are-there" if is_there else "are", tokens, head, verb, rest)


def _seen(tokens: "Span", head: int, verb: int) -> Counted:
    """Return what "How many S can be seen REST?" gives, and "can you see", "do you see"."""
    said = [token.lower_ for token in tokens[verb : verb + 3]]
    rest = tokens[verb + 3 :]
    if said not in _SEEING or any(is_wh(token) for token in tokens[head + 1 : verb]):
        return Counted(OTHER_VERB)
    if tokens[head].tag_ == "NN" and not is_counted(tokens[head].lower_):
        return Counted(SINGULAR)
    if len(rest) and not _is_modifier(rest):
        return Counted(NOT_A_MODIFIER)
    if has_second_clause(tokens[head + 1 :]):
        return Counted(SECOND_CLAUSE)
    return counted("seen", tokens, head, verb, rest, state="visible")


def is_counted(noun: str) -> bool:
    """Return whether a noun can stand after a number above one."""
    return is_plural(noun) or noun in words("modifiers", "nouns", "one_form")


def _without_verb(tokens: "Span", head: int) -> Counted:
    rest = tokens[head + 1 :]
    if not len(rest):
        return counted("bare", tokens, head, len(tokens), rest)
    follows_possessive = rest[0].tag_ == "POS" and (len(rest) == 1 or _is_modifier(rest[1:]))
    is_list = rest[0].tag_ == "CC" and len(rest) > 1 and rest[1].tag_ in NOUNS
    if not (follows_possessive or is_list or _is_modifier(rest)):
        return Counted(NOT_A_MODIFIER)
    if has_second_clause(rest):
        return Counted(SECOND_CLAUSE)
    return counted("no-verb", tokens, head, len(tokens), rest[:0])


def noun_end(tokens: "Span", at: int) -> int:
    """Return the position of the head noun: the last of the nouns that follow each other from `at` on."""
    while at + 1 < len(tokens):
        following = tokens[at + 1]
        is_joint = following.tag_ in ("HYPH", "POS") and at + 2 < len(tokens)
        if following.tag_ in NOUNS:
            at += 1
        elif is_joint and tokens[at + 2].tag_ in NOUNS:
            at += 2
        else:
            return at
    return at


def main_verb(tokens: "Span", start: int) -> int | None:
    """Return the position of the first finite verb; a past tense before a later verb is a participle."""
    for at in range(start, len(tokens)):
        token = tokens[at]
        if not is_finite(token):
            continue
        if token.tag_ == "VB" and tokens[at - 1].tag_ == "TO":
            continue
        if token.tag_ == "VBD" and token.lower_ not in _AUXILIARIES:
            later = main_verb(tokens, at + 1)
            return at if later is None else later
        return at
    return None


def _is_modifier(rest: "Span") -> bool:
    """Return whether this can follow a noun: a preposition, participle, passing state or place."""
    at = 0
    while at < len(rest) and rest[at].tag_ in _ADVERBS:
        at += 1
    if at == len(rest):
        return at > 0 and rest[at - 1].lower_ in words("modifiers", "places")
    token = rest[at]
    following = rest[at + 1].lower_ if at + 1 < len(rest) else ""
    if token.lower_ in words("modifiers", "states") or token.text.lower() == "side":
        return True
    if token.tag_ in ("VBN", "VBD"):
        return token.lower_ not in words("modifiers", "lasting_participles")
    if token.tag_ == "IN":
        return token.lower_ not in ("that", "if", "because", "while")
    if token.tag_ in ("JJ", "JJR"):
        return following in words("modifiers", "complements")
    return token.tag_ in ("VBG", "RP", "TO")


def _is_after_there(rest: "Span") -> bool:
    """Return whether this can follow "are there": not a noun phrase of its own."""
    return rest[0].tag_ not in ("DT", "PRP", "PRP$", *NOUNS, "CD", "EX") and rest[0].text not in "\"'"


def has_second_clause(rest: "Span") -> bool:
    """Return whether a conjunction or comma leads to a verb or a question word."""
    for at in range(len(rest) - 1):
        if rest[at].tag_ == "CC" or rest[at].text == ",":
            following = rest[at + 1]
            if following.tag_ in ("VBP", "VBZ", "MD", "WP", "WRB") or following.lower_ in _AUXILIARIES:
                return True
            if any(token.tag_ == "WRB" for token in rest[at + 1 : at + 4]):
                return True
            if following.tag_ == "PRP" and any(token.tag_ in _FINITE for token in rest[at + 2 : at + 4]):
                return True
    return False


def is_finite(token: "Token") -> bool:
    """Return whether a word may be a sentence's verb, or helps it."""
    return token.tag_ in _FINITE or token.lower_ in _AUXILIARIES


def is_wh(token: "Token") -> bool:
    """Return whether a word opens a question or a relative clause."""
    return token.tag_ in _WH or token.lower_ == "that"


def counted(form: str, tokens: "Span", head: int, verb: int, rest: "Span", state: str = "") -> Counted:
    """Return what follows the number: all words up to the verb, a state such as "visible", and the rest."""
    before = tokens[FIRST:head].text_with_ws if head > FIRST else ""
    noun = tokens[head]
    after = tokens[head + 1 : verb].text
    following = " ".join(filter(None, (state, rest.text if len(rest) else "")))
    tail = _joined(f"{noun.whitespace_}{after}" if after else "", following)
    plural = f"{before}{noun.text}{tail}"
    singular = None
    if _allows_one([*tokens[head + 1 : verb], *rest]):
        one = _singular_head(noun, tokens, head)
        if one is not None:
            # "TV's" is a plural too: its ending goes.
            is_possessive = after.startswith(("'s", "\u2019s"))
            singular = f"{before}{one}{tail[2:] if is_possessive else tail}"
    return Counted(None, form, plural, singular)


def _joined(left: str, right: str) -> str:
    return f"{left} {right}" if right else left


def _singular_head(noun: "Token", tokens: "Span", head: int) -> str | None:
    following = tokens[head + 1] if head + 1 < len(tokens) else None
    if following is not None and (following.tag_ in ("CC", "SYM") or following.text in (",", "/", "(", "&")):
        return None  # "cats and dogs" has no singular
    if not noun.text.replace("-", "").isalnum():
        return None
    # Taggers take some plurals for singulars; after "how many" an ending in s tells.
    is_plural = noun.tag_ in ("NNS", "NNPS") or noun.lower_.endswith("s")
    return singular_noun(noun.text) if is_plural else noun.text


def _allows_one(listed: "list[Token]") -> bool:
    """Return whether the rest of the question also fits one: no plural verb, nothing done as a group."""
    has_plural = any(
        token.tag_ == "VBP" or token.lower_ in ("are", "were", "have", "do", "themselves") for token in listed
    )
    has_group = any(token.lower_ in words("modifiers", "groups") for token in listed)
    texts = " ".join(token.lower_ for token in listed)
    return not (
        has_plural or has_group or "each other" in texts or "one another" in texts or "side by side" in texts
    )
