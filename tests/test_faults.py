"""Whatever goes wrong while a file is written: the old one is there, or the new one, whole."""

import errno
import io
import os
import pathlib
import shutil
import signal
import sys

import pytest
import writers as all_writers

from dirichletgp.persistence import atomic_write
from dirichletgp.persistence.atomic_write import replacing, write_atomically

WRITERS = all_writers.writers()
FAULTS = [
    MemoryError(),
    KeyboardInterrupt(),
    SystemExit(143),  # what a command makes of SIGTERM
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EIO, "Input/output error"),
]


class FaultAt:
    """Lets the n-th operation on files fail: opening, writing, synchronising, renaming."""

    def __init__(self, monkeypatch, n, error):
        self.n, self.error, self.count = n, error, 0
        for module, name in (
            *((os, "fsync"), (os, "replace"), (shutil, "copymode")),
            *((pathlib.Path, "open"), (pathlib.Path, "write_bytes")),
        ):
            monkeypatch.setattr(module, name, self._counted(getattr(module, name)))

    def tick(self):
        self.count += 1
        if self.count == self.n:
            raise self.error

    def _counted(self, function):
        def call(*arguments, **more):
            self.tick()
            result = function(*arguments, **more)
            if isinstance(result, io.BufferedWriter):
                return _Counted(result, self)
            return result

        return call


class _Counted:
    """A file whose writes can fail, in the middle."""

    def __init__(self, file, fault):
        self._file, self._fault = file, fault

    def write(self, content):
        half = memoryview(content)[: len(content) // 2]
        self._file.write(half)
        self._fault.tick()
        return self._file.write(memoryview(content)[len(content) // 2 :])

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def __getattr__(self, name):
        return getattr(self._file, name)


def content_of(write, folder, which):
    path = folder / f"{which}.file"
    write(path, which)
    content = path.read_bytes()
    path.unlink()
    return content


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: str(error) or type(error).__name__)
@pytest.mark.parametrize("name", WRITERS)
def test_a_fault_at_any_write_leaves_the_old_file_or_the_new_one(
    name, error, tmp_path, monkeypatch
):
    write = WRITERS[name]
    contents = [content_of(write, tmp_path, which) for which in (0, 1)]
    path = tmp_path / "result.file"
    for n in range(1, 40):
        write(path, 0)
        with monkeypatch.context() as patch:
            fault = FaultAt(patch, n, error)
            try:
                write(path, 1)
                failed = False
            except type(error):
                failed = True
        assert path.read_bytes() in contents
        left = [each.name for each in tmp_path.iterdir() if each != path]
        assert left == []
        if not failed and fault.count < n:
            break
    else:
        raise AssertionError("there is always one more write")
    assert n > 2  # there were faults, and not all were passed over
    assert path.read_bytes() == contents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork and signals")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", WRITERS)
def test_killing_a_writer_loses_nothing(name, tmp_path):
    """`tools/kills.py` kills a hundred times."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools"))
    try:
        from kills import kill_once
    finally:
        sys.path.pop(0)
    write = WRITERS[name]
    contents = {content_of(write, tmp_path, which) for which in (0, 1)}
    for number in range(2):
        how = (signal.SIGKILL, signal.SIGTERM)[number]
        assert kill_once(write, tmp_path, contents, 0.01 * (number + 1), how) is None


def test_what_a_killed_writer_left_is_removed_and_what_another_writes_is_not(tmp_path):
    path = tmp_path / "result.file"
    abandoned = tmp_path / ".result.file.0123abcd.part"
    abandoned.write_bytes(b"half")
    other = tmp_path / ".another.file.0123abcd.part"
    other.write_bytes(b"not mine")
    with replacing(path) as first:
        first.write_bytes(b"first")
        assert not abandoned.exists()
        with replacing(path) as second:
            second.write_bytes(b"second")
            assert first.exists()
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_without_locks_files_are_still_replaced_in_one_step(tmp_path, monkeypatch):
    """As on Windows: then nobody can tell what is abandoned, so nothing is removed."""
    monkeypatch.setattr(atomic_write, "fcntl", None)
    left = tmp_path / ".numbers.txt.0123abcd.part"
    left.write_text("1 2")
    write_atomically(tmp_path / "numbers.txt", b"1 2 3")
    assert (tmp_path / "numbers.txt").read_bytes() == b"1 2 3"
    assert left.exists()


def test_a_file_that_is_taken_for_abandoned_before_it_is_locked_is_made_again(
    tmp_path, monkeypatch
):
    fcntl = pytest.importorskip("fcntl")
    flock, taken = fcntl.flock, []

    def flock_late(file, how):
        if not taken:
            taken.append(file.name)
            pathlib.Path(file.name).unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock_late)
    write_atomically(tmp_path / "numbers.txt", b"1 2 3")
    assert taken
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.txt"]
