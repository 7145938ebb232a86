"""What out-of-fold models look at: words, vectors of an encoder that saw no label, or what the teacher looks at."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key, fingerprint_of
from limbeck.artifacts.rows import Rows
from limbeck.models.tfidf import ABSENT, fitted_classifier, sampled_rows
from limbeck.progress import Bar, Reporter
from limbeck.recipe.teacher import AnyTeacher, EncoderTeacher
from limbeck.review.folds import Ints, Logits, View
from limbeck.teacher.fine_tune import start_encoder
from limbeck.teacher.run import opened, prepare_teacher

INVERSE_PENALTY = 1.0  # of the linear head; the vectors have the length 1
MOST_ITERATIONS = 500
ROWS_AT_A_TIME = 2048  # whose vectors are kept together

Vectors = npt.NDArray[np.float32]


def words_view(rows: Rows, corpus: Corpus) -> View:
    """TF-IDF of words and characters with a linear classifier; of very many rows it is trained on a sample."""
    classes = len(corpus.labels)

    def answer(known: Ints, asked: Ints) -> Logits:
        train, unseen = rows.select(known), rows.select(asked)
        used = train.select(sampled_rows(train.labels, train.characters, classes=classes))
        classifier, _ = fitted_classifier(
            used.texts, used.pairs, used.labels, classes=classes, class_weights=corpus.class_weights
        )
        return classifier.logits(unseen.texts, unseen.pairs)

    return answer


def vectors_view(vectors: Vectors, labels: Ints, *, classes: int) -> View:
    """A linear head (logistic regression) on vectors that no label has changed."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled = vectors / np.maximum(length, 1e-6)

    def answer(known: Ints, asked: Ints) -> Logits:
        if labels.ndim == 1:
            return _head(scaled[known], labels[known], scaled[asked], classes=classes)
        columns = [
            _head(scaled[known], labels[known, number], scaled[asked], classes=2) for number in range(labels.shape[1])
        ]
        return np.stack([one[:, 1] - one[:, 0] for one in columns], axis=1)

    return answer


def _head(vectors: Vectors, labels: Ints, asked: Vectors, *, classes: int) -> Logits:
    """(asked, classes): logarithms of probabilities; ABSENT for a class that no row to learn from has."""
    from sklearn.linear_model import LogisticRegression

    found = np.full((len(asked), classes), ABSENT, dtype=np.float32)
    present = np.unique(labels)
    if len(present) == 1:
        found[:, present] = 0.0
        return found
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=MOST_ITERATIONS).fit(vectors, labels)
    found[:, present] = model.predict_log_proba(asked)
    return found


def frozen_vectors(section: EncoderTeacher, corpus: Corpus, rows: Rows, *, work: Path, bar: Bar) -> Vectors:
    """(rows, width): the mean of the last states of the checkpoint that the teacher was fine-tuned from.

    After fine-tuning, the vectors of a row depend on its label. Blocks that are finished are kept in `work`.
    """
    encoder: Any = None
    blocks = []
    for number, start in enumerate(range(0, len(rows), ROWS_AT_A_TIME)):
        block = rows.select(np.arange(start, min(start + ROWS_AT_A_TIME, len(rows))))
        path = work / "encoded" / f"{number}.npy"
        if path.is_file():
            bar.advance(len(block))
        else:
            encoder = encoder or start_encoder(section.model_copy(update={"train": "head"}), corpus=corpus)
            found = encoder.logits_and_features(block.texts, block.pairs, pooling="mean", bar=bar)[1]
            _keep(path, found)
        blocks.append(np.load(path).astype(np.float32))
    return np.concatenate(blocks)


def _keep(path: Path, vectors: npt.NDArray[np.float16]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".partial")
    with scratch.open("wb") as file:
        np.save(file, vectors)
    scratch.replace(path)


def teacher_view(section: AnyTeacher, corpus: Corpus, rows: Rows, *, work: Path, reporter: Reporter) -> View:
    """The teacher of the recipe, prepared again for each part; dev chooses its epoch, as it does in a run."""

    def answer(known: Ints, asked: Ints) -> Logits:
        train, unseen = rows.select(known), rows.select(asked)
        name = f"teacher-{fingerprint_of(' '.join(train.ids))[:12]}"
        key = Key(section={"of": name}, inputs={"corpus": corpus.fingerprint})
        with written_atomically(work / f"{name}-corpus", kind="corpus", key=key) as scratch:
            save_corpus(scratch, splits={"train": train, "dev": corpus.splits["dev"]}, facts=corpus.facts)
        part = Corpus(work / f"{name}-corpus")
        teacher = prepare_teacher(section, corpus=part, out=work / name, key=key, reporter=reporter)
        return opened(teacher).logits(unseen.texts, unseen.pairs)

    return answer
