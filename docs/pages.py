"""Hooks of mkdocs: pages that lie beside the code, and the notebooks, become pages of the site as they are.

Links work in both places: a file links to others as on disk, and here these links lead to the files' pages.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

ROOT = Path(__file__).resolve().parents[1]
# Page -> the file that it shows.
SHOWN = {
    "index.md": "README.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks.md": "benchmarks/README.md",
    "cards/vqa-ce.md": "shortcut_miner/diagnostics/vqa_ce/README.md",
    "cards/rad.md": "shortcut_miner/diagnostics/rad/README.md",
    "cards/fpvg.md": "shortcut_miner/diagnostics/fpvg/README.md",
    "cards/swapmix.md": "shortcut_miner/diagnostics/swapmix/README.md",
    "cards/gqa-ood.md": "shortcut_miner/diagnostics/gqa_ood/README.md",
    "cards/pairs.md": "shortcut_miner/diagnostics/pairs/README.md",
    "cards/slices.md": "shortcut_miner/diagnostics/slices/README.md",
    "cards/pope.md": "shortcut_miner/diagnostics/pope/README.md",
    "cards/resplit.md": "shortcut_miner/diagnostics/resplit/README.md",
}
NOTEBOOKS = {
    f"notebooks/{path.stem}.md": f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")
}
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")
# What numpydoc texts say in Sphinx's words, as mkdocstrings shows it.
ROLE = re.compile(r":(?:class|func|meth|mod|data):<code>(?:~?[\w.]*\.)?(\w+)</code>")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the site's files with those that lie elsewhere."""
    for place, source in SHOWN.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for place, source in sorted(NOTEBOOKS.items()):
        for name, content in notebook_pages(place, source).items():
            files.append(File.generated(config, name, content=content))
    return files


def notebook_pages(place: str, source: str) -> dict[str, str | bytes]:
    """Return a notebook's page and its images, by their places."""
    name = PurePosixPath(place).stem
    resources: dict[str, Any] = {"unique_key": name, "output_files_dir": f"{name}-images"}
    body, found = MarkdownExporter().from_filename(str(ROOT / source), resources=resources)
    folder = PurePosixPath(place).parent
    return {place: body, **{str(folder / file): content for file, content in found["outputs"].items()}}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page's text with links to files as links to their pages; mkdocs checks these."""
    place = page.file.src_uri
    on_disk = {**{one: f"docs/{one}" for one in files.src_uris}, **SHOWN, **NOTEBOOKS}
    page_of = {source: one for one, source in on_disk.items()}
    folder = PurePosixPath(on_disk[place]).parent

    def link(found: re.Match[str]) -> str:
        target = normpath(folder / found[0])
        return relpath(page_of[target], PurePosixPath(place).parent) if target in page_of else found[0]

    return LINK.sub(link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with the names alone of what docstrings refer to."""
    return ROLE.sub(r"<code>\1</code>", html)
