"""What a model has not met in a table: an error, or said of what is to be accepted."""

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
        if not self.accept:
            raise ValueError(
                f"{sentence}; to take such values as missing or as none of the known ones pass "
                "--accept-new"
            )
        self._say(column, sentence, "note")

    def absent(self, columns: list[str], sentence: str, hint: str = "") -> None:
        """Take note of a sentence about columns that are not there, with a hint at its end.

        That is a warning: a column that is called otherwise is not there either.
        """
        if not self.accept:
            them = "it" if len(columns) == 1 else "them"
            raise ValueError(f"{sentence}; to take {them} as missing pass --accept-new{hint}")
        self._say(columns[0], f"{sentence}; taken as missing in all rows{hint}", "warning")

    def _say(self, column: str, sentence: str, how: str) -> None:
        """Say a sentence, and keep it, unless something was said of the column."""
        if column in self._columns:
            return
        self._columns.add(column)
        self.notes.append(sentence)
        if not self.quiet:
            say(f"{how}: {sentence}")
