"""Questions as tables, and the real subset augmented once."""

from pathlib import Path

import polars as pl
import pytest
from diagnostics.rad.tables import concat

from shortcut_miner.diagnostics.rad.augment import Augmented, augment_questions
from shortcut_miner.sources.questions.vqa import read_vqa


@pytest.fixture(scope="session")
def real_questions(real_data: Path) -> pl.DataFrame:
    folder = real_data / "vqa60k"
    tables = [
        read_vqa(folder / f"questions_{split}.json.gz", folder / f"annotations_{split}.json.gz")[0]
        for split in ("train", "valid")
    ]
    return concat(tables)


@pytest.fixture(scope="session")
def real_augmented(real_questions: pl.DataFrame) -> Augmented:
    return augment_questions(real_questions)
