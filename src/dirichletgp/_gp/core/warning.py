"""Warnings that point at the code of the user."""

import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the library that led here, however deep in the library this is."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
