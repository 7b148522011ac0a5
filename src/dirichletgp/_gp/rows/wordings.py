"""Texts that are nearly all different: names, titles, sentences, known by the words in them.

No two rows share such a text, but they share words: "room" in the title of a listing, "Mrs" in a
name. A word is kept if labels differ between the rows with it and those without it by more than
chance would have it, among all words that were looked at. So a column of names that tell nothing
keeps no word, and is left out. Where there are such words, some frequent ones are kept beside them:
a word may tell something only together with other columns, as "Master" does of men.
"""

import re
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

from ..core.arrays import AnyArray, Array, Integers
from .frames import Numbers, Values, Words, other_kind
from .texts import Texts

# Runs of letters and digits; a single letter, such as an initial, is no word.
_WORD = re.compile(r"\d+\b|[^\W_]{2,}")
# Words that tell something by themselves, and how many there are at least if frequent ones are
# taken to fill up.
_MOST_WORDS, _FILLED_UP_TO = 24, 12
# A word must be in so many rows, and not be in so many.
_FEWEST_ROWS = 20
# How often words that tell nothing may be taken for words that do: once in a hundred columns.
_BY_CHANCE = 0.01
# So many rows are enough to choose words from; with more classes, most would hardly have a word.
_CHOSEN_FROM, _MOST_CLASSES = 20_000, 100


@dataclass(frozen=True)
class Wording:
    """Whether each of some words is in a text: 1, or 0 if it is not, or if there is no text.

    Attributes
    ----------
    name : str
    words : list of str
        In lower case.
    """

    name: str
    words: list[str]

    @property
    def names(self) -> list[str]:
        """Names of the matrix columns."""
        return [f"{self.name}_{word}" for word in self.words]

    @property
    def levels(self) -> list[int]:
        """A zero for each matrix column, which all hold numbers."""
        return [0] * len(self.words)

    @property
    def treatment(self) -> str:
        """What is done, in words."""
        if len(self.words) == 1:
            return f"text: whether it has the word {self.words[0]!r}"
        shown = ", ".join(repr(word) for word in self.words[:3])
        return f"text: which of {len(self.words)} words it has, such as {shown}"

    def matrix(self, values: Values, notify: object) -> Array:
        """Matrix columns (n, number of words) of values."""
        if isinstance(values, Numbers):
            texts = values.as_texts()
        elif isinstance(values, Words):
            texts = values.texts
        else:
            raise other_kind(self.name, values, "texts")
        place = {word: j for j, word in enumerate(self.words)}
        found = np.zeros((len(texts.distinct) + 1, len(self.words)))
        for row, text in enumerate(texts.distinct):
            found[row, [place[word] for word in words_of(text) if word in place]] = 1.0
        return found[texts.codes]


def words_of(text: str) -> set[str]:
    """The different words of a text, in lower case.

    Examples
    --------
    >>> sorted(words_of("Cosy ROOM for 2, near a room_mate"))
    ['2', 'cosy', 'for', 'mate', 'near', 'room']
    """
    return set(_WORD.findall(text.casefold()))


def telling_words(texts: Texts, labels: AnyArray) -> list[str]:
    """The words that tell most about labels (n,), the best first; none if none tells anything.

    The likelihood-ratio test of a word and the labels, for as many words as there are. Few words
    are filled up by the most frequent others.

    Examples
    --------
    >>> import numpy as np
    >>> texts = Texts(["my dog", "the cat"], np.arange(100) % 2)
    >>> telling_words(texts, np.arange(100) % 2)[:2], telling_words(texts, np.arange(100) // 50)
    (['cat', 'dog'], [])
    """
    classes, of_rows = np.unique(labels, return_inverse=True)
    present = np.flatnonzero(texts.codes >= 0)
    if len(classes) > _MOST_CLASSES or len(present) == 0:
        return []
    step = -(-len(present) // _CHOSEN_FROM)
    rows = present[::step]
    words, counts = _counted(texts, rows, of_rows, len(classes))
    with_it = counts.sum(axis=1)
    often = (with_it >= _FEWEST_ROWS) & (len(rows) - with_it >= _FEWEST_ROWS)
    words, counts = words[often], counts[often]
    if len(words) == 0:
        return []
    evidence = _evidence(counts, np.bincount(of_rows[rows], minlength=len(classes)))
    enough = chi2.isf(_BY_CHANCE / len(words), len(classes) - 1)
    best = np.argsort(-evidence, kind="stable")[:_MOST_WORDS]
    best = best[evidence[best] > enough]
    if len(best) == 0:
        return []
    frequent = np.argsort(-counts.sum(axis=1), kind="stable")
    others = frequent[~np.isin(frequent, best)][: max(0, _FILLED_UP_TO - len(best))]
    return [str(words[j]) for j in (*best, *others)]


def _counted(
    texts: Texts, rows: Integers, of_rows: Integers, n_classes: int
) -> tuple[AnyArray, Array]:
    """The words (V,) of some rows, in order, and in how many rows of each class they are (V, C)."""
    used, place = np.unique(texts.codes[rows], return_inverse=True)
    in_texts = [words_of(texts.distinct[code]) for code in used.tolist()]
    known = sorted(set(chain.from_iterable(in_texts)))
    number = {word: j for j, word in enumerate(known)}
    n_words = np.array([len(words) for words in in_texts], dtype=np.intp)
    every = np.array([number[w] for words in in_texts for w in words], dtype=np.intp)
    by_text = np.bincount(place * n_classes + of_rows[rows], minlength=len(used) * n_classes)
    by_text = by_text.reshape(len(used), n_classes)
    of_text = np.repeat(np.arange(len(used)), n_words)
    counts = np.column_stack(
        [np.bincount(every, by_text[of_text, c], len(known)) for c in range(n_classes)]
    )
    return np.array(known, dtype=object), counts.astype(np.float64)


def _evidence(counts: Array, totals: Integers) -> Array:
    """Likelihood-ratio statistic (V,) of words in `counts` (V, C) of `totals` (C,) rows.

    Without a bond between word and label it is chi-square distributed, with C - 1 degrees.
    """
    n = float(totals.sum())
    without = totals - counts
    statistic = xlogy(counts, counts).sum(axis=1) + xlogy(without, without).sum(axis=1)
    statistic += xlogy(n, n) - xlogy(totals, totals).sum()
    for margin in (counts.sum(axis=1), without.sum(axis=1)):
        statistic -= xlogy(margin, margin)
    return np.asarray(2.0 * statistic)
