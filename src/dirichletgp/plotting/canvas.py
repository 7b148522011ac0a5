"""Axes to draw on, and the colours all displays share."""

from typing import Any

# Told apart by lightness as well as by hue, and by line style: for colour-blind eyes and for print.
CURVE_COLOUR = "#0072B2"
SECOND_COLOUR = "#D55E00"
BAND_COLOUR = "#C4C4C4"
REFERENCE_COLOUR = "#333333"
CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P")


def pyplot(picture: str) -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{picture} needs matplotlib; install it with: pip install matplotlib"
        ) from error
    return plt


def one_axes(ax: Any, picture: str, size: tuple[float, float] = (5.4, 4.0)) -> Any:
    """The Axes given, or those of a new figure."""
    plt = pyplot(picture)
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def draw_identity(ax: Any) -> None:
    """The diagonal of perfect calibration, once per Axes."""
    if any(line.get_gid() == "identity" for line in ax.lines):
        return  # the model drawn before this one brought it
    style: dict[str, Any] = {"color": REFERENCE_COLOUR, "linestyle": (0, (5, 3)), "zorder": 2}
    ax.plot([0, 1], [0, 1], gid="identity", label="Perfect calibration", **style)
