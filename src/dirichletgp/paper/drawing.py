"""How figures look: colours, style, and panels."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Of Okabe and Ito, whose colours colour-blind readers can tell apart.
BLACK = "#000000"
BLUE = "#0072B2"
PURPLE = "#CC79A7"
VERMILION = "#D55E00"

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "dirichletgp",
}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Matplotlib in a style that reads well in print; afterwards the caller's settings are back."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "the figures need matplotlib; install it with: pip install matplotlib"
        ) from error
    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Any:
    """A figure of a size in inches, without a window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def figure_with_panels(
    n_panels: int, width: float, height: float, margin: float, **options: Any
) -> tuple[Any, Any]:
    """A figure with panels of a size in inches, at most two in a row; and the panels, flat."""
    columns = min(2, n_panels)
    lines = -(-n_panels // columns)
    figure = new_figure(width * columns, height * lines + margin)
    panels = figure.subplots(lines, columns, squeeze=False, **options).ravel()
    for panel in panels[n_panels:]:
        panel.remove()
    return figure, panels[:n_panels]


def round_numbers(axis: Any) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, written out."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")
