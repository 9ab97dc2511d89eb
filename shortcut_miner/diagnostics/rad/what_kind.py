"""``What kind of S is this?`` -> ``Is this ...?``: the surface that fits subject and answer.

Rosenberg et al. (ACL 2021) give one rule in Table 1 (``Is this S O?``) and other surfaces in Table 6; the
mode ``grammar`` makes the latter.
"""

import re
from functools import cache

from shortcut_miner.diagnostics.rad.colors import color_set
from shortcut_miner.diagnostics.rad.config import Mode
from shortcut_miner.diagnostics.rad.language import is_plural, singular_noun, with_article
from shortcut_miner.diagnostics.rad.word_lists import words

MAX_SUBJECT_WORDS = 3
_OPENS_A_SENTENCE = re.compile(
    r"(?:it|its|they|this|that|these|those|he|she|i|looks?|appears?|seems?)\b", re.IGNORECASE
)
_ARTICLES = frozenset({"a", "an", "the"})
_DENIALS = ("not ", "no ", "can't", "cannot", "cant ", "don't", "dont ", "i don't", "i can't")


def has_article(subject: str) -> bool:
    """Return whether a subject holds an article, as in "kind of an exposure".

    >>> has_article("an exposure"), has_article("animal")
    (True, False)
    """
    return not _ARTICLES.isdisjoint(subject.lower().split())


def names_a_kind(answer: str) -> bool:
    """Return whether an answer names a kind at all.

    >>> names_a_kind("elephant"), names_a_kind("not food"), names_a_kind("unknown")
    (True, False, False)
    """
    lower = answer.strip().lower()
    return bool(lower) and lower not in words("kinds", "non_answers") and not lower.startswith(_DENIALS)


def is_a_sentence(answer: str) -> bool:
    """Return whether an answer is a sentence of its own, in which a kind may be named.

    >>> is_a_sentence("it's a cow"), is_a_sentence("italian"), is_a_sentence("looks like a dog")
    (True, False, True)
    """
    return _OPENS_A_SENTENCE.match(answer) is not None


def is_of_many(subject: str) -> bool:
    """Return whether a subject stands in the plural, as in "What type of animals is this".

    >>> is_of_many("animals"), is_of_many("body of water"), is_of_many("electronics")
    (True, False, False)
    """
    head = _head(subject)
    return is_plural(head) and head not in words("kinds", "subjects", "mass")


def is_a_property(answer: str) -> bool:
    """Return whether an answer may be true of any kind of thing, whatever else it is: an adjective or colour.

    >>> is_a_property("outdoor"), is_a_property("white"), is_a_property("german shepherd")
    (True, True, False)
    """
    lower = answer.lower()
    return lower in words("kinds", "adjectives") | words("kinds", "nationalities") or _is_color(lower)


@cache
def what_kind_surface(subject: str, answer: str, mode: Mode, *, with_brands: bool = False) -> tuple[str, str]:
    """Return the yes/no question for a subject and an answer, and the name of its form.

    Parameters
    ----------
    subject : str
        S of ``What kind of S is this?``.
    answer : str
        The answer asked for.
    mode : {"grammar", "literal"}
        The surface that fits first, or always ``Is this S O?``.
    with_brands : bool
        Put names of makers and airlines before the subject: "an emirates plane".

    Returns
    -------
    question, form : str
        form is "literal", "answer", "answer-subject", "subject-answer" or "subject-a-answer".

    Examples
    --------
    >>> what_kind_surface("animal", "elephant", "grammar")
    ('Is this animal an elephant?', 'subject-a-answer')
    >>> what_kind_surface("event", "skiing", "grammar")
    ('Is this a skiing event?', 'answer-subject')
    >>> what_kind_surface("food", "breakfast", "grammar")
    ('Is this food breakfast?', 'subject-answer')
    >>> what_kind_surface("truck", "garbage truck", "grammar")
    ('Is this a garbage truck?', 'answer')
    """
    if mode == "literal":
        return f"Is this {subject} {answer}?", "literal"
    head = _head(subject)
    last = answer.split()[-1].lower()
    if last == head:
        return f"Is this {_with_fitting_article(answer, head)}?", "answer"
    is_brand = with_brands and _is_brand(answer.lower(), head)
    if is_brand or _goes_before(answer.lower(), subject.lower(), head):
        return f"Is this {_with_fitting_article(f'{answer} {subject}', head)}?", "answer-subject"
    if answer.split()[0].lower() in _ARTICLES or _is_mass(answer.lower()) or is_plural(last):
        return f"Is this {subject} {answer}?", "subject-answer"
    return f"Is this {subject} {with_article(answer)}?", "subject-a-answer"


def content_words(text: str) -> frozenset[str]:
    """Return the words of an answer or subject in the singular, for comparison.

    >>> sorted(content_words("Vegetables and a t-shirt"))
    ['shirt', 't', 'vegetable']
    """
    found = re.findall(r"[^\W_]+", text.lower())
    return frozenset((singular_noun(one) or one) for one in found if one not in _ARTICLES | {"and", "of"})


@cache
def _head(subject: str) -> str:
    """Return the last word before "of", or the last word.

    >>> _head("body of water"), _head("traffic sign")
    ('body', 'sign')
    """
    lower = subject.lower().split()
    return lower[lower.index("of") - 1] if "of" in lower[1:] else lower[-1]


def _with_fitting_article(phrase: str, head: str) -> str:
    """Return a phrase after its article, or as it is where its head noun takes none."""
    has_none = head in words("kinds", "subjects", "mass") or is_plural(head)
    has_one = phrase.split()[0].lower() in _ARTICLES
    return phrase if has_none or has_one else with_article(phrase)


def _goes_before(answer: str, subject: str, head: str) -> bool:
    """Return whether the answer says which kind as a word before the subject."""
    if answer.split()[0] in _ARTICLES:
        return False
    if is_a_property(answer) or answer in words("kinds", "answers", "attributive"):
        return True
    if head in words("kinds", "subjects", "named_by_activity"):
        return False
    last = answer.split()[-1]
    is_activity = last.endswith("ing") and last not in words("kinds", "things_in_ing")
    if is_activity or answer in words("kinds", "materials"):
        return True
    return head in words("kinds", "subjects", "compound") and not (
        " of " in subject or is_plural(last) or _names_itself(answer, head)
    )


def _is_brand(answer: str, head: str) -> bool:
    if answer in words("kinds", "answers", "brands_of_things_made"):
        return head in words("kinds", "subjects", "made")
    return answer in words("kinds", "answers", "brands")


def _names_itself(answer: str, head: str) -> bool:
    """Return whether an answer says what a room or building is, rather than of which kind."""
    subjects = words("kinds", "subjects", "named_by_nouns")
    return head in subjects and answer in words("kinds", "subjects", "own_nouns")


@cache
def _is_color(answer: str) -> bool:
    return color_set(answer) is not None


def _is_mass(answer: str) -> bool:
    last = answer.split()[-1]
    mass = words("kinds", "mass")
    return (
        answer in mass
        or last in mass
        or (last.endswith("ing") and last not in words("kinds", "things_in_ing"))
    )
