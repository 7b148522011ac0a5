"""What a report says, as plain numbers and texts that can be written as JSON."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Metric:
    """A headline number with its 95 % interval.

    Attributes
    ----------
    key, name, meaning : str
    value : float
    low, high : float or None
        None if the rows do not tell: there is one, or all have the same score.
    baseline : float or None
        What guessing reaches: the most frequent class, or the class frequencies; None where that
        means nothing.
    """

    key: str
    name: str
    value: float
    low: float | None
    high: float | None
    meaning: str
    baseline: float | None = None

    @property
    def texts(self) -> dict[str, str]:
        """Its numbers as people read them."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        numbers["baseline"] = self.baseline
        return {
            name: metric_text(self.key, number)
            for name, number in numbers.items()
            if number is not None
        }

    @property
    def interval(self) -> str:
        """Its interval as people read it, or why it has none."""
        if self.low is None or self.high is None:
            return "\u2013 (rows too alike)"
        return f"{self.texts['low']} to {self.texts['high']}"


def metric_text(key: str, number: float) -> str:
    r"""A metric as people read it: shares in percent, calibration errors in percentage points.

    Examples
    --------
    >>> metric_text("accuracy", 0.9), metric_text("ece", 0.031), metric_text("mnll", 0.25)
    ('90.0\xa0%', '3.1\xa0pp', '0.250')
    """
    if key in ("accuracy", "precision", "recall"):
        return f"{100 * number:.1f}\u00a0%"
    return f"{100 * number:.1f}\u00a0pp" if key == "ece" else f"{number:.3f}"


@dataclass(frozen=True)
class Verdict:
    """Calibration in plain words.

    Attributes
    ----------
    level : {"good", "open", "slight", "noticeable", "poor"}
        "open" if there are too few rows to tell.
    headline : str
    sentences : list of str
    """

    level: str
    headline: str
    sentences: list[str]


@dataclass(frozen=True)
class Curve:
    """A reliability curve.

    Attributes
    ----------
    label : str
        The class; empty for the predicted class.
    error : float
        The calibration error.
    by_chance : float
        What the error of a perfectly calibrated model stays below, 19 times in 20.
    rows : int
        Rows for which the event came true.
    bins : list of dict
        One per occupied bin.
    histogram : list of float
        Share of the rows in every bin.
    words : list of str
        What intervals and band say of the diagonal.
    """

    label: str
    error: float
    by_chance: float
    rows: int
    bins: list[dict[str, float]]
    histogram: list[float]
    words: list[str]


@dataclass(frozen=True)
class ReportNumbers:
    """All that the page shows.

    Attributes
    ----------
    title, created : str
    n_rows : int
        Rows that everything was measured on.
    classes : list of str
    metrics : list of Metric
    verdict : Verdict
    reliability : Curve
        Of the second of two classes, or of the predicted class of many.
    classwise : list of Curve
        Of each class against the rest.
    confusion : list of list of int
        Rows are true classes, columns predicted ones.
    rejection : list of dict
        Share of rows refused, accuracy of the others with its interval, and the confidence from
        which rows are kept; as long as enough rows are left.
    rows : dict
        "columns" (none unless their contents were asked for) and the rows "least", "most" (certain)
        and "wrong" (the most certain that were wrong).
    uncertainty : dict or None
        A sample of rows with aleatoric and epistemic uncertainty, and shares of the whole.
    relevance : list of dict
        Share of each feature, the largest first, and which way it works if that is known; empty if
        the model has no lengthscales.
    history : list of dict
    made : list of pairs of str
        How the model was made.
    checks : dict
        Rows whose label is unlikely.
    costs : list of dict
        Cost of mistakes against the share of rows declined.
    thresholds : list of dict
        For targets of precision and recall.
    outcomes : dict
        How many rows are taken for a class, rightly and in all, at each of many thresholds.
    cautions : list of str
        What to know before the numbers are believed.
    regions : dict or None
        Where the model has regions and how good each is; None if it has only one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dirichletgp import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from dirichletgp.report import gather
    >>> classifier = DirichletGPClassifier("rbf", max_iter=2, random_state=0).fit(X, y)
    >>> numbers = gather(classifier, X, y)
    >>> numbers.n_rows, numbers.classes
    (150, ['0', '1', '2'])
    """

    title: str
    created: str
    n_rows: int
    classes: list[str]
    metrics: list[Metric]
    verdict: Verdict
    reliability: Curve
    classwise: list[Curve]
    confusion: list[list[int]]
    rejection: list[dict[str, float]]
    rows: dict[str, Any]
    uncertainty: dict[str, Any] | None = None
    relevance: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    made: list[tuple[str, str]] = field(default_factory=list)
    checks: dict[str, Any] = field(default_factory=dict)
    costs: list[dict[str, Any]] = field(default_factory=list)
    thresholds: list[dict[str, Any]] = field(default_factory=list)
    outcomes: dict[str, Any] = field(default_factory=dict)
    cautions: list[str] = field(default_factory=list)
    regions: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Dicts, lists, texts and numbers."""
        return asdict(self)
