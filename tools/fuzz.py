"""Try changed model files and checkpoints, with right checksums, for as long as there is time.

    python tools/fuzz.py --files 50000 --jobs 2
    python tools/fuzz.py --seconds 3600

Files are tried in processes of their own: one that crashes, computes for more than a second or
takes more than 500 MB is reported with the seed that makes the file again (`--seed`). `make fuzz`
runs this for an hour.
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

MOST_SECONDS, MOST_MEGABYTES, AT_ONCE = 1.0, 500, 4_000
# A file that waits for something computes nothing; a busy machine waits too.
MOST_WAITING = 60.0


class TooLong(BaseException):
    pass


def _ring(*_):
    raise TooLong


def try_files(seeds, folder, findings, tried, most):
    """Try the files of some seeds; what is wrong goes into a queue, what was needed to `most`."""
    import mutations
    from originals import originals as make_originals

    folder = Path(tempfile.mkdtemp(dir=folder))
    originals = make_originals(folder)
    names = list(originals)
    for original in originals.values():  # tables of integrals are built once
        path = folder / "original.dgp"
        mutations.write_archive(path, original.kind, original.archive)
        assert mutations.judge(original, path) is None
    for seed in seeds:
        tried.value = seed
        rng = np.random.default_rng(seed)
        name = names[rng.integers(len(names))]
        original = originals[name]
        others = [other for other in originals.values() if other.kind == original.kind]
        path = folder / "mutated.dgp"
        mutations.write_mutated(rng, original, path, others)
        seconds, wrong = _judged(mutations, original, path)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        most[:] = max(most[0], seconds), max(most[1], memory)
        if memory > MOST_MEGABYTES:
            wrong = wrong or f"{memory:.0f} MB"
        if wrong:
            findings.put((seed, name, wrong))
        if memory > MOST_MEGABYTES:
            break


def _judged(mutations, original, path):
    """Seconds of computing, and what is wrong with a file, or None."""
    before = time.process_time()
    wrong = None
    for timer, ring in ((signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM)):
        signal.signal(ring, _ring)
        patience = MOST_SECONDS if ring == signal.SIGPROF else MOST_WAITING
        signal.setitimer(timer, patience)
    try:
        wrong = mutations.judge(original, path)
    except TooLong:
        wrong = "it takes too long"
    except BaseException as error:
        wrong = repr(error)[:200] + " | " + traceback.format_exc(limit=-2)[-400:]
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
    return time.process_time() - before, wrong


def _findings(options, start):
    """What is wrong, as (seed, name, words); (None, n, most) when n files were tried."""
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
                most = context.Array("d", 2)
                given = (seeds, folder, queue, tried, most)
                process = context.Process(target=try_files, args=given)
                process.start()
                running.append((process, tried, len(seeds), most))
                seed += len(seeds)
                continue
            time.sleep(0.2)
            for job in [job for job in running if job[0].exitcode is not None]:
                running.remove(job)
                process, tried, n, most = job
                yield None, n, tuple(most)
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
    slowest, largest = 0.0, 0.0
    for seed, name, wrong in _findings(options, start):
        if seed is None:
            n_tried += name
            slowest, largest = max(slowest, wrong[0]), max(largest, wrong[1])
            continue
        kinds[wrong[:60]] += 1
        if kinds[wrong[:60]] <= 3:
            print(f"seed {seed}, {name}: {wrong}", flush=True)
    seconds = time.monotonic() - start
    print(
        f"{n_tried} files in {seconds:.0f} s, {kinds.total()} findings; the slowest took "
        f"{slowest:.2f} s of computing, the largest process {largest:.0f} MB"
    )
    for kind, count in kinds.most_common():
        print(f"  {count:6d}  {kind}")
    sys.exit(kinds.total() > 0)


if __name__ == "__main__":
    main()
