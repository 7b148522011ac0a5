"""Texts that are nearly all different, known by the words in them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows.columns import Columns
from dirichletgp._gp.rows.frames import Frame
from dirichletgp._gp.rows.kinds import Unused
from dirichletgp._gp.rows.learning import Wishes, learned_columns
from dirichletgp._gp.rows.texts import Texts
from dirichletgp._gp.rows.wordings import Wording, _evidence, telling_words

OPTIONS = {"kernel": "rbf", "n_inducing": 20, "max_iter": 0, "random_state": 0}


def titles(n, seed=0):
    """Titles of listings that are all different, and labels that some of their words tell."""
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.5
    said = rng.random(n) < 0.9
    what = np.where(label == said, "ROOM", "house")
    place = rng.choice(["east", "west", "south"], n)
    text = [f"{w} no. {i} {p}" for i, (w, p) in enumerate(zip(what, place, strict=True))]
    frame = pd.DataFrame({"title": text, "size": rng.normal(size=n).round(3)})
    return frame, np.where(label, "let", "sold")


def wording_of(frame, labels):
    return learned_columns(Frame(frame), Wishes(), labels).kinds[0]


def test_evidence_is_the_likelihood_ratio_test_of_scipy():
    rng = np.random.default_rng(0)
    totals = np.array([40, 25, 10])
    counts = np.array([rng.binomial(totals, p) for p in (0.1, 0.5, 0.9)], dtype=float)
    counts[0, 2] = 0
    one_by_one = [
        chi2_contingency([with_it, totals - with_it], correction=False, lambda_="log-likelihood")[0]
        for with_it in counts
    ]
    np.testing.assert_allclose(_evidence(counts, totals), one_by_one, rtol=1e-10)


def test_words_that_tell_the_label_come_first_then_frequent_ones():
    frame, labels = titles(300)
    words = wording_of(frame, labels).words
    assert set(words[:2]) == {"room", "house"}
    assert words[2:] == sorted(
        words[2:], key=lambda w: -frame["title"].str.lower().str.split().map(lambda t: w in t).sum()
    )
    assert "no" not in words  # it is in every title


def test_names_that_tell_nothing_are_left_out():
    rng = np.random.default_rng(0)
    given = rng.choice(["Ann", "Bob", "Eve", "Jim", "Kim"], size=(500, 2))
    names = [f"{first} {second} {i}" for i, (first, second) in enumerate(given.tolist())]
    frame = pd.DataFrame({"name": names, "x": rng.normal(size=500)})
    for seed in range(5):
        labels = np.random.default_rng(seed).integers(3, size=500)
        assert isinstance(wording_of(frame, labels), Unused)


def test_without_labels_such_texts_are_left_out():
    frame, _ = titles(100)
    assert isinstance(learned_columns(Frame(frame), Wishes()).kinds[0], Unused)


def test_words_are_ones_and_zeros_whatever_the_case_and_missing_texts_have_none():
    columns = learned_columns(Frame(titles(300)[0]), Wishes(), titles(300)[1])
    few = pd.DataFrame({"title": ["a Room, east", "bedroom", None], "size": [0.0, 1.0, 2.0]})
    wording = columns.kinds[0]
    matrix = columns.matrix(few)
    expected = [[float(w in ("room", "east")) for w in wording.words], [0.0] * len(wording.words)]
    np.testing.assert_array_equal(matrix[:2, :-1], expected)
    np.testing.assert_array_equal(matrix[2, :-1], 0.0)
    assert columns.names[:-1] == [f"title_{word}" for word in wording.words]
    assert "'room'" in columns.described()[0][1] or "'house'" in columns.described()[0][1]


def test_many_classes_choose_no_words():
    texts = Texts(["my dog", "the cat"], np.arange(400) % 2)
    assert telling_words(texts, np.arange(400) % 2)
    assert telling_words(texts, np.arange(400) // 2 * 2 + np.arange(400) % 2) == []


def test_a_model_learns_from_words_and_keeps_them_in_its_file(tmp_path):
    frame, labels = titles(400)
    X, y, X_test, y_test = frame[:300], labels[:300], frame[300:], labels[300:]
    model = DirichletGPClassifier(**OPTIONS).fit(X, y)
    assert model.score(X_test, y_test) > 0.8
    assert np.mean(model.classes_[model.loo_proba(X, y).argmax(axis=1)] == y) > 0.8
    model.save(tmp_path / "model.dgp")
    again = DirichletGPClassifier.load(tmp_path / "model.dgp")
    other_order = X_test[["size", "title"]]
    np.testing.assert_allclose(again.predict_proba(other_order), model.predict_proba(X_test))


def test_files_blocks_and_votes_choose_the_same_words(tmp_path):
    frame, labels = titles(300)
    expected = wording_of(frame, labels)
    frame.assign(label=labels).to_csv(tmp_path / "rows.csv", index=False)
    from_file = DirichletGPClassifier(**OPTIONS).fit(tmp_path / "rows.csv", y="label")
    blocks = [(frame[:150], labels[:150]), (frame[150:], labels[150:])]
    of_blocks = DirichletGPClassifier(**OPTIONS).fit(blocks)
    votes = pd.DataFrame({name: labels == name for name in ("let", "sold")}).astype(float)
    of_votes = DirichletGPClassifier(**OPTIONS).fit(frame, votes)
    for model in (from_file, of_blocks, of_votes):
        assert model._fitted.features.columns.kinds[0] == expected


@pytest.mark.parametrize("words", [[], ["room", "room"], "room", [1]])
def test_a_file_with_other_words_is_refused(words):
    kind = {"kind": "wording", "name": "title", "words": words}
    content = {"n_in": 1, "names_in": ["title"], "kinds": [kind], "blanks": [""]}
    with pytest.raises(ValueError, match="words"):
        Columns.from_json(content)
    content["kinds"] = [{**kind, "words": ["room"]}]
    assert Columns.from_json(content).kinds == (Wording("title", ["room"]),)
