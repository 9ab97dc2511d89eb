"""What evaluators that run tasks are told alike: the prompt, names of tasks, and where results go."""

import re
from collections.abc import Mapping

POST_PROMPT = "\nAnswer the question using a single word or phrase."


def task_name(*parts: str) -> str:
    """Return a name of a task from those of a room, a set and a split, of letters, digits and underscores.

    >>> task_name("vqa-ce", "vqa-ce"), task_name("rad", "augmentations"), task_name("vqa_ce", "easy")
    ('vqa_ce', 'rad_augmentations', 'vqa_ce_easy')
    """
    plain = [re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_") for part in parts]
    return "_".join(dict.fromkeys(plain))


def result_places(tasks: Mapping[str, str]) -> dict[str, str]:
    """Return where the results of each set go, by the names of their tasks: beside the folder of the export.

    >>> result_places({"vqa-ce": "vqa_ce"})
    {'vqa-ce': '{out}-results'}
    >>> result_places({"augmentations": "rad_augmentations", "originals": "rad_originals"})["originals"]
    '{out}-results/rad_originals'
    """
    several = len(tasks) > 1
    return {name: "{out}-results" + (f"/{task}" if several else "") for name, task in tasks.items()}
