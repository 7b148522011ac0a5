"""Tables that a command has written before: the only ones it replaces unasked."""

import os
from pathlib import Path
from typing import NamedTuple

from .._gp.rows.tables.reading import open_table
from .._gp.rows.tables.table import ARROW, ARROW_FILE, CSV, PARQUET

# An Arrow stream begins with the last of these.
_STARTS = {b"PAR1": PARQUET, ARROW_FILE: ARROW, b"\xff\xff\xff\xff": ARROW}


class EarlierTable(NamedTuple):
    """How the tables are known that a command writes.

    Attributes
    ----------
    command : str
    columns : tuple of str
        Those it always writes, among others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> earlier = EarlierTable("audit", ("row", "given"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.csv")
    ...     _ = path.write_text("age,label")
    ...     others = earlier.may_be_at(path)
    ...     _ = path.write_text("row,given,age")
    ...     others, earlier.may_be_at(path)
    (False, True)
    """

    command: str
    columns: tuple[str, ...]

    def may_be_at(self, path: str | Path) -> bool:
        """Whether a file is such a table, as far as its columns tell, or nobody's data.

        Only the names of the columns are read. What cannot be read as a table is none.
        """
        if not os.path.isfile(path) or os.path.getsize(path) == 0:  # a pipe, or nothing
            return True
        try:
            found = open_table(str(path), _format(path)).columns
        except ValueError:
            return False
        return set(self.columns) <= set(found)


def _format(path: str | Path) -> str:
    """The format of a file by its first bytes: its name may promise another."""
    with open(path, "rb") as file:
        first = file.read(max(map(len, _STARTS)))
    return next((format for start, format in _STARTS.items() if first.startswith(start)), CSV)
