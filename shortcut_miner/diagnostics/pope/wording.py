"""Questions about an object, and the object of a question."""

import re

from shortcut_miner.diagnostics.pope.config import PLACE, Article

_VOWELS = ("a", "e", "i", "o", "u")
# As POPE's files have it, "imange" of older ones too.
_RELEASED = re.compile(r"^Is there an? (.+) in the iman?ge\?$")


def question_about(name: str, template: str, article: Article) -> str:
    """Return the question whether an object is there.

    Parameters
    ----------
    name : str
        The object.
    template : str
        With {} for it.
    article : {"letter", "reference"}
        Before a, e, i, o and u (letters, not sounds) write "an" for "a" at the object; or for every letter a
        of the template, as POPE's released program does.

    Examples
    --------
    >>> question_about("orange", "Is there a {} in the image?", "letter")
    'Is there an orange in the image?'
    >>> question_about("orange", "Is there a {} in the image?", "reference")
    'Is there an orange in the imange?'
    """
    if name.lower().startswith(_VOWELS):
        old, new = (f"a {PLACE}", f"an {PLACE}") if article == "letter" else ("a", "an")
        template = (
            re.sub(rf"\b{re.escape(old)}", new, template)
            if article == "letter"
            else template.replace(old, new)
        )
    return template.replace(PLACE, name)


def object_of(question: str) -> str | None:
    """Return the object that a question of POPE's files asks about; None of another wording.

    >>> object_of("Is there an orange in the imange?"), object_of("Is there a cat?")
    ('orange', None)
    """
    found = _RELEASED.match(question)
    return found[1] if found else None
