"""Many cases, in child processes with bounded memory: ``python tests/fuzzing/campaign.py --cases 1000``.

What ends a child (an abort, memory, a case without an end) is the outcome of the case at work; another goes
on with the next. Cases are numbered: the same seed and number give the same file and target.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "mining")]

GIGABYTES = 3  # of address space, beyond what libraries take for themselves
PATIENCE = 150.0  # seconds without a word from a child


def campaign(cases: range, seed: int, world: Path) -> Iterator[dict[str, object]]:
    """Give the outcome of each case that did not end as it should, and at the end a count of all kinds."""
    from fuzzing.cases import FINE

    counts: Counter[str] = Counter()
    at = cases.start
    while at < cases.stop:
        for number, found in _child(range(at, cases.stop), seed, world):
            counts[str(found["kind"])] += 1
            at = number + 1
            if found["kind"] not in FINE:
                yield {"case": number, **found}
    yield {"seed": seed, "cases": len(cases), "counts": dict(counts.most_common())}


def _child(cases: range, seed: int, world: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Give the outcomes of cases in a child process, until it ends or is silent."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "outcomes.jsonl"
        log.touch()
        words = [sys.executable, __file__, "--first", str(cases.start), "--cases", str(len(cases))]
        words += ["--seed", str(seed), "--world", str(world), "--log", str(log)]
        env = os.environ | {
            "POLARS_MAX_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "ARROW_DEFAULT_MEMORY_POOL": "system",
        }
        with log.open() as lines, (Path(scratch) / "words").open("w+b") as said:
            process = subprocess.Popen(words, env=env, stdout=said, stderr=said)
            number, heard = cases.start, monotonic()
            while True:
                is_over = process.poll() is not None
                while line := lines.readline():
                    heard = monotonic()
                    number, found = json.loads(line)
                    if found:
                        yield number, found
                        number += 1
                if is_over:
                    break
                if monotonic() - heard > PATIENCE:
                    process.kill()
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
            said.seek(max(0, said.tell() - 3000))
            last = said.read().decode(errors="replace")
        if number < cases.stop:
            kind = "no end" if monotonic() - heard > PATIENCE else "abort"
            yield (
                number,
                {"kind": kind, "told": f"exit code {process.returncode}: {last}", "target": "", "how": ""},
            )


def work(cases: range, seed: int, world: Path, log: Path) -> None:
    """Run cases one after the other, and write a line before and after each."""
    from fuzzing.cases import drawn, outcome, targets

    among = targets(world)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = taken + GIGABYTES * (1 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with log.open("a", buffering=1) as lines:
        for number in cases:
            lines.write(f"{json.dumps((number, None))}\n")
            target, how, damaged = drawn(seed, number, among)
            noise = os.fstat(2).st_size
            found = outcome(target, damaged, world, log.parent / "scratch")
            kind, told = found.kind, found.told
            if os.fstat(2).st_size > noise and kind in ("read", "rows skipped", "refused"):
                kind, told = "noise", os.pread(2, 500, noise).decode(errors="replace")
            record = {"kind": kind, "told": told[-1500:], "target": target.name, "how": how}
            lines.write(f"{json.dumps((number, record))}\n")


def told(cases: range, seed: int, workers: int, world: Path) -> Counter[str]:
    """Print what a campaign finds as JSON lines, at last the counts of all kinds, and return these."""
    counts: Counter[str] = Counter()

    def run(part: range) -> None:
        for found in campaign(part, seed, world):
            if "case" in found:
                sys.stdout.write(f"{json.dumps(found)}\n")
                sys.stdout.flush()
            else:
                counts.update(found["counts"])  # type: ignore[call-overload]

    size = -(-len(cases) // workers)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, (cases[at : at + size] for at in range(0, len(cases), size))))
    sys.stdout.write(
        f"{json.dumps({'seed': seed, 'cases': len(cases), 'counts': dict(counts.most_common())})}\n"
    )
    return counts


def main() -> None:
    """Run a campaign and print what it found as JSON lines; or, with a log, be a child of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--world", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--keep", type=int, help="write the damaged file of one case beside, and end")
    asked = parser.parse_args()
    cases = range(asked.first, asked.first + asked.cases)
    if asked.log is not None:
        work(cases, asked.seed, asked.world, asked.log)
        return
    from fuzzing.cases import FINE
    from fuzzing.world import write_world

    with tempfile.TemporaryDirectory() as made:
        world = asked.world or Path(made)
        if asked.world is None:
            write_world(world)
        if asked.keep is not None:
            from fuzzing.cases import drawn, targets

            target, how, damaged = drawn(asked.seed, asked.keep, targets(world))
            Path(f"case-{asked.seed}-{asked.keep}").write_bytes(damaged)
            sys.stdout.write(f"{target.name}, {how}\n")
            return
        counts = told(cases, asked.seed, asked.workers, world)
    sys.exit(0 if counts.keys() <= set(FINE) else 1)


if __name__ == "__main__":
    main()
