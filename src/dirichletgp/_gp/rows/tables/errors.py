"""What is wrong with a table."""

import codecs


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


class NotNumbersError(TableError):
    """A column that began with numbers goes on with texts."""


def not_text(name: str, encoding: str) -> TableError:
    """The error of a file that is not in the encoding that was said."""
    known = "UTF-8" if is_utf8(encoding) else encoding
    return TableError(f"{name} is not {known} text", "its encoding, for example --encoding latin-1")


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, by any of its names; `TableError` if there is no such one."""
    try:
        return codecs.lookup(encoding) == codecs.lookup("utf-8")
    except LookupError:
        raise TableError(f"encoding {encoding!r} is not known") from None
