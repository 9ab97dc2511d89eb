"""The notebooks run, show what is stored in them, and need public names alone."""

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shortcut_miner as sm

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
REFRESH = NOTEBOOKS / "refresh.py"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
LIBRARIES = {"collections", "json", "numpy", "pathlib", "PIL", "polars", "random", "shortcut_miner"}
needs_jupyter = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("nbclient", "ipykernel", "PIL"))), reason="needs the docs extra"
)


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    return found


def code(name: str) -> ast.Module:
    cells = [cell for cell in read(name)["cells"] if cell["cell_type"] == "code"]
    return ast.parse("\n".join("".join(cell["source"]) for cell in cells))


def outputs(name: str) -> Iterator[dict[str, Any]]:
    for cell in read(name)["cells"]:
        yield from cell.get("outputs", ())


def test_there_are_notebooks() -> None:
    assert {"five-minute-tour", "regenerate-vqa-ce", "your-own-dataset", "vlm-on-pixels"} <= {*NAMES}


@needs_jupyter
@pytest.mark.slow
@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("name", NAMES)
def test_it_shows_what_is_stored(name: str) -> None:
    done = subprocess.run([sys.executable, REFRESH, "--check", name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_public_names_only(name: str) -> None:
    nodes = [*ast.walk(code(name))]
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {module.split(".")[0] for module in imported} <= LIBRARIES
    assert not any(module.startswith("shortcut_miner.") for module in imported)
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    of_package = {
        node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "sm"
    }
    assert of_package
    assert of_package <= {*sm.__all__}
    assert not any(node.attr.startswith("_") for node in attributes)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_is_whole_and_of_no_machine(name: str) -> None:
    cells = [cell for cell in read(name)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    shown = [output for output in outputs(name) if output["output_type"] != "error"]
    assert len(shown) == len([*outputs(name)]) > 3
    texts = json.dumps(
        [{kind: text for kind, text in one.get("data", one).items() if "image" not in kind} for one in shown]
    )
    assert not any(start in texts for start in ("/home/", "/root/", "/tmp/", "/Users/", "C:\\\\"))


@needs_jupyter
def test_what_differs_is_told_and_what_must_not_be_stored_is_refused() -> None:
    spec = importlib.util.spec_from_file_location("refresh", REFRESH)
    assert spec is not None and spec.loader is not None
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    import nbformat

    def showing(text: str, stream: str = "stdout") -> Any:
        output = nbformat.v4.new_output("stream", name=stream, text=text)
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("pass", outputs=[output])])

    told = refresh.difference("mine", showing("2,834 rules\n"), showing("2,835 rules\n"))
    assert told[2:] == ["@@ -1 +1 @@", "-cell 0: 2,834 rules", "+cell 0: 2,835 rules"]
    assert refresh.difference("mine", showing("same"), showing("same")) == []
    with pytest.raises(refresh.RefusedError, match="cell 0: got a path of this machine"):
        refresh.refuse(showing("in /somewhere/here"), ["/somewhere"])
    with pytest.raises(refresh.RefusedError, match="cell 0: got a warning"):
        refresh.refuse(showing("careful", "stderr"), ["/somewhere"])
    refresh.refuse(showing("in a folder"), ["/somewhere"])
