"""Rows of files and Arrow tables: one reader, for `fit` and for the command line."""

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows.door import Given
from dirichletgp._gp.rows.tables import csv_tables, reading
from dirichletgp._gp.rows.tables.errors import TableError
from dirichletgp._gp.rows.tables.table import FORMAT_OF_SUFFIX, table_rows

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pc  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from pyarrow import ipc  # noqa: E402

N, D = 300, 4


def reader_of(where, label, weight=None, columns=None):
    """The reader that `fit(where, y=label)` gets."""
    return table_rows(Given(where, label, weight, columns)).reader


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(N, D, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    return X, np.array(["low", "mid", "top"])[y]


@pytest.fixture(scope="module")
def table(data):
    X, y = data
    weights = np.where(np.arange(N) % 5, 1.0, 2.0)
    return pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "label": y, "weight": weights})


@pytest.fixture(scope="module")
def plain(table):
    return table.drop_columns(["weight"])


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    return DirichletGPClassifier(
        **{
            "kernel": "rbf",
            "n_inducing": 20,
            "max_iter": 3,
            "random_state": 0,
            **labels,
            **parameters,
        }
    )


@pytest.fixture(scope="module")
def in_memory(data):
    return quick().fit(*data)


def latent(classifier, X):
    names = getattr(classifier, "feature_names_in_", None)
    return classifier.latent_mean_and_variance(
        X if names is None else pd.DataFrame(X, columns=names)
    )


