"""The confusion matrix as cells of an HTML table."""

from math import sqrt
from typing import Any

_MOST_CLASSES = 40
_STRONGEST = 0.5  # opacity of a full cell, at which text on it still has contrast


def confusion_table(matrix: list[list[int]], classes: list[str]) -> dict[str, Any]:
    """Cells with their shade, None for very many classes, and the most frequent mistakes.

    Examples
    --------
    >>> confusion_table([[8, 2], [0, 5]], ["no", "yes"])["top"]
    [{'true': 'no', 'predicted': 'yes', 'rows': 2}]
    """
    mistakes = [
        (n, i, j) for i, line in enumerate(matrix) for j, n in enumerate(line) if i != j and n
    ]
    mistakes.sort(key=lambda mistake: -mistake[0])
    top = [{"true": classes[i], "predicted": classes[j], "rows": n} for n, i, j in mistakes[:5]]
    if len(classes) > _MOST_CLASSES:
        return {"matrix": None, "top": top}
    cells = [
        [_cell(n, sum(line), i == j) for j, n in enumerate(line)] for i, line in enumerate(matrix)
    ]
    return {"matrix": cells, "top": top}


def _cell(n: int, total: int, right: bool) -> dict[str, str]:
    shade = _STRONGEST * sqrt(n / total) if n else 0.0
    return {
        "text": f"{n:,}" if n else "·",
        "kind": "none" if not n else "hit" if right else "miss",
        "shade": f"{shade:.3f}",
    }
