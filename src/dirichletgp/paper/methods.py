"""The methods of the paper in the paper's settings, and this library's defaults."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import DirichletGPClassifier
from ..baselines import GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier
from .dataset import Dataset


@dataclass(frozen=True)
class Method:
    """A method, how it is written, and how it is drawn (Okabe and Ito's colours, a marker each)."""

    label: str
    colour: str
    marker: str
    make: Callable[[Dataset, dict[str, Any]], Any]


def _gpd(data: Dataset, shared: dict[str, Any]) -> Any:
    return DirichletGPClassifier(
        ard=False,
        label_transform="dirichlet",
        alpha_epsilon=data.alpha_epsilon,
        **shared,
    )


def _gpc(data: Dataset, shared: dict[str, Any]) -> Any:
    if data.binary:
        return VariationalGPClassifier(ard=False, likelihood="probit", **shared)
    # The authors used RobustMax, which takes many times as long to settle. Every pass costs C times
    # as much as with two classes: the kernel comes from a sample, the rest from all rows.
    return VariationalGPClassifier(
        ard=False, likelihood="softmax", tol=1e-5, n_subsample=5_000, batch_size=None, **shared
    )


def _gpr(data: Dataset, shared: dict[str, Any]) -> Any:
    return GPRegressionClassifier(ard=False, **shared)


def _gpr_platt(data: Dataset, shared: dict[str, Any]) -> Any:
    return GPRegressionClassifier(ard=False, calibration="platt", **shared)


def _nkrr(data: Dataset, shared: dict[str, Any]) -> Any:
    return NystromRidgeClassifier(**shared)


def _defaults(data: Dataset, shared: dict[str, Any]) -> Any:
    return DirichletGPClassifier(random_state=shared["random_state"])


# The defaults have 1,000 inducing points, which is too many for a quick run.
QUICK_POINTS = 200

METHODS = {
    "gpc": Method("GPC", "#D55E00", "s", _gpc),
    "gpd": Method("GPD", "#0072B2", "o", _gpd),
    "gpr": Method("GPR", "#E69F00", "^", _gpr),
    "gpr-platt": Method("GPR (Platt)", "#009E73", "v", _gpr_platt),
    "nkrr": Method("NKRR", "#CC79A7", "D", _nkrr),
    "ours": Method("GPD (defaults)", "#56B4E9", "P", _defaults),
}


def parameters(model: Any) -> dict[str, Any]:
    """All parameters that the result of a fit depends on, as JSON."""
    return {
        key: value for key, value in model.get_params().items() if key not in ("n_jobs", "verbose")
    }


def estimator(name: str, data: Dataset, seed: int, **changes: Any) -> Any:
    """A method in the settings of the paper.

    Min-max scaling, an isotropic RBF kernel, the paper's inducing points and alpha.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    data : Dataset
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
