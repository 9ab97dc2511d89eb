"""Modules of this package as one text that runs where the package is not installed."""

import ast
import sys
from collections.abc import Iterable
from importlib.resources import files

_PACKAGE = "shortcut_miner"


def standalone_text(*names: str) -> str:
    """Return the text of modules, one after the other, as one module.

    Parameters
    ----------
    *names : str
        Files below the package, such as "answer_text.py", each after those that it imports. Of this package
        they may import these modules alone, by ``from ... import ...`` at the top.

    Returns
    -------
    str
        The last one's docstring, all imports, and all else as it stands.
    """
    docstring, imports, bodies = "", dict[str, None](), list[str]()
    for name in names:
        text = files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")
        lines = text.splitlines()
        first, *nodes = ast.parse(text).body
        docstring = _source(lines, first)
        outside = [node for node in nodes if not isinstance(node, ast.Import | ast.ImportFrom)]
        for node in nodes:
            if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not _is_own(node)):
                imports[_source(lines, node)] = None
        last_import = max(
            (node.end_lineno or 0 for node in nodes if node not in outside), default=first.end_lineno or 0
        )
        bodies.append("\n".join(lines[last_import:]).strip())
    return "\n\n".join([docstring, *_sorted(imports), "\n\n\n".join(bodies)]) + "\n"


def _sorted(imports: Iterable[str]) -> list[str]:
    """Return imports as blocks: those of the standard library, then others."""
    blocks: dict[bool, list[str]] = {False: [], True: []}
    for line in sorted(imports, key=lambda line: (line.startswith("from "), line)):
        blocks[line.split()[1].split(".")[0] not in sys.stdlib_module_names].append(line)
    return ["\n".join(block) for block in blocks.values() if block]


def _is_own(node: ast.ImportFrom) -> bool:
    return (node.module or "").split(".")[0] == _PACKAGE


def _source(lines: list[str], node: ast.stmt) -> str:
    return "\n".join(lines[node.lineno - 1 : node.end_lineno])