def assert_same(one, other, X, atol=1e-10):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.inducing_points_, other.inducing_points_, rtol=1e-12)
    for mine, theirs in zip(latent(one, X), latent(other, X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=atol, atol=atol)
    np.testing.assert_allclose(one.class_prior_, other.class_prior_)


def write(table, path):
    """Write a table as the suffix says."""
    name = str(path)
    if name.endswith((".parquet", ".pq")):
        pq.write_table(table, path)
    elif name.endswith((".arrow", ".feather", ".ipc")):
        with ipc.new_file(name, table.schema) as writer:
            writer.write_table(table)
    else:
        delimiter = "\t" if ".tsv" in name else ";" if ".txt" in name else ","
        sink = pa.BufferOutputStream()
        pc.write_csv(table, sink, pc.WriteOptions(delimiter=delimiter))
        content = sink.getvalue().to_pybytes()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def rows_of(source):
    """All rows and labels of a source."""
    blocks = list(source.blocks())
    return np.concatenate([b.X for b in blocks]), np.concatenate([b.labels for b in blocks])


# The same rows from everywhere


def test_files_tables_and_datasets_give_the_model_of_the_array(plain, data, in_memory, tmp_path):
    X, _ = data
    pq.write_table(plain, tmp_path / "rows.parquet", row_group_size=100)
    write(plain, tmp_path / "rows.csv")
    (tmp_path / "parts").mkdir()
    parts = [
        write(plain.slice(100 * i, 100), tmp_path / "parts" / f"part-{i}.parquet") for i in range(3)
    ]
    sources = {
        "path": tmp_path / "rows.parquet",
        "string": str(tmp_path / "rows.parquet"),
        "csv": tmp_path / "rows.csv",
        "glob": str(tmp_path / "parts" / "*.parquet"),
        "folder": tmp_path / "parts",
        "list": parts,
        "table": plain,
        "batch": plain.combine_chunks().to_batches()[0],
        "dataset": ds.dataset(tmp_path / "parts"),
    }
    for source in sources.values():
        classifier = quick().fit(source, "label")
        assert_same(classifier, in_memory, X)
        names = classifier.feature_names_in_
        assert names.tolist() == ["x0", "x1", "x2", "x3"]
        assert classifier.predict(pd.DataFrame(X, columns=names)).shape == (N,)


@pytest.mark.parametrize("suffix", [*FORMAT_OF_SUFFIX, ".csv.gz", ".tsv.gz", ".CSV"])
def test_every_suffix_is_read_by_fit_and_by_the_command_line(plain, data, suffix, tmp_path):
    X, y = data
    path = write(plain, tmp_path / f"rows{suffix}")
    found, labels = rows_of(reader_of(path, "label"))
    np.testing.assert_allclose(found, X, rtol=1e-14)
    np.testing.assert_array_equal(labels, y)
    read = reading.read_table(str(path))
    assert read.column_names == plain.column_names
    np.testing.assert_allclose(read["x0"].cast(pa.float64()).to_numpy(), X[:, 0], rtol=1e-14)


def test_an_arrow_stream_that_was_kept_in_a_file_can_be_read_twice(plain, data, tmp_path):
    with ipc.new_stream(str(tmp_path / "rows.arrow"), plain.schema) as writer:
        writer.write_table(plain)
    source = reader_of(tmp_path / "rows.arrow", "label", columns=["x1"])
    for _ in range(2):
        np.testing.assert_array_equal(rows_of(source)[0], data[0][:, [1]])


def test_folders_hold_parts_without_suffix_and_hidden_files(plain, data, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "_logs").mkdir()
    write(plain.slice(0, 100), tmp_path / "a.parquet").rename(tmp_path / "a")
    write(plain.slice(100, 100), tmp_path / "b.parquet")
    write(plain.slice(200), tmp_path / "inner" / "c.parquet")
    for name in (".a.crc", "_SUCCESS", "_logs/log"):
        (tmp_path / name).write_bytes(b"not a table")
    np.testing.assert_array_equal(rows_of(reader_of(tmp_path, "label"))[0], data[0])


def test_files_of_one_table_may_have_their_columns_in_any_order(plain, data, tmp_path):
    names = plain.column_names
    for suffix in (".parquet", ".csv"):
        first = write(plain.slice(0, 100), tmp_path / f"a{suffix}")
        second = write(plain.slice(100).select(names[::-1]), tmp_path / f"b{suffix}")
        found, _ = rows_of(reader_of([first, second], "label"))
        np.testing.assert_allclose(found, data[0], rtol=1e-14)


def test_weights_may_be_a_column(table, data):
    X, y = data
    expected = quick().fit(X, y, table["weight"].to_numpy())
    assert_same(quick().fit(table, "label", "weight"), expected, X)


def test_row_groups_whose_rows_all_have_weight_zero_are_not_there(table, data, tmp_path):
    X, y = data
    weights = (np.arange(N) >= 200).astype(float)
    weighted = table.set_column(D + 1, "weight", pa.array(weights))
    pq.write_table(weighted, tmp_path / "t.parquet", row_group_size=100)
    found = quick().fit(tmp_path / "t.parquet", "label", "weight")
    assert_same(found, quick().fit(X, y, weights), X)


def test_class_weights_count_in_files_too(plain, data):
    X, y = data
    for class_weight in ("balanced", {"low": 3.0}):
        one, other = (quick(class_weight=class_weight) for _ in range(2))
        # Training magnifies the rounding of a prior.
        assert_same(one.fit(plain, "label"), other.fit(X, y), X, 1e-6)


def test_columns_choose_and_order_the_features(table, data):
    X, y = data
    classifier = quick().fit(table, "label", columns=["x2", "x0"])
    assert_same(classifier, quick().fit(X[:, [2, 0]], y), X[:, [2, 0]])


@pytest.mark.parametrize(
    "kind",
    [
        "int8",
        "int64",
        "uint16",
        "bool",
        "float64",
        "string",
        "large_string",
        "dictionary",
        "dictionary of ints",
    ],
)
def test_labels_of_every_type(data, kind):
    X, y = data
    codes = (y == "low").astype(int)
    columns = {
        "string": lambda: pa.array(y),
        "large_string": lambda: pa.array(y.tolist(), pa.large_string()),
        "dictionary": lambda: pa.array(y).dictionary_encode(),
        "dictionary of ints": lambda: pa.array(codes + 7).dictionary_encode(),
    }
    column = columns.get(kind, lambda: pa.array(codes.astype(kind)))()
    frame = pa.table({"a": X[:, 0], "b": X[:, 1], "label": column})
    classifier = quick().fit(frame, "label")
    assert classifier.classes_.tolist() == sorted(set(column.to_pylist()))


def test_integer_float32_and_boolean_features_are_numbers(data):
    X, y = data
    single, positive, number = X[:, 0].astype(np.float32), X[:, 1] > 0, np.arange(N)
    frame = pa.table({"a": single, "b": positive, "c": number, "label": y})
    expected = np.column_stack([single, positive, number]).astype(float)
    assert_same(quick().fit(frame, "label"), quick().fit(expected, y), expected)


# CSV as people have it


def test_a_column_of_csv_may_begin_with_integers_and_go_on_with_fractions(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 1_000)
    numbers = [*range(2_000), 0.5]
    labels = [0, 1] * 1_000 + [1]
    lines = [f"{number},{label}" for number, label in zip(numbers, labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,label", *lines]))
    found, classes = rows_of(reader_of(tmp_path / "rows.csv", "label"))
    np.testing.assert_array_equal(found[:, 0], numbers)
    assert classes.dtype.kind == "i"


def test_delimiters_quotes_marks_of_encoding_and_empty_lines_are_seen(tmp_path):
    texts = {
        "comma": "x,label\n1,a\n2,b\n",
        "semicolon": "x;label\n1;a\n2;b\n",
        "tab": "x\tlabel\n1\ta\n2\tb\n",
        "bar": "x|label\n1|a\n2|b\n",
        "quotes": '"x",label,"a;b;c"\n1,a,0\n2,b,0\n',
        "lines within quotes": '"x",label,"a\nb"\n1,a,0\n2,b,0\n',
        "mark": "\ufeffx,label\n1,a\n2,b\n",
        "empty lines": "\n\r\nx,label\n1,a\n\n2,b\n",
        "carriage returns": "x,label\r\n1,a\r\n2,b\r\n",
    }
    for text in texts.values():
        (tmp_path / "rows.csv").write_bytes(text.encode())
        found, labels = rows_of(reader_of(tmp_path / "rows.csv", "label", columns=["x"]))
        assert found.tolist() == [[1.0], [2.0]]
        assert labels.tolist() == ["a", "b"]
        read = reading.read_table(str(tmp_path / "rows.csv"))
        assert read.column_names[:2] == ["x", "label"]
        assert read["x"].to_pylist() == ["1", "2"]
    (tmp_path / "rows.tsv").write_text("x\ta,b,c\tlabel\n1\t0\ta\n2\t0\tb\n")
    assert reader_of(tmp_path / "rows.tsv", "label").columns.names_in == ["x", "a,b,c"]


@pytest.mark.parametrize("labels", ["ab", "01"])
def test_texts_with_line_breaks_are_read_wherever_blocks_end(labels, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 1_000)
    lines = [f'{i},"so\nmany\n{i}\nlines",{labels[i % 2]}' for i in range(500)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,story,label", *lines]))
    found, _ = rows_of(reader_of(tmp_path / "rows.csv", "label", columns=["x"]))
    np.testing.assert_array_equal(found[:, 0], np.arange(500))
    assert (
        reading.read_table(str(tmp_path / "rows.csv"))["story"][7].as_py() == "so\nmany\n7\nlines"
    )


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-be", "UTF8"])
def test_the_command_line_reads_any_encoding(encoding, tmp_path):
    (tmp_path / "rows.csv").write_bytes("größe;art\n1;ä\n2;ö\n".encode(encoding))
    read = reading.read_table(str(tmp_path / "rows.csv"), encoding=encoding)
    assert read.to_pydict() == {"größe": ["1", "2"], "art": ["ä", "ö"]}


def test_columns_that_are_not_wanted_are_not_read(tmp_path):
    (tmp_path / "rows.csv").write_bytes("x,name,label\n1,ä,0\n2,b,1\n".encode("latin-1"))
    found, _ = rows_of(reader_of(tmp_path / "rows.csv", "label", columns=["x"]))
    assert found.tolist() == [[1.0], [2.0]]


def test_batches_of_wide_tables_have_few_rows(tmp_path):
    wide = pa.table({f"x{j}": np.zeros(3_000, np.int8) for j in range(4_000)})
    table = reading.open_table(str(write(wide, tmp_path / "wide.parquet")))
    assert max(batch.num_rows for batch in table.batches()) <= 1_100
    assert max(batch.num_rows for batch in table.batches(["x0", "x1"])) == 3_000


# What is refused


def test_errors_say_what_is_wrong(table, plain, data, tmp_path):
    _, y = data
    words = table.append_column("s", table["label"])
    cases = [
        (
            lambda: quick().fit(tmp_path / "missing.parquet", "label"),
            FileNotFoundError,
            "no such file",
        ),
        (
            lambda: quick().fit(str(tmp_path / "*.parquet"), "label"),
            FileNotFoundError,
            "no file matches",
        ),
        (lambda: quick().fit(tmp_path, "label"), FileNotFoundError, "no files in that folder"),
        (
            lambda: quick().fit(table, "lable"),
            ValueError,
            r"y='lable': there is no such column; the columns are",
        ),
        (
            lambda: quick().fit(table),
            TypeError,
            "y is a NoneType; .* y is the name of the label column",
        ),
        (lambda: quick().fit(table, y), TypeError, "y is a ndarray"),
        (
            lambda: quick().fit(table, "label", "w"),
            ValueError,
            "sample_weight='w': there is no such column",
        ),
        (
            lambda: quick().fit(table, "label", columns=["x9"]),
            ValueError,
            "columns='x9': there is no such column",
        ),
        (lambda: quick().fit(table, "label", columns=["label"]), ValueError, "name features only"),
        (
            lambda: quick(categorical_features=None).fit(words, "label"),
            ValueError,
            "texts in column 's', such as 'low'",
        ),
        (lambda: quick().fit(plain.select(["label"]), "label"), ValueError, "no columns besides"),
        (lambda: quick().fit(plain.slice(0, 0), "label"), ValueError, "no rows"),
        (lambda: quick().fit(plain, "x0"), ValueError, "not numbers|continuous|Unknown label type"),
        (lambda: quick().fit(plain.to_reader(), "label"), TypeError, "cannot be read twice"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


def test_a_failed_fit_from_a_table_leaves_the_estimator_as_it_was(data, plain):
    X, y = data
    classifier = quick().fit(X, y)
    before = classifier.predict_proba(X)
    with pytest.raises(ValueError, match="one class only"):
        classifier.fit(plain.filter(pa.compute.equal(plain["label"], "low")), "label")
    np.testing.assert_array_equal(classifier.predict_proba(X), before)


def test_files_that_cannot_be_read_are_refused_in_words_for_python(plain, tmp_path):
    contents = {
        "rows.parquet": (b"PAR1 not really", "cannot be read"),
        "rows.pq": (b"", "is empty"),
        "rows.csv": (b"", "is empty"),
        "blank.csv": (b"   \n1\n", "has an empty first line"),
        "latin.csv": ("größe,label\n1,0\n".encode("latin-1"), "is not UTF-8 text"),
        "utf16.csv": ("x,label\n1,0\n".encode("utf-16"), "holds UTF-16, not CSV in UTF-8"),
        "ragged.csv": (b"x,label\n1,0\n2,1,2\n", "ragged.csv cannot be read: line 3 has 3 values"),
        "rows.xls": (b"", "ends in none of"),
    }
    for name, (content, message) in contents.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            reader_of(tmp_path / name, "label")
        assert "--" not in str(caught.value)
        assert str(caught.value).startswith("X")
    write(plain, tmp_path / "parquet.csv.pq").rename(tmp_path / "called.csv")
    with pytest.raises(ValueError, match="holds Parquet, not CSV"):
        reader_of(tmp_path / "called.csv", "label")
    both = [write(plain, tmp_path / "a.parquet"), write(plain, tmp_path / "a.csv")]
    with pytest.raises(ValueError, match="several formats"):
        reader_of(both, "label")


def test_of_several_files_the_one_at_fault_is_named(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,label\n1,0\n")
    (tmp_path / "b.csv").write_bytes(b"x,label\n1,0\n2,1,2\n")
    source = reader_of(str(tmp_path / "*.csv"), "label")
    with pytest.raises(ValueError, match=r"b\.csv cannot be read: line 3 has 3 values"):
        list(source.blocks())


def test_the_command_line_refuses_tables_that_are_too_wide_or_name_a_column_twice(tmp_path):
    (tmp_path / "twice.csv").write_text("a,a,b\n1,2,3\n")
    with pytest.raises(TableError, match="more than one column named 'a'"):
        reading.open_table(str(tmp_path / "twice.csv"))
    (tmp_path / "wide.csv").write_text(",".join(f"x{j}" for j in range(5_001)))
    with pytest.raises(TableError, match="has 5,001 columns; at most 5,000"):
        reading.open_table(str(tmp_path / "wide.csv"))
    with pytest.raises(TableError, match="encoding 'nonsense' is not known"):
        reading.open_table(str(tmp_path / "twice.csv"), encoding="nonsense")


def test_infinities_and_rows_without_a_label_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="infinity in column 'b'"):
        quick().fit(pa.table({"a": X[:, 0], "b": [np.inf, *X[1:, 1]], "label": y}), "label")
    for missing in (None, ""):
        labels = [missing, missing, *y[2:].tolist()]
        with pytest.raises(ValueError, match="y='label': 2 rows have no label; drop them"):
            quick().fit(pa.table({"a": X[:, 0], "label": labels}), "label")


# Columns that are not all numbers


def columns_of(classifier):
    return classifier._fitted.features.columns


@pytest.fixture(scope="module")
def mixed(data):
    """A table with categories, dates and holes, as text and as typed columns."""
    X, y = data
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, N), unit="D")
    frame = pd.DataFrame(
        {
            "id": np.arange(N),
            "x": np.where(rng.random(N) < 0.1, np.nan, X[:, 0]),
            "z": X[:, 1],
            "colour": rng.choice(["red", "green", "blue", "?"], N),
            "day": days,
            "label": y,
        }
    )
    return frame


def described(classifier):
    return dict(columns_of(classifier).described())


def test_tables_with_texts_dates_and_holes_are_taken(mixed, tmp_path):
    mixed.to_csv(tmp_path / "rows.csv", index=False)
    pq.write_table(pa.Table.from_pandas(mixed), tmp_path / "rows.parquet")
    from_csv = quick().fit(tmp_path / "rows.csv", "label")
    expected = {
        "id": "not used: an id, different in every row",
        "x": "number, missing is a value of its own",
        "z": "number",
        "colour": "3 categories, missing is a value of its own",
        "day": "date: day, season, weekday",
    }
    assert described(from_csv) == expected
    raw = mixed.drop(columns="label")
    probabilities = from_csv.predict_proba(raw)
    for source in (tmp_path / "rows.parquet", pa.Table.from_pandas(mixed)):
        classifier = quick().fit(source, "label")
        assert described(classifier) == expected
        np.testing.assert_allclose(classifier.predict_proba(raw), probabilities, atol=1e-6)
    read_again = pd.read_csv(tmp_path / "rows.csv", float_precision="round_trip")
    read_again = read_again[raw.columns[::-1]]
    np.testing.assert_array_equal(from_csv.predict_proba(read_again), probabilities)


def test_numbers_with_holes_are_read_without_another_look(data, tmp_path):
    X, y = data
    holes = np.where(np.arange(N)[:, None] % 7 == 0, np.nan, X[:, :2])
    frame = pd.DataFrame(holes, columns=["a", "b"]).assign(label=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_csv(tmp_path / "marks.csv", index=False, na_rep="?")
    expected = quick().fit(holes, y)
    for source in (pa.Table.from_pandas(frame), tmp_path / "rows.csv", tmp_path / "marks.csv"):
        classifier = quick().fit(source, "label")
        assert [kind.missing for kind in columns_of(classifier).kinds] == [True, True]
        found = classifier.predict_proba(frame[["b", "a"]])
        np.testing.assert_allclose(found, expected.predict_proba(holes), atol=1e-6)


def test_a_text_far_down_in_a_column_of_numbers_counts_as_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 1_000)
    monkeypatch.setattr("dirichletgp._gp.rows.tables.mixed_rows.LEARNED_FROM", 500)
    lines = [f"{i % 17 / 4},{i % 3},{'ab'[i % 2]}" for i in range(2_000)]
    for place, warns in ((10, False), (1_990, True)):
        changed = [*lines]
        changed[place] = f"unknown,1,{'ab'[place % 2]}"
        (tmp_path / "rows.csv").write_text("\n".join(["x,n,label", *changed]))
        if warns:
            with pytest.warns(UserWarning, match="'x' holds texts that are not numbers: 'unknown'"):
                classifier = quick().fit(tmp_path / "rows.csv", "label")
        else:
            classifier = quick().fit(tmp_path / "rows.csv", "label")
        assert described(classifier)["x"].startswith("number, missing")


def test_categories_of_tables_can_be_chosen(data):
    X, y = data
    frame = pa.table({"a": X[:, 0], "code": np.arange(N) % 4, "label": y})
    for chosen in (["code"], [1], [False, True]):
        classifier = quick(categorical_features=chosen).fit(frame, "label")
        assert columns_of(classifier).levels.tolist() == [0, 4]
    assert columns_of(quick(categorical_features=[]).fit(frame, "label")).is_plain


def test_categories_that_first_appear_late_are_not_known(monkeypatch):
    monkeypatch.setattr("dirichletgp._gp.rows.tables.mixed_rows.LEARNED_FROM", 100)
    monkeypatch.setattr("dirichletgp._gp.rows.tables.table._MOST_ROWS", 100)
    colour = ["red", "green"] * 50 + ["blue", "red"] * 50
    frame = pa.table({"colour": colour, "label": [0, 1] * 100})
    classifier = quick().fit(frame, "label")
    assert columns_of(classifier).levels.tolist() == [2]
    assert np.isfinite(classifier.predict_proba(pd.DataFrame({"colour": ["blue"]}))).all()
