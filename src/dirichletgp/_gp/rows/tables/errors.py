"""What is wrong with a table."""


class TableError(ValueError):
    """A table cannot be used; the message says why, in one line.

    Parameters
    ----------
    reason : str
    option : str, default=None
        What to pass on the command line to put it right, such as "--encoding latin-1". Kept apart
        because whoever calls from Python has no such option.

    Examples
    --------
    >>> error = TableError("rows.csv is not UTF-8 text", option="--encoding latin-1")
    >>> str(error), error.option
    ('rows.csv is not UTF-8 text', '--encoding latin-1')
    """

    def __init__(self, reason: str, option: str | None = None):
        super().__init__(reason)
        self.option = option
