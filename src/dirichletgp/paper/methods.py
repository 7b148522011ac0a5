"""The methods of the paper in the paper's settings, and this library's defaults."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import DirichletGPClassifier
from ..baselines import GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier

if TYPE_CHECKING:
    from .plan import Data


@dataclass(frozen=True)
class Method:
    """A method, how it is written, and how it is drawn (colours of Okabe and Ito, a marker each)."""

    label: str
    colour: str
    marker: str
    make: Callable[["Data", dict[str, Any]], Any]


def _gpd(data: "Data", shared: dict[str, Any]) -> Any:
    alpha = data.alpha_epsilon
    return DirichletGPClassifier(
        ard=False, label_transform="dirichlet", alpha_epsilon=alpha, **shared
    )


def _gpc(data: "Data", shared: dict[str, Any]) -> Any:
    if data.binary:
        return VariationalGPClassifier(ard=False, likelihood="probit", **shared)
    # The authors used RobustMax, which takes many times as long to settle. Every pass costs C times
    # as much as with two classes: the kernel comes from a sample, the rest from all rows.
    return VariationalGPClassifier(
        ard=False, likelihood="softmax", tol=1e-5, n_subsample=5_000, batch_size=None, **shared
    )


# The defaults have 1,000 inducing points, which is too many for a quick run.
QUICK_POINTS = 200

METHODS = {
    "gpc": Method("GPC", "#D55E00", "s", _gpc),
    "gpd": Method("GPD", "#0072B2", "o", _gpd),
    "gpr": Method(
        "GPR", "#E69F00", "^", lambda data, shared: GPRegressionClassifier(ard=False, **shared)
    ),
    "gpr-platt": Method(
        "GPR (Platt)",
        "#009E73",
        "v",
        lambda data, shared: GPRegressionClassifier(ard=False, calibration="platt", **shared),
    ),
    "nkrr": Method("NKRR", "#CC79A7", "D", lambda data, shared: NystromRidgeClassifier(**shared)),
    "ours": Method(
        "GPD (defaults)",
        "#56B4E9",
        "P",
        lambda data, shared: DirichletGPClassifier(random_state=shared["random_state"]),
    ),
}


def parameters(model: Any) -> dict[str, Any]:
    """All parameters that the result of a fit depends on, as JSON."""
    return {
        key: value for key, value in model.get_params().items() if key not in ("n_jobs", "verbose")
    }


def estimator(name: str, data: "Data", seed: int, **changes: Any) -> Any:
    """A method in the settings of the paper: min-max scaling, isotropic RBF kernel, the paper's points and alpha.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    data : Data
    seed : int
    **changes
        Parameters that differ from the paper's.
    """
    shared = {
        "kernel": "rbf",
        "scaler": "minmax",
        "n_inducing": data.n_inducing,
        "inducing": data.inducing,
        "random_state": seed,
    }
    made = METHODS[name].make(data, shared)
    if name == "ours" and data.quick:
        made.set_params(n_inducing=QUICK_POINTS)
    if name == "gpc" and data.quick:
        made.set_params(max_iter=5)
    return made.set_params(**changes)
