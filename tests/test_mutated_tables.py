"""Damaged tables are refused with an error that names the file, or read; nothing else happens.

More of them: set DIRICHLETGP_EXAMPLES, as `make fuzz` does.
"""

import json
import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, feather, parquet  # noqa: E402

from dirichletgp._gp.rows.columns import Columns  # noqa: E402
from dirichletgp._gp.rows.door import Given, SampleSize, choose_rows  # noqa: E402
from dirichletgp._gp.rows.tables.earlier_recipe import Recipe  # noqa: E402

EXAMPLES = int(os.environ.get("DIRICHLETGP_EXAMPLES", "60"))
HARD = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.normal(size=60),
            "b": rng.integers(0, 5, size=60),
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, 60)],
            "day": [f"2024-01-{1 + k % 28:02d}" for k in range(60)],
            "y": np.array(["yes", "no"])[rng.integers(0, 2, 60)],
        }
    )
    csv.write_csv(table, folder / "rows.csv")
    parquet.write_table(table, folder / "rows.parquet")
    feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
    return {path.suffix: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
@HARD
@given(data=st.data())
def test_a_damaged_table_is_read_or_refused(tables, tmp_path, suffix, data):
    content = bytearray(tables[suffix])
    for _ in range(data.draw(st.integers(1, 3))):
        # Headers are at the beginning of CSV and at both ends of the others.
        places = st.integers(0, 120) | st.integers(max(0, len(content) - 1_500), len(content))
        start = data.draw(places | st.integers(0, len(content)))
        stop = start + data.draw(st.integers(0, 20))
        content[start:stop] = data.draw(st.binary(max_size=20))
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rows = choose_rows(Given(path, "y", None))
            found = rows.summary(SampleSize(1_000, 0), 0)
        except (ValueError, OSError) as error:
            assert str(error)  # noqa: PT017
            return
    assert found.n_rows == len(found.sample.X) == len(found.sample.labels)
    assert not np.any(np.isinf(found.sample.X))


KINDS = [
    {"kind": "number", "name": "a", "missing": True, "style": "plain", "mistakes": []},
    {"kind": "category", "name": "b", "categories": ["x", "y"], "missing": False, "rare": True},
    {"kind": "date", "name": "c", "pattern": "%d.%m.%Y", "parts": ["day", "hour"]},
    {"kind": "unused", "name": "d", "reason": "constant"},
]
COLUMNS = {"n_in": 4, "names_in": ["a", "b", "c", "d"], "kinds": KINDS, "blanks": ["", "?"]}
RECIPE = {
    "target": "y",
    "columns": [
        {"kind": "number", "name": "a", "median": 0.5, "missing": True},
        {"kind": "category", "name": "b", "categories": ["x"], "other": True, "missing": False},
        {
            "kind": "date",
            "name": "c",
            "pattern": "iso",
            "parts": ["day"],
            "median": 0.0,
            "missing": False,
        },
        {"kind": "unused", "name": "d", "reason": "constant"},
    ],
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["%Y%Y", "%", "iso", "day", "number", "category"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value):
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("kind", ["columns", "recipe"])
@HARD
@given(data=st.data())
def test_a_forged_description_of_columns_is_refused_or_reads_rows(kind, data):
    content = json.loads(json.dumps(COLUMNS if kind == "columns" else RECIPE))
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(list(places(content))))
        container[key] = data.draw(JSON)
    try:
        found = Columns.from_json(content) if kind == "columns" else Recipe.from_json(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        return  # what a file with such a description is refused for
    names = found.names_in if kind == "columns" else [column.name for column in found.columns]
    texts = {name: pa.array(["1", "x", None, "2024-01-01"]) for name in names or []}
    if not texts:
        return
    table = pa.table(texts)
    rows = found.matrix(table, lambda *_: None) if kind == "columns" else None
    if rows is None:
        rows = found.rows(table, lambda *_: None) if found.needed else np.zeros((4, 0))
    assert len(rows) == 4
