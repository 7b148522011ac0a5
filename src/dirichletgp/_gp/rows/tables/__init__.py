"""Tables in files, and Arrow tables: of any size, with columns of any kind.

A table is read a batch at a time (`open_table`, `table_of`). What its columns hold is learned by
the learner that frames have (`rows/learning.py`), which reads texts too.
"""
