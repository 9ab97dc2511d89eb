"""Where the demo's files go: folders with a manifest, so that a second demo knows its own."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

COMMAND = "demo"


@contextlib.contextmanager
def demo_folder(out: Path, seed: int, *, force: bool = False) -> Iterator[Path]:
    """Give a hidden folder for files; they get their names in `out` together, with a manifest.

    Parameters
    ----------
    out : Path
        The folder.
    seed : int
        What its files depend on.
    force : bool
        Replace the files of another seed.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.publishing.staged_folder`.
    """
    # These import Polars, which drawing a world does not need.
    from shortcut_miner.publishing import staged_folder
    from shortcut_miner.storage import MANIFEST, Provenance, write_json

    made = Provenance(command=COMMAND, config={"seed": seed}, inputs=(), counts={}, dropped={})
    with staged_folder(out, force=force) as staging:
        yield staging
        write_json(made.for_manifest(), staging / MANIFEST)


@contextlib.contextmanager
def further_files(out: Path) -> Iterator[Path]:
    """Give a hidden folder for files that go beside those of :func:`demo_folder`, into its manifest too."""
    from shortcut_miner.publishing import staged_folder

    with staged_folder(out, add=True) as staging:
        yield staging
