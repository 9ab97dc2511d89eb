"""What a Hugging Face dataset's folder says of its tables: their configurations, and names of classes."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.class_labels import Classes, classes_in_features
from shortcut_miner.sources.opening.files import open_source, system_errors
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS

CARD, INFO = "README.md", "dataset_info.json"
GIVE_FILES = "Give its files by name"
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


def declared_classes(folder: Path, files: Path) -> Classes:
    """Return the classes that a dataset's card, or a record of its features, tells of.

    Parameters
    ----------
    folder : Path
        Where the card is.
    files : Path
        Where the tables are, with the record that ``save_to_disk`` writes.
    """
    import msgspec

    info: object = {}
    for place in (files, folder):
        if (place / INFO).is_file():
            try:
                info = msgspec.json.decode(open_source(place / INFO).content)
            except DECODE_ERRORS as error:
                raise SourceError(
                    f"{place / INFO}: got no JSON, expected the features of a dataset. {GIVE_FILES}."
                ) from error
            break
    else:
        config = default_config(folder) or {}
        listed = _header(folder / CARD).get("dataset_info")
        entries = [one for one in (listed if isinstance(listed, list) else [listed]) if isinstance(one, dict)]
        names = (config.get("config_name", "default"), None)
        named = [one for one in entries if one.get("config_name") in names]
        info = (named or (entries if len(entries) == 1 else [{}]))[0]
    return classes_in_features(info.get("features") if isinstance(info, dict) else None)


def default_config(folder: Path) -> Mapping[str, Any] | None:
    """Return the default of the configurations that a dataset's card names; None if it names none.

    Raises
    ------
    SourceError
        Several, none of them the default; or a card that can't be read.
    """
    card = folder / CARD
    configs = _header(card).get("configs")
    if not configs:
        return None
    if not isinstance(configs, list) or not all(isinstance(one, dict) for one in configs):
        raise SourceError(f"{card}: got configs that are no list, expected one entry each. {GIVE_FILES}.")
    named = [one for one in configs if one.get("default") or one.get("config_name") == "default"]
    if len(named or configs) > 1:
        shown = examples([one.get("config_name") for one in configs], limit=20)
        raise SourceError(f"{card}: got the configurations {shown}, expected one default. {GIVE_FILES}.")
    chosen: Mapping[str, Any] = (named or configs)[0]
    return chosen


def _header(card: Path) -> Mapping[str, Any]:
    """Return the header of a dataset's card; empty without one."""
    if not card.is_file():
        return {}
    with system_errors(str(card), card):
        front = _FRONT_MATTER.match(card.read_text(encoding="utf-8", errors="replace"))
    if front is None:
        return {}
    import yaml

    try:
        parsed = yaml.safe_load(front[1])
    except yaml.YAMLError as error:
        raise SourceError(
            f"{card}: got a header that is no YAML, expected a dataset card. {GIVE_FILES}."
        ) from error
    return parsed if isinstance(parsed, dict) else {}
