"""Values in a table that a model has not met: an error, or a note if they are to be accepted."""

from .console import say


class NewValues:
    """Told of new categories and unreadable numbers, raises `ValueError` or says it once.

    Parameters
    ----------
    accept : bool
        Whether they may be there.
    quiet : bool, default=False
        Whether nothing is to be said of those that are accepted.

    Attributes
    ----------
    notes : list of str
        What was said.
    rows_before : int
        Rows of the table that were read before those that it is told of.

    Examples
    --------
    >>> new_values = NewValues(accept=False)
    >>> new_values("colour", "column 'colour' holds categories the model has not seen: 'mauve'")
    Traceback (most recent call last):
        ...
    ValueError: column 'colour' holds categories the model has not seen: 'mauve'; to take ...
    """

    def __init__(self, accept: bool, quiet: bool = False):
        self.accept = accept
        self.quiet = quiet
        self.notes: list[str] = []
        self.rows_before = 0
        self._columns: set[str] = set()

    def __call__(self, column: str, sentence: str, row: int | None = None) -> None:
        """Take note of a sentence about a column, and the first row it is about, from zero on."""
        if row is not None:
            sentence += f", first in row {self.rows_before + row + 1:,}"
        self._take(column, sentence, "take such values as missing or as none of the known ones")

    def absent(self, columns: list[str], sentence: str) -> None:
        """Take note of a sentence about columns that are not there at all."""
        them = "it" if len(columns) == 1 else "them"
        self._take(columns[0], sentence, f"take {them} as missing")

    def _take(self, column: str, sentence: str, what_accepting_does: str) -> None:
        if not self.accept:
            raise ValueError(f"{sentence}; to {what_accepting_does} pass --accept-new")
        if column not in self._columns:
            self._columns.add(column)
            self.notes.append(sentence)
            if not self.quiet:
                say(f"note: {sentence}")
