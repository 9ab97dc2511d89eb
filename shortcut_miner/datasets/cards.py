"""README.md of a folder with tables: what ``datasets.load_dataset(FOLDER)`` needs to open each of them.

Without it the library takes all files of a folder for one table. It also keeps what it has read under the
folder's name and README: a digest of the content in there makes a folder that was built again a new one.
"""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.drafts import literal

CARD = "README.md"
# What a folder is about, if it has it; else the first table.
_FIRST = ("questions", "rules", "scores")
_BLOCK = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A configuration of a data set, as the library calls what has a name, splits and columns.

    Attributes
    ----------
    name : str
        Such as "questions".
    files : mapping of str to sequence of str
        Split -> names of Parquet files, all of the same columns.
    rows : mapping of str to int
        Split -> rows.
    schema : pa.Schema
        Of all files.
    images : tuple of str
        Columns that are images.
    """

    name: str
    files: Mapping[str, Sequence[str]]
    rows: Mapping[str, int]
    schema: pa.Schema
    images: tuple[str, ...] = ()


def write_table_card(folder: Path, command: str, version: str) -> None:
    """Write the card of a folder of tables, a configuration each; none if it has no table with rows.

    A table without rows is left out: the library can't open it.
    """
    configs = [config for path in sorted(folder.glob("*.parquet")) if (config := _table(path)) is not None]
    if not configs:
        return
    names = [config.name for config in configs]
    default = next((name for name in _FIRST if name in names), names[0])
    lines = [f"- `{one.name}`: {one.rows['train']:,} rows of {len(one.schema)} columns" for one in configs]
    text = (
        f"# {command}\n\nWritten by shortcut_miner {version}. Each table opens by its name, as in "
        f'`datasets.load_dataset(FOLDER, "{default}")["train"]`:\n\n' + "\n".join(lines) + "\n"
    )
    write_card(folder, configs, text, default=default)


def _table(path: Path) -> Config | None:
    with pq.ParquetFile(literal(path)) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
    name = path.stem
    return (
        Config(name=name, files={"train": [path.name]}, rows={"train": rows}, schema=schema) if rows else None
    )


def write_card(
    folder: Path,
    configs: Sequence[Config],
    text: str,
    *,
    default: str,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write README.md: what the library reads of `configs`, whose files are in the folder, then a text.

    Parameters
    ----------
    folder : Path
        Where the files are.
    configs : sequence of Config
        In order.
    text : str
        Markdown.
    default : str
        The configuration that opens without a name.
    more : mapping of str to object, optional
        Further fields of the header, such as license.
    """
    import yaml

    header = {
        **(more or {}),
        "configs": [_as_config(folder, one, is_default=one.name == default) for one in configs],
        "dataset_info": [
            {"config_name": one.name, "features": features}
            for one in configs
            if (features := _features(one)) is not None
        ],
    }
    dumped = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=110)
    (folder / CARD).write_text(f"---\n{dumped}---\n\n{text}", encoding="utf-8", newline="\n")


def _as_config(folder: Path, config: Config, *, is_default: bool) -> dict[str, Any]:
    digest = hashlib.sha256()
    for name in (name for names in config.files.values() for name in names):
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return {
        "config_name": config.name,
        "description": f"content {digest.hexdigest()}",
        "data_files": [{"split": split, "path": _paths(names)} for split, names in config.files.items()],
        **({"default": True} if is_default else {}),
    }


def _paths(names: Sequence[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


def _features(config: Config) -> list[dict[str, Any]] | None:
    """Return the columns' types in the library's words; None if there is one that it is left to guess."""
    features = []
    for field in config.schema:
        kind = {"dtype": "image"} if field.name in config.images else _feature(field.type)
        if kind is None:
            return None
        features.append({"name": field.name, **kind})
    return features


def _feature(kind: pa.DataType) -> dict[str, Any] | None:
    """Return an Arrow type in the library's words; large texts and lists become plain ones.

    >>> _feature(pa.large_list(pa.large_string())), _feature(pa.float64())
    ({'list': 'string'}, {'dtype': 'float64'})
    """
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return {"dtype": "string"}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _feature(kind.value_type)
        return inner and {"list": inner.get("dtype", inner)}
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return {"dtype": str(kind)}
    if pa.types.is_floating(kind):
        return {"dtype": f"float{kind.bit_width}"}
    return None
