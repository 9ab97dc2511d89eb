"""The import rule: modules import lower layers and siblings of their own folder; rooms never each other."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import shortcut_miner

PACKAGE = Path(shortcut_miner.__file__).parent

LAYERS = (
    ("errors", "schemas"),
    ("storage", "text", "tokenizers", "boxes", "timing", "keyed_draws", "transactions"),
    ("sources", "encoding"),
    ("mining", "scoring"),
    ("diagnostics", "exports"),
    ("report", "demo"),
    ("cli", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
KERNELS = {"math", "numpy", "numba", "typing"}
HEAVY = {"numba", "cupy", "spacy", "altair", "h5py", "dask", "pandas", "mlxtend", "scipy"}


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def folder_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = folder_of(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "shortcut_miner" or len(parts) < 2 or parts[1] not in RANK:
            continue
        is_sibling = parts[1] == own or RANK[parts[1]] == RANK[own]
        assert is_sibling or RANK[parts[1]] < RANK[own], f"{path} imports {name}"
        if own == "diagnostics" and parts[1] == "diagnostics" and len(parts) > 2:
            room = path.relative_to(PACKAGE).parts[1]
            assert parts[2] == room, f"room {room} imports room {parts[2]}"


def test_every_module_has_a_layer() -> None:
    assert {folder_of(path) for path in modules()} <= RANK.keys()


def test_kernels_import_only_numpy_and_numba() -> None:
    for path in (PACKAGE / "mining" / "kernels_numba").glob("*.py"):
        outside = {name.split(".")[0] for name in imports(path) if "kernels_numba" not in name}
        assert outside <= KERNELS, path


def test_heavy_libraries_load_late() -> None:
    allowed = {"numba": {"kernels_numba"}, "scipy": {"intervals.py", "significance.py"}}
    for path in modules():
        for name in imports(path, top_level_only=True):
            library = name.split(".")[0]
            if library in HEAVY:
                assert {path.name, path.parent.name} & allowed.get(library, set()), (
                    f"{path} imports {library}"
                )


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, shortcut_miner; print(sorted({'numba', 'polars', 'cupy', 'spacy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", shortcut_miner.__all__)
def test_public_names_load(name: str) -> None:
    assert getattr(shortcut_miner, name).__doc__
