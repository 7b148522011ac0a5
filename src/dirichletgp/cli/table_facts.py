"""What a model file says of the table it comes from, checked: it is shown to people."""

from typing import Any

from .._gp.core.fields import expect, text, texts, whole_number

_TEXTS = ("source", "tested_on")


def checked_facts(content: Any) -> dict[str, Any]:
    """Where a model comes from, and how it did; `ValueError` if that is not what it says."""
    expect(isinstance(content, dict), "facts")
    facts = dict(content)
    for name in _TEXTS:
        if name in facts:
            text(facts[name], name)
    if "training_rows" in facts:
        whole_number(facts["training_rows"], "number of rows")
    if "refitted" in facts:
        expect(type(facts["refitted"]) is bool, "whether it was fitted again")
    if "warnings" in facts:
        texts(facts["warnings"], "warnings")
    if "test" in facts:
        _check_test(facts["test"])
        text(facts["tested_on"], "rows of the test")
    return facts


def _check_test(test: Any) -> None:
    whole_number(test["rows"], "number of rows")
    for key, metric in test["metrics"].items():
        text(key, "metric")
        ends = [metric[end] for end in ("low", "high") if metric[end] is not None]
        for number in (metric["value"], *ends):
            expect(type(number) in (int, float), "metric")
            float(number)
    verdict = test["verdict"]
    for name in ("level", "headline"):
        text(verdict[name], "verdict")
    texts(list(verdict["sentences"]), "verdict")
