"""Tables as people have them: files of any size, columns of any kind, and the recipe that makes them features.

A recipe is a list of columns, each of which knows how it becomes numbers. It is written as JSON
into the model file, so that loading it runs no code, does not depend on the versions of other
libraries, and can be read by a person.
"""

from .columns import Recipe, learn_recipe
from .errors import TableError
from .reading import MOST_COLUMNS, open_table, read_table
from .writing import check_destination, open_writer

__all__ = [
    "MOST_COLUMNS",
    "Recipe",
    "TableError",
    "check_destination",
    "learn_recipe",
    "open_table",
    "open_writer",
    "read_table",
]
