"""Other programs that search slices, on the rows that bench_slices.py wrote.

They run in an interpreter that has them:

    PYTHON benchmarks/slices_peers.py FOLDER --runs 3

Prints one JSON list: job, program, what it found, medians of wall and processor seconds of the call. What is
not installed is left out. Importing, reading and one-hot encoding of items are not timed.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

COLUMNS, ITEMS = "five columns", "87 items"
_SUPPORT, _COUNT = 0.02, 180
Job = tuple[str, str, Callable[[], Any], Callable[[Any], int]]


def timed(run: Callable[[], Any], runs: int) -> tuple[Any, float, float]:
    """Return what a call gives, and the medians of its wall and processor seconds."""
    walls, processor, found = [], [], None
    for _ in range(runs):
        start, before = time.perf_counter(), time.process_time()
        found = run()
        walls.append(time.perf_counter() - start)
        processor.append(time.process_time() - before)
    return found, statistics.median(walls), statistics.median(processor)


def divexplorer_jobs(columns: Any, items: Any) -> Iterator[Job]:
    """Give DivExplorer on the columns, with Boolean and numeric outcomes, and its FP-growth on all items."""
    from divexplorer import DivergenceExplorer
    from divexplorer.utils_FPgrowth import fpgrowth_cm

    names = [name for name in columns.columns if name not in ("wrong", "error")]

    def explore(kind: str, outcome: str) -> Any:
        given = {kind: [outcome], "attributes": names}
        return DivergenceExplorer(columns).get_pattern_divergence(min_support=_SUPPORT, **given)

    yield COLUMNS, "DivExplorer, Boolean", lambda: explore("boolean_outcomes", "wrong"), len
    yield COLUMNS, "DivExplorer, numbers", lambda: explore("quantitative_outcomes", "error"), len
    one_hot = items.drop(columns="wrong").astype(bool)
    outcomes = items[["wrong"]].assign(right=1 - items["wrong"]).astype(int)
    support = _COUNT / len(items) - 1e-9
    names_of = list(outcomes.columns)
    yield (
        ITEMS, "DivExplorer's FP-growth, all lengths",
        lambda: fpgrowth_cm(one_hot.copy(), outcomes, min_support=support, columns_accumulate=names_of), len,
    )  # fmt: skip


def sliceline_jobs(columns: Any, items: Any) -> Iterator[Job]:
    """Give SliceLine on the columns."""
    from sliceline.slicefinder import Slicefinder

    names = [name for name in columns.columns if name not in ("wrong", "error")]
    given, errors = columns[names].fillna("").to_numpy(), columns["wrong"].to_numpy()

    def find() -> Any:
        return Slicefinder(alpha=0.95, k=20, max_l=4, min_sup=_COUNT, verbose=False).fit(given, errors)

    yield COLUMNS, "SliceLine, the 20 best", find, lambda found: len(found.top_slices_)


def divisi_jobs(columns: Any, items: Any) -> Iterator[Job]:
    """Give Divisi on the columns, with 20 and 50 sampled rows."""
    import divisi
    from divisi.sampling import SamplingSubgroupSearch  # its function passes an argument that this lacks

    names = [name for name in columns.columns if name not in ("wrong", "error")]
    given = divisi.discretize_data(
        columns[names].fillna("").astype(object), {name: divisi.unique_values() for name in names}
    )
    wrong = columns["wrong"].to_numpy().astype(float)
    scores = {"rate": divisi.OutcomeRate(wrong), "size": divisi.SubgroupSize()}

    def find(samples: int) -> Any:
        search = SamplingSubgroupSearch(
            given, scores, source_mask=wrong > 0, max_features=3, min_items_fraction=_COUNT / len(wrong),
            show_progress=False, n_workers=1,
        )  # fmt: skip
        return search.sample(samples)[0]

    for samples in (20, 50):
        yield (
            COLUMNS, f"Divisi, {samples} sampled rows", lambda samples=samples: find(samples),
            lambda found: len(found.results),
        )  # fmt: skip


PEERS = {"divexplorer": divexplorer_jobs, "sliceline": sliceline_jobs, "divisi": divisi_jobs}


def main() -> None:
    """Print what each program that is installed takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    told: list[tuple[str, str, int, float, float]] = []
    if find_spec("pandas"):
        import pandas

        columns = pandas.read_csv(options.folder / "columns.csv", keep_default_na=False, na_values=[""])
        items = pandas.read_csv(options.folder / "items.csv")
        for package, jobs in PEERS.items():
            if not find_spec(package):
                print(f"{package}: not installed, left out", file=sys.stderr)
                continue
            try:
                for job, program, run, count in jobs(columns, items):
                    found, wall, processor = timed(run, options.runs)
                    told.append((job, program, count(found), wall, processor))
            except Exception as error:  # somebody's program on other versions of its libraries
                print(f"{package}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
