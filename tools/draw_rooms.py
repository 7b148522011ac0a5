"""Draw the rooms of the package, from the ground up: docs/images/rooms.svg.

python tools/draw_rooms.py
"""

from pathlib import Path
from xml.sax.saxutils import escape

FLOORS = [
    [("cli", "the commands")],
    [("report", "the HTML report"), ("paper", "the paper, reproduced")],
    [("plotting", "displays"), ("datasets", "the paper's data")],
    [
        ("baselines", "GPR, NKRR, Platt, GPC"),
        ("export", "ONNX"),
        ("metrics", "calibration, likelihood"),
    ],
    [("_gp/classifier", "DirichletGPClassifier: choose rows, prepare, train, keep")],
    [("_gp/predictions", "functions of the fitted value at rows")],
    [("persistence", "model files, checkpoints, files written in one step")],
    [("_gp/training", "settings, searches, the schedule, the fitted value, streams, progress")],
    [("_gp/rows", "one door: memory, chunks, tables, Dask, devices; scaling, weights")],
    [
        (
            "_gp/core",
            "kernels, statistics, bound, regressions, probabilities, algebra, threads",
        )
    ],
]
WIDTH, HEIGHT, GAP = 760, 46, 8
COLOURS = {"_gp": "#dbeafe", "persistence": "#e0f2f1"}


def room(x, y, width, name, words):
    fill = COLOURS.get(name.split("/")[0], "#f5f0e6")
    middle = x + width / 2
    return f"""
  <rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" rx="6" fill="{fill}"
        stroke="#64748b"/>
  <text x="{middle:.1f}" y="{y + 19}" class="name">{escape(name)}</text>
  <text x="{middle:.1f}" y="{y + 36}" class="words">{escape(words)}</text>"""


def main():
    parts = []
    y = GAP
    for floor in FLOORS:
        width = (WIDTH - GAP * (len(floor) + 1)) / len(floor)
        for place, (name, words) in enumerate(floor):
            parts.append(room(GAP + place * (width + GAP), y, width, name, words))
        y += HEIGHT + GAP
    style = (
        "text { text-anchor: middle; fill: #0f172a; font-family: sans-serif }"
        " .name { font-size: 14px; font-weight: 600 } .words { font-size: 12px }"
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img"'
        ' aria-label="The rooms of the package, from the ground up">'
        f'\n  <rect width="{WIDTH}" height="{y}" fill="white"/>'
        f"\n  <style>{style}</style>{''.join(parts)}\n</svg>\n"
    )
    path = Path(__file__).parents[1] / "docs" / "images" / "rooms.svg"
    path.write_text(svg, encoding="utf-8")
    print(f"{path.name} written")


if __name__ == "__main__":
    main()
