"""Kill writers of files at random moments, and look what is left.

    python tools/kills.py [kills]

Every writer (save, checkpoint, predictions, report, the paper's store) writes two contents in turn
in a process of its own until it is killed, by SIGKILL or SIGTERM. The file must then be one of the
two, whole, and the next write must leave nothing else in the folder.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path


def kill_once(write, folder, contents, seconds, how):
    """Kill a writer after so many seconds; what is wrong afterwards, or None."""
    path = Path(folder) / "result.file"
    path.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            for which in (0, 1):
                write(path, which)
    time.sleep(seconds)
    os.kill(child, how)
    os.waitpid(child, 0)
    if path.exists() and path.read_bytes() not in contents:
        return f"a file of {path.stat().st_size} bytes that is neither the old nor the new one"
    path.unlink(missing_ok=True)
    write(path, 1)
    left = sorted(each.name for each in Path(folder).iterdir() if each != path)
    path.unlink()
    return f"left behind: {left}" if left else None


def main():
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from writers import writers

    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    all_writers = writers()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        contents = {}
        for name, write in all_writers.items():
            contents[name] = set()
            for which in (0, 1):
                path = Path(folder) / "one.file"
                write(path, which)
                contents[name].add(path.read_bytes())
                path.unlink()
        for number in range(kills):
            name = list(all_writers)[number % len(all_writers)]
            how = random.choice([signal.SIGKILL, signal.SIGTERM])
            seconds = random.uniform(0.001, 0.15)
            found = kill_once(all_writers[name], folder, contents[name], seconds, how)
            if found:
                wrong += 1
                print(f"{name}, {how.name} after {seconds:.3f} s: {found}")
    print(f"{kills} kills of {len(all_writers)} writers, {wrong} times something was wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
