"""How a model was made, as pairs of words."""

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
import sklearn

from .._gp.training.settings import Stage
from .._gp.version import __version__
from ..plotting.kernels import fitted_kernel


def how_it_was_made(classifier: Any, more: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Pairs of a name and a text: classifier, settings, versions, and what the caller adds."""
    pairs = [("Classifier", type(classifier).__name__)]
    if hasattr(classifier, "label_transform_"):
        pairs += _gaussian_process(classifier)
    pairs += list((more or {}).items())
    if hasattr(classifier, "get_params"):
        changed = [f"{name}={text}" for name, text in _changed_parameters(classifier).items()]
        pairs.append(("Settings", ", ".join(changed) or "all defaults"))
    versions = {
        "dirichletgp": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    pairs.append(("Versions", ", ".join(f"{name} {number}" for name, number in versions.items())))
    return pairs


def _gaussian_process(classifier: Any) -> list[tuple[str, str]]:
    transform = classifier.label_transform_
    kernel, points = fitted_kernel(classifier)
    names = kernel.parameter_names([f"x{j}" for j in range(points.shape[1])])
    kinds = sorted({name.partition(" of ")[0] for name in names})
    each = ", ".join(f"one {kind}" + " per feature" * (len(names) > 1) for kind in kinds)
    pairs = [
        ("Training rows", f"{round(float(classifier.class_count_.sum())):,}"),
        ("Features", f"{classifier.n_features_in_:,}"),
        ("Inducing points", f"{len(classifier.inducing_points_):,}"),
        ("Kernel", f"{kernel.title}, {each}, variance {classifier.variance_:.3g}"),
        (
            "Label transform",
            f"{classifier.label_transform}: separation {transform.separation:.3g}, "
            f"noise {transform.noise_in:.3g} in and {transform.noise_out:.3g} out of the class",
        ),
    ]
    if transform.believed < 1.0:
        pairs.append(("Believed of the log-odds, as rows are few", f"{transform.believed:.0%}"))
    pairs += _regions(classifier)
    for stage in getattr(classifier, "history_", []):
        if stage["stage"] == Stage.CHOICE.value and stage["note"]:
            pairs.append(("Choice of the kernel, with the MNLL of rows left out", stage["note"]))
    seconds = sum(stage["seconds"] for stage in getattr(classifier, "history_", []))
    if seconds:
        pairs.append(
            ("Training", f"{seconds:.1f} s, {classifier.n_iter_} evaluations of the bound")
        )
    return pairs


def _regions(classifier: Any) -> list[tuple[str, str]]:
    """How rows were cut into regions, and what left-out rows said about it."""
    found: Any = getattr(classifier, "regions_", None)
    pairs = []
    if found is not None:
        fewest, median, most = found["rows of a region"]
        pairs.append(
            (
                "Regions",
                f"{found['regions']:,}, {found['of one class']:,} of them of one class; "
                f"{median:,.0f} rows in a typical one ({fewest:,.0f} to {most:,.0f}), "
                f"a row is in {found['overlap']:.1f} on average",
            )
        )
    for stage in getattr(classifier, "history_", []):
        if stage["stage"].startswith(Stage.REGIONS.value) and stage["note"]:
            pairs.append(("Regions, with the MNLL of rows left out", stage["note"]))
    return pairs


def _changed_parameters(classifier: Any) -> dict[str, str]:
    """Parameters that are not at their defaults; arrays by their shape."""
    try:
        defaults = type(classifier)().get_params(deep=False)
    except TypeError:
        return {}
    changed = {}
    for name, value in classifier.get_params(deep=False).items():
        text = f"array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        if text != repr(defaults.get(name)):
            changed[name] = text if len(text) < 60 else f"{text[:57]}..."
    return changed
