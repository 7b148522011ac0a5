"""Fits that are stopped on their way, for tests."""

from dirichletgp._gp.core.regressions import Basis
from dirichletgp._gp.rows import chunks


def interrupt_the_pass(patch, stop_at):
    """Interrupt the pass over all rows when so many of its chunks are summed up."""
    sum_up, add_rows, passed = chunks.ChunkedRows.class_statistics, Basis.add_rows, []

    def begun(self, *arguments):
        passed.append("begun")
        return sum_up(self, *arguments)

    def interrupted(self, *arguments):
        if passed and len(passed) == 1 + stop_at:
            raise KeyboardInterrupt
        passed.extend(["a chunk"] if passed else [])
        add_rows(self, *arguments)

    patch.setattr(chunks.ChunkedRows, "class_statistics", begun)
    patch.setattr(Basis, "add_rows", interrupted)
