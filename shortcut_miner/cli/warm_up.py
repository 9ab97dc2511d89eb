"""``warm-up``."""

import tempfile
import time
from pathlib import Path

from shortcut_miner.cli.console import print_fields, print_json, progress
from shortcut_miner.cli.kernels import EVERYTHING, kernels_folder, kernels_to_compile, watched
from shortcut_miner.cli.options import DEFAULT_SHOWN, DONE, Shown


def warm_up(*, shown: Shown = DEFAULT_SHOWN) -> int:
    """Compile all kernels."""
    started = time.perf_counter()
    before = kernels_to_compile(*EVERYTHING)
    with (
        tempfile.TemporaryDirectory(prefix="shortcut-miner-warm-up-") as temporary,
        progress(shown) as told,
        watched(shown, told, EVERYTHING) as compiling,
    ):
        if before:
            from shortcut_miner.demo.warm_up import warm_up as compile_all

            compile_all(Path(temporary), told and compiling.on_stage)
    seconds, folder = time.perf_counter() - started, kernels_folder()
    if shown.format == "json":
        print_json({"compiled": before, "folder": folder, "seconds": round(seconds, 1)})
    else:
        compiled = f"{before} kernels" if before else "nothing: all kernels are there"
        print_fields({"compiled": compiled, "kept in": str(folder), "took": f"{seconds:.1f} s"})
    return DONE
