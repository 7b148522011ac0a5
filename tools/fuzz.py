"""Try changed model files and checkpoints, with right checksums, for as long as there is time.

    python tools/fuzz.py --files 50000 --jobs 2
    python tools/fuzz.py --seconds 3600

Files are tried in processes of their own: one that crashes, hangs for more than a second or takes
more than 500 MB is reported with the seed that makes the file again (`--seed`). `make fuzz` runs
this for an hour.
"""

import argparse
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

MOST_SECONDS, MOST_MEGABYTES, AT_ONCE = 1.0, 500, 1_000


class TooLong(BaseException):
    pass


def _ring(*_):
    raise TooLong


def try_files(seeds, folder, findings, tried):
    """Try the files of some seeds; what is wrong goes into a queue."""
    import mutations

    folder = Path(tempfile.mkdtemp(dir=folder))
    originals = mutations.originals(folder)
    names = list(originals)
    for original in originals.values():  # tables of integrals are built once
        path = folder / "original.dgp"
        mutations.write_archive(path, original.kind, original.archive)
        assert mutations.judge(original, path) is None
    for seed in seeds:
        tried.value = seed
        rng = np.random.default_rng(seed)
        name = names[rng.integers(len(names))]
        path = folder / "mutated.dgp"
        mutations.write_mutated(rng, originals[name], path)
        wrong = _judged(mutations, originals[name], path)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if memory > MOST_MEGABYTES:
            wrong = wrong or f"{memory:.0f} MB"
        if wrong:
            findings.put((seed, name, wrong))
        if memory > MOST_MEGABYTES:
            break


def _judged(mutations, original, path):
    """What is wrong, once more if it took long: the machine may have been busy."""
    for patience in (MOST_SECONDS, 3 * MOST_SECONDS):
        signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, patience)
        before = time.process_time()
        try:
            return mutations.judge(original, path)
        except TooLong:
            seconds = time.process_time() - before
        except BaseException as error:
            return repr(error)[:200] + " | " + traceback.format_exc(limit=-2)[-400:]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return f"it takes more than {seconds:.1f} s of computing"


def _findings(options, start):
    """What is wrong, as (seed, name, words); (None, n, None) when n files were tried."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    running = []
    seed = options.seed
    with tempfile.TemporaryDirectory() as folder:
        while True:
            left = options.seed + options.files - seed if options.files else AT_ONCE
            over = left <= 0 or time.monotonic() - start > options.seconds
            if over and not running:
                return
            if not over and len(running) < options.jobs:
                seeds = range(seed, seed + min(AT_ONCE, left))
                tried = context.Value("q", seed)
                process = context.Process(target=try_files, args=(seeds, folder, queue, tried))
                process.start()
                running.append((process, tried, len(seeds)))
                seed += len(seeds)
                continue
            time.sleep(0.2)
            for process, tried, n in [job for job in running if job[0].exitcode is not None]:
                running.remove((process, tried, n))
                yield None, n, None
                if process.exitcode != 0:
                    yield tried.value, "?", f"exit code {process.exitcode}"
            while not queue.empty():
                yield queue.get()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=0, help="how many; 0: until time is up")
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first file")
    options = parser.parse_args()
    start = time.monotonic()
    kinds = Counter()
    n_tried = 0
    for seed, name, wrong in _findings(options, start):
        if seed is None:
            n_tried += name
            continue
        kinds[wrong[:60]] += 1
        if kinds[wrong[:60]] <= 3:
            print(f"seed {seed}, {name}: {wrong}", flush=True)
    seconds = time.monotonic() - start
    print(f"{n_tried} files in {seconds:.0f} s, {kinds.total()} findings")
    for kind, count in kinds.most_common():
        print(f"  {count:6d}  {kind}")
    sys.exit(kinds.total() > 0)


if __name__ == "__main__":
    main()
