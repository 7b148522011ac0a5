"""Tables as people have them: files of any size, columns of any kind.

A table is read a batch at a time (`open_table`, `table_of`). What its columns hold is kept as a
recipe, a list of columns each of which knows how it becomes numbers. A recipe is written as JSON
into the model file, so that loading it runs no code, does not depend on the versions of other
libraries, and can be read by a person.
"""
