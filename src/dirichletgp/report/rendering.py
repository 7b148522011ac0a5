"""The page: numbers, style and script in one HTML file."""

from __future__ import annotations  # help() shows ArrayLike, not what it stands for

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..persistence.atomic_write import write_atomically
from ..persistence.file_kinds import PAGE, check_replaceable
from .confusion import confusion_table
from .directions import MOST_FEATURES
from .gathering import gather
from .layout import layout_of
from .numbers import ReportNumbers
from .rejecting import FEWEST_LEFT

_SCRIPTS = ("drawing.js", "charts.js", "outcomes.js", "page.js")


def render(numbers: ReportNumbers) -> str:
    """The HTML of a report, with everything it needs inside.

    Parameters
    ----------
    numbers : ReportNumbers
        What `gather` returned.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from dirichletgp.report import gather, render
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> page = render(gather(classifier, X, y))
    >>> page.startswith("<!doctype html>")
    True
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("a report needs jinja2; install it with: pip install jinja2") from error
    environment = Environment(
        loader=FunctionLoader(_page_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["points"] = lambda share: f"{100 * share:.1f}\u00a0pp"
    environment.filters["percent"] = lambda share: f"{100 * share:.1f}\u00a0%"
    template = environment.get_template("report.html")
    return template.render(
        report=numbers,
        layout=layout_of(numbers),
        fewest_left=FEWEST_LEFT,
        most_bars=MOST_FEATURES,
        confusion=confusion_table(numbers.confusion, numbers.classes),
        data=_safe_json(numbers),
        style=_page_file("report.css") + _page_file("regions.css"),
        script=_scripts(),
    )


def write_report(
    path: str | Path,
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    title: str = "Classifier report",
    feature_names: ArrayLike | None = None,
    shown: Any = None,
    made: Mapping[str, str] | None = None,
    cautions: Sequence[str] = (),
    n_bootstrap: int = 1_000,
    random_state: int = 0,
    overwrite: bool = False,
) -> Path:
    """Measure a fitted classifier on labelled rows and write the report.

    Parameters
    ----------
    path : str or Path
        The HTML file to write.
    model : fitted classifier, or a pipeline or search that ends in one
    X : array-like of shape (n, D)
        Labelled rows that the model was not fitted to.
    y : array-like of shape (n,)
    title, feature_names, shown, made, cautions, n_bootstrap, random_state
        As in `gather`.
    overwrite : bool, default=False
        Whether to replace an existing file that is no HTML page; `FileExistsError` otherwise.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    sklearn.metrics.classification_report : Precision and recall of every class, as text.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> from dirichletgp.report import write_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = DirichletGPClassifier(random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(folder + "/report.html", classifier, X[1::2], y[1::2])
    ...     "calibration" in written.read_text(encoding="utf-8")
    True
    """
    check_replaceable(path, PAGE, overwrite)
    numbers = gather(
        model,
        X,
        y,
        title=title,
        feature_names=feature_names,
        shown=shown,
        made=made,
        cautions=cautions,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
    )
    path = Path(path)
    write_atomically(path, render(numbers).encode())
    return path


def _page_file(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _scripts() -> str:
    return "\n".join(_page_file(name) for name in _SCRIPTS)


def _safe_json(numbers: ReportNumbers) -> str:
    """JSON that cannot end the script element it stands in, with numbers of six digits."""
    text = json.dumps(_with_six_digits(numbers.as_dict()), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _with_six_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_six_digits(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_six_digits(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
