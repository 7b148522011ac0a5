"""Draw the table of the README, ours beside boosted trees: docs/images/beside_trees.png.

    python tools/draw_tables.py

The figures are read from the README, so that the picture cannot say anything else.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("ours", "CatBoost", "LightGBM", "scikit-learn")
STYLES = (("o", "#0072B2"), ("D", "#D55E00"), ("s", "#999999"), ("^", "#CCCCCC"))
ROW = re.compile(r"^\| (\w+) \| [\d,]+, \d+ \|([^|]+)\|([^|]+)\|", re.MULTILINE)


def numbers(cell):
    return [float(value) for value in re.findall(r"\d+\.\d+", cell)]


def read_table(text):
    """Names of the tables, and MNLL and ECE of each method, (tables, methods)."""
    rows = ROW.findall(text)
    names = [name for name, _, _ in rows]
    mnll = np.array([numbers(cell) for _, cell, _ in rows])
    ece = np.array([numbers(cell) for _, _, cell in rows])
    if mnll.shape != (len(names), len(METHODS)) or ece.shape != mnll.shape:
        raise SystemExit("README.md has no table of four methods.")
    return names, mnll, ece


def draw(names, mnll, ece):
    above_best = 100 * (mnll / mnll.min(axis=1, keepdims=True) - 1)
    order = np.argsort(-above_best[:, 0], kind="stable")
    heights = np.arange(len(names))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 4.6), width_ratios=[2.2, 1], layout="constrained"
    )
    for k in reversed(range(len(METHODS))):
        marker, colour = STYLES[k]
        left.plot(
            np.minimum(above_best[order, k], 62),
            heights,
            marker,
            color=colour,
            markersize=8 if k == 0 else 6,
            label=METHODS[k],
            clip_on=False,
        )
    left.set_yticks(heights, [names[i] for i in order])
    left.set(xlim=(0, 60), xlabel="MNLL of new rows, per cent above the best of the four")
    left.set_title("Left is better; beyond 60 % at the edge", fontsize=10)
    left.grid(axis="y", color="0.92")
    left.set_axisbelow(True)
    handles, labels = left.get_legend_handles_labels()
    left.legend(handles[::-1], labels[::-1], frameon=False, loc="lower right")
    means = ece.mean(axis=0)
    bars = right.barh(METHODS[::-1], means[::-1], color=[colour for _, colour in STYLES[::-1]])
    right.bar_label(bars, fmt="%.3f", padding=3)
    right.set(xlabel="mean calibration error (ECE)", xlim=(0, 1.25 * means.max()))
    right.set_title("Shorter is better", fontsize=10)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def main():
    figure = draw(*read_table((ROOT / "README.md").read_text()))
    figure.savefig(ROOT / "docs/images/beside_trees.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
