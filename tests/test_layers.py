"""The import rule: modules import lower layers and their own folder, not in circles; rooms not each other."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import shortcut_miner

PACKAGE = Path(shortcut_miner.__file__).parent

LAYERS = (
    (
        "version",
        "errors",
        "options",
        "schemas",
        "kernel_cache",
        "kernel_options",
        "kernel_pointers",
        "kernel_compilers",
        "answer_text",
    ),
    (
        "drafts",
        "dry_runs",
        "columnar",
        "free_memory",
        "storage",
        "journal",
        "claims",
        "publishing",
        "single_files",
        "text",
        "tokenizers",
        "boxes",
        "drawing",
        "timing",
        "keyed_draws",
        "transactions",
        "spools",
        "frame_blocks",
        "work_folders",
        "content_digest",
        "kernels_numba",
        "row_merging",
        "row_files",
        "row_arrays",
    ),
    ("sources", "item_lists", "encoding", "encoding_batches", "provisional_rows"),
    ("mining", "scoring"),
    ("datasets",),
    ("diagnostics",),
    ("rooms", "builders"),
    ("exports",),
    ("report",),
    ("comparing", "leaking", "recipes", "demo", "recorded_inputs", "repeating", "verifying"),
    ("cli", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
KERNEL_LIBRARIES = {"math", "numpy", "numba", "cupy", "typing"}
HEAVY = {"numba", "cupy", "spacy", "altair", "h5py", "dask", "pandas", "mlxtend", "scipy", "sklearn"}


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def kernel_folders() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("kernels_*") if path.is_dir())


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return imported_names(tree.body if top_level_only else ast.walk(tree), path)


def imported_names(nodes: Iterable[ast.AST], path: Path) -> set[str]:
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
    may_look_aside = path.parent == PACKAGE  # a single module may import others of its rank
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "shortcut_miner" or len(parts) < 2 or parts[1] not in RANK:
            continue
        is_beside = parts[1] == own or (may_look_aside and RANK[parts[1]] == RANK[own])
        assert is_beside or RANK[parts[1]] < RANK[own], f"{path} imports {name}"
        if own == "diagnostics" and parts[1] == "diagnostics" and len(parts) > 2:
            room = path.relative_to(PACKAGE).parts[1]
            assert parts[2] == room, f"room {room} imports room {parts[2]}"


def test_every_module_has_a_layer() -> None:
    assert {folder_of(path) for path in modules()} <= RANK.keys()


# ---- circles ----


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module that may run, in functions too: not those below ``if TYPE_CHECKING:``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from run_time_nodes(node)


def module_graph(nodes: Callable[[ast.AST], Iterator[ast.AST]]) -> dict[str, set[str]]:
    """Return the modules of the package, each with those that these nodes of it import."""
    paths = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    graph = {}
    for module, path in paths.items():
        names = imported_names(nodes(ast.parse(path.read_text(encoding="utf-8"))), path)
        # "from a import b" names a module or something in one.
        graph[module] = {name if name in paths else name.rpartition(".")[0] for name in names} & paths.keys()
    return graph


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Return the groups of modules of which each reaches all others of its group."""
    reached = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(module_graph(run_time_nodes)) == set()


def test_no_modules_need_each_others_types_in_a_circle() -> None:
    graph = module_graph(ast.walk)
    graph["shortcut_miner"] = set()  # its public names, loaded on first use, are those of all layers
    assert circles(graph) == set()


def test_a_circle_is_seen() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"e"}}
    assert circles(graph) == {frozenset("bc"), frozenset("e")}


def test_imports_in_functions_run_and_those_for_types_do_not() -> None:
    source = """
import a
if TYPE_CHECKING:
    import b
def f():
    from c import d
    try:
        if x:
            import e
    except ImportError:
        import f
"""
    assert imported_names(run_time_nodes(ast.parse(source)), Path("x.py")) == {"a", "c.d", "e", "f"}


# ---- libraries ----


def test_kernels_import_only_numeric_libraries_and_their_own_folder() -> None:
    assert {folder.parent.name for folder in kernel_folders()} >= {"mining", "swapmix", "slices"}
    for folder in kernel_folders():
        own = f"{name_of(folder)}."
        for path in set(folder.rglob("*.py")) - {folder / "__init__.py"}:  # that one chooses the cache
            # These hold what numba is told, and nothing of anybody's method.
            here = (own, "shortcut_miner.kernel_options.", "shortcut_miner.kernel_pointers.")
            outside = {name for name in imports(path) if not name.startswith(here)}
            assert {name.split(".")[0] for name in outside} <= KERNEL_LIBRARIES, f"{path} imports {outside}"


def test_heavy_libraries_load_late() -> None:
    allowed = {
        "numba": {"kernels_numba", "kernel_options.py", "kernel_pointers.py", "kernel_compilers.py"},
        "cupy": {"kernels_cupy"},
        "scipy": {"bootstrap.py", "paired_tests.py", "power.py", "significance.py"},
        "altair": {"charts"},
    }
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
