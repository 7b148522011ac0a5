"""Run the code on pages of the documentation and write down what it prints and draws.

`python tools/run_pages.py docs/start.md ...`, or `make pages` for all pages whose code runs. The
blocks of a page are one story: Python blocks share their names, and all run in one folder that is
empty at the beginning.

- What a ```python block prints goes into the ```text block that follows it.
- Figures that it leaves open go into the pictures that follow it, ![...](images/...).
- In a ```console block, lines that begin with "$ " are commands, and the rest is what they print.
- A comment <!-- $ command --> runs without being seen, for pictures that a command makes; $DOCS is
  the folder of the documentation.

A page that does not show what its code prints or draws is an error, and so is code that fails.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.update(
    MPLBACKEND="Agg", COLUMNS="88", NO_COLOR="1", TERM="dumb", PYTHONWARNINGS="default"
)
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

DOCS = Path(__file__).resolve().parents[1] / "docs"
os.environ["DOCS"] = str(DOCS)

BLOCK = re.compile(
    r"^```(python|text|console)\n(.*?)^```$|^<!-- \$ (.*?) -->$", re.MULTILINE | re.DOTALL
)
PICTURE = re.compile(r"^!\[[^\]]*\]\(([^)]+\.png)\)$", re.MULTILINE)


class PageError(Exception):
    """Code that fails, or something that the page does not show."""


def printed_by(code, names):
    """What Python code prints; names are those that the page has defined so far."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "<page>", "exec"), names)
    return without_trailing_spaces(output.getvalue())


def console(block):
    """The commands of a block, each followed by what it prints now."""
    commands = re.findall(r"^\$ (.*(?:\\\n.*)*)$", block, re.MULTILINE)
    shown = []
    for command in commands:
        ran = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        shown.append(f"$ {command}\n{ran.stdout}")
    return without_trailing_spaces("".join(shown))


def without_trailing_spaces(text):
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n" if lines else ""


def save_figures(page, following):
    """Save the open figures as the pictures that stand before the next block of code."""
    import matplotlib.pyplot as plt

    figures = [plt.figure(number) for number in plt.get_fignums()]
    pictures = PICTURE.findall(following)
    if len(figures) != len(pictures):
        raise PageError(f"{len(figures)} figures are drawn, {len(pictures)} pictures follow")
    for figure, picture in zip(figures, pictures, strict=True):
        path = page.parent / picture
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close("all")


def run(page):
    """The text of a page with new outputs; pictures are written beside it."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    names = {"__name__": "__main__"}
    pieces, end = [], 0
    for number, block in enumerate(blocks):
        language, content, unseen = block.groups()
        if unseen:
            subprocess.run(["bash", "-c", unseen], check=True, capture_output=True)
            continue
        if language == "text":
            continue
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        pieces.append(text[end : block.start(2)])
        end = block.end(2)
        try:
            if language == "console":
                pieces.append(console(content))
                continue
            pieces.append(content)
            printed = printed_by(content, names)
            has_text = following is not None and following[1] == "text"
            if bool(printed) != has_text:
                raise PageError(f"it prints {printed!r}; a text block follows: {has_text}")
            if has_text:
                pieces.append(text[end : following.start(2)] + printed)
                end = following.end(2)
            code = next((b for b in blocks[number + 1 :] if b[1] != "text"), None)
            save_figures(page, text[block.end() : code.start() if code else len(text)])
        except Exception as error:
            line = text[: block.start()].count("\n") + 1
            raise PageError(f"{page}:{line}: {type(error).__name__}: {error}") from error
    return "".join(pieces) + text[end:]


def main(paths):
    for path in paths:
        page = Path(path).resolve()
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                new = run(page)
            finally:
                os.chdir(here)
        changed = new != page.read_text()
        page.write_text(new)
        print(f"{path}: {'outputs changed' if changed else 'as it was'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
