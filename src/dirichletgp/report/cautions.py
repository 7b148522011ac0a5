"""What readers should know before they believe numbers: classes with hardly any rows."""

import numpy as np

from .._gp.core.arrays import Integers

FEW_ROWS = 10
_MOST_NAMED = 5


def few_rows_of_a_class(
    codes: Integers, labels: list[str], purpose: str = "to test on"
) -> list[str]:
    """Classes that have some rows, but hardly any; `purpose` says what for.

    Examples
    --------
    >>> few_rows_of_a_class(np.array([0] * 30 + [1] * 3), ["no", "yes"])
    ["a class has fewer than 10 rows to test on: 'yes' (3)"]
    """
    counts = np.bincount(codes, minlength=len(labels))
    few = [place for place in np.argsort(counts).tolist() if 0 < counts[place] < FEW_ROWS]
    if not few:
        return []
    named = [f"{labels[place]!r} ({counts[place]})" for place in few[:_MOST_NAMED]]
    more = f" and {len(few) - _MOST_NAMED} more" if len(few) > _MOST_NAMED else ""
    what = "a class has" if len(few) == 1 else f"{len(few)} classes have"
    return [f"{what} fewer than {FEW_ROWS} rows {purpose}: {', '.join(named)}{more}"]
