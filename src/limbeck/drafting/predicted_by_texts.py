"""Which of several columns is the label: the one whose values the texts predict, measured on the rows of the file.

Names decide where a column has that of a label. Where none has, a ticket's priority or channel may look like a label
as much as its queue does; but only what the texts say something about can be learned from them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.drafting.column_profile import ColumnProfile

LEAST_ROWS, MOST_ROWS = 100, 1_000  # different texts that are looked at, spread over the file
MOST_CHARACTERS = 1_500  # of a text
FOLDS = 3
CLEAR, TIMES = 0.2, 3.0  # the kappa of a column that takes the place of another, and how many times that one's it is
LEAST = 0.05  # what the other's kappa counts at least: those of two columns of nonsense have no ratio


def predicted_by_texts(texts: Sequence[str], columns: Sequence[ColumnProfile]) -> dict[int, float]:
    """Cohen's kappa of each column, by its position, by a quick classifier of words and pieces of words on rows that it
    did not learn from: 1 if all are right, about 0 if no more than by chance. Empty where there are too few rows.
    """
    places = sorted({text: at for at, text in reversed(list(enumerate(texts))) if text.strip()}.values())
    if len(places) < LEAST_ROWS:
        return {}
    chosen = [places[int(at)] for at in np.linspace(0, len(places) - 1, min(MOST_ROWS, len(places)))]
    features = _features([texts[at][:MOST_CHARACTERS] for at in chosen])
    return {one.position: _kappa(features, [one.cells[at].strip() for at in chosen]) for one in columns}


def clearly_predicted(found: dict[int, float], *, likeliest: int) -> int:
    """The position of the column that the texts predict best, if far ahead of the likeliest one; else that one."""
    best = max(found, key=found.__getitem__, default=likeliest)
    is_ahead = best != likeliest and found[best] >= max(CLEAR, TIMES * max(LEAST, found[likeliest]))
    return best if is_ahead else likeliest


def _features(texts: Sequence[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(1, 4), min_df=2).fit_transform(texts)


def _kappa(features: Any, values: Sequence[str]) -> float:
    """Of a naive Bayes classifier, which takes milliseconds even for many classes; every row is held out once."""
    from sklearn.metrics import cohen_kappa_score
    from sklearn.naive_bayes import ComplementNB

    wanted = np.array(values)
    fold = np.random.default_rng(0).permutation(len(values)) % FOLDS
    answers = wanted.copy()
    for number in range(FOLDS):
        model = ComplementNB().fit(features[fold != number], wanted[fold != number])
        answers[fold == number] = model.predict(features[fold == number])
    return float(cohen_kappa_score(wanted, answers))
