"""Write the rows that tests/gpu reads: of the real subset, if it is there, and of an imitation of VQA v2.

    python benchmarks/gpu_inputs.py OUT --scale 1
    SHORTCUT_MINER_GPU_INPUTS=OUT python -m pytest -m gpu tests/gpu -s

The second command needs NumPy, numba, CuPy and pytest alone, so that it runs on any machine with a GPU.
"""

import argparse
import tempfile
from fractions import Fraction
from pathlib import Path

from measuring import generated_world, input_files, megabytes, real_folder, scale_name

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
from shortcut_miner.encoding import encode_training, keep_top_answers
from shortcut_miner.row_arrays import save_rows


def write(folder: Path, path: Path) -> None:
    """Write the training rows of a data set, and say how large they are."""
    inputs = read_inputs(VqaCeFiles(**input_files(folder)), VqaCeConfig(items="both"))
    rows = encode_training(keep_top_answers(inputs.train), inputs.labels)
    save_rows(rows, path)
    size = f"{len(rows):,} rows x {len(rows.items) / len(rows):.1f} items"
    print(f"{path}: {size}, {rows.vocabulary.item_count:,} distinct, {megabytes(path.stat().st_size)}")


def main() -> None:
    """Write one file a data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder for the files")
    parser.add_argument("--data", type=Path, default=real_folder(), help="folder of the real subset")
    parser.add_argument("--world", type=Path, help="folder of a generated world; default: generate one")
    parser.add_argument("--scale", type=Fraction, default=Fraction(1), help="of the world to generate")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.data is not None:
        write(options.data, options.out / "real-subset.npz")
    with tempfile.TemporaryDirectory() as scratch:
        scale = float(options.scale)
        world = options.world or generated_world(Path(scratch), scale)
        name = f"imitation-{scale_name(scale).replace('/', '-of-')}"
        write(world, options.out / f"{world.name if options.world else name}.npz")


if __name__ == "__main__":
    main()
