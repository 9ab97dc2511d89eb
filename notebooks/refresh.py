"""Run the notebooks, each in an empty folder, and store what they show, or compare it with what is stored.

    python notebooks/refresh.py [NAME ...]           # store: after a change of a notebook or of what it shows
    python notebooks/refresh.py --check [NAME ...]   # exit code 1 where a text differs

Needs the extra ``docs``. A notebook that shows a warning or a path of this machine is refused. Images are
stored but not compared: their bytes depend on the version of the library that packs them.
"""

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
Notebook = Any  # nbformat's dict with attributes


class RefusedError(Exception):
    """A notebook shows what must not be stored."""


def main() -> int:
    """Run the notebooks that are named, all if none is, and return the exit code."""
    parser = argparse.ArgumentParser(description="Run the notebooks and store or check what they show.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="without .ipynb; all if none is given")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, and write nothing")
    given = parser.parse_args()
    differences = []
    for name in given.names or sorted(path.stem for path in HERE.glob("*.ipynb")):
        path = HERE / f"{name}.ipynb"
        stored = nbformat.read(path, as_version=4)
        fresh = run(stored)
        if given.check:
            differences += difference(name, stored, fresh)
        else:
            nbformat.write(fresh, path)
    if differences:
        print("\n".join(differences), file=sys.stderr)
        print("If that is right, store it: python notebooks/refresh.py", file=sys.stderr)
    return 1 if differences else 0


def run(notebook: Notebook) -> Notebook:
    """Return a notebook with the outputs of a run in an empty folder, and nothing that depends on the run.

    Raises
    ------
    RefusedError
        A warning, or a path of this machine, is among the outputs.
    nbclient.exceptions.CellExecutionError
        A cell fails.
    """
    fresh = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    for at, cell in enumerate(notebook.cells):
        of_kind = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        fresh.cells.append(of_kind(cell.source, id=f"cell-{at:02d}"))
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            fresh, timeout=900, kernel_name="python3", record_timing=False, resources=resources
        )
        client.execute(env={**os.environ, "PYTHONPATH": str(CHECKOUT)})
    refuse(fresh, (folder, str(CHECKOUT), str(Path.home()), sys.prefix))
    for cell in fresh.cells:
        for output in cell.get("outputs", ()):
            output.pop("transient", None)
            output.get("data", {}).pop("image/jpeg", None)  # beside the same as PNG
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    fresh.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    return fresh


def refuse(notebook: Notebook, paths: Sequence[str]) -> None:
    """Raise RefusedError if a notebook shows a warning, or one of these paths."""
    for at, text in texts(notebook):
        for path in paths:
            if path in text:
                raise RefusedError(f"cell {at}: got a path of this machine, expected none: {path}")
    for at, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                raise RefusedError(f"cell {at}: got a warning, expected none: {output.text}")


def texts(notebook: Notebook) -> Iterator[tuple[int, str]]:
    """Give the number of a cell and one text that it shows: printed, or a value as text or HTML."""
    for at, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if "text" in output:
                yield at, output.text
            for kind, value in sorted(output.get("data", {}).items()):
                if kind.startswith("text/") and not value.startswith("<PIL."):
                    yield at, value


def difference(name: str, stored: Notebook, fresh: Notebook) -> list[str]:
    """Return the lines of a diff of what two runs of one notebook show; none if they agree."""
    before, after = (
        [f"cell {at}: {line}" for at, text in texts(one) for line in text.splitlines()]
        for one in (stored, fresh)
    )
    return list(
        difflib.unified_diff(before, after, f"{name}: stored", f"{name}: run again", lineterm="", n=1)
    )


if __name__ == "__main__":
    sys.exit(main())
