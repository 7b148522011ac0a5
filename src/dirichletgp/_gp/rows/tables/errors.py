"""What is wrong with a table."""


class TableError(ValueError):
    """A table cannot be used; the message says why, in one line."""
