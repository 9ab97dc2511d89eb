"""Where the images of questions are: in a folder, by a pattern of paths or addresses, or nowhere."""

import dataclasses
from collections.abc import Mapping
from typing import Literal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images by id.

    Attributes
    ----------
    kind : {"none", "files", "addresses"}
        "none": nothing was said of images. "files": absolute paths of files that are there. "addresses": what
        a pattern gives for each id, never looked up.
    places : mapping of str to str
        image_id -> path or address; an image that was not found is missing.
    """

    kind: Literal["none", "files", "addresses"] = "none"
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)
