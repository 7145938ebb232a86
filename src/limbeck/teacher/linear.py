"""TF-IDF with a linear classifier as the teacher: trained on the labels in seconds, without an encoder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.models.tfidf import TfidfClassifier, fitted_classifier, load_classifier, sampled_rows
from limbeck.progress import Bar
from limbeck.recipe.teacher import LinearTeacher
from limbeck.teacher.preparation import NOT_JUDGED, Logits, Preparation, dev_facts, labelled, scale_fact
from limbeck.training.temperature import fitted_temperature

LINEAR = "linear.json"  # its temperature
TEXTS_PER_CALL = 1024
TIMED_ROWS, TIMED_CHARACTERS = 2_000, 300_000  # at most, a second or two: with few rows a fit is mostly its start
FIRST_ROWS = 50  # of a fit before the one that is timed, which loads what it needs


@dataclass(frozen=True)
class LinearAnswers:
    """The classifier, whose margins are divided by a temperature that was fitted on dev: then they are logits. For
    scores that is 1."""

    classifier: TfidfClassifier
    temperature: float

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) in the order of the texts."""
        del tokens_per_batch  # it has no tokens, and no batches that must fit into a memory
        found = [np.zeros((0, len(self.classifier.bias) + self.classifier.is_single), dtype=np.float32)]
        for start in range(0, len(texts), TEXTS_PER_CALL):
            part = slice(start, start + TEXTS_PER_CALL)
            found.append(self.classifier.logits(texts[part], None if pairs is None else pairs[part]))
            if bar:
                bar.advance(len(found[-1]))
        logits: Logits = np.concatenate(found) / np.float32(self.temperature)
        return logits


def prepare_linear(section: LinearTeacher, given: Preparation) -> TeacherFolder:
    """Train it on the labels of train, calibrate it on dev, and evaluate it there."""
    del section  # it has no settings
    corpus, dev = given.corpus, labelled(given.corpus.splits["dev"])
    classifier, rows = _trained(corpus)
    margins = classifier.logits(dev.texts, dev.pairs)
    temperature = fitted_temperature(margins, dev.labels) if len(dev) and corpus.task.has_classes else 1.0
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        classifier.save(scratch)
        (scratch / LINEAR).write_text(json.dumps({"temperature": temperature}), encoding="utf-8")
        facts = TeacherFacts(
            name="linear",
            kind="linear",
            labels=corpus.labels,
            multi_label=corpus.is_multi_label,
            scale=scale_fact(corpus),
            **(dev_facts(margins, dev) if len(dev) else NOT_JUDGED),
        )
        save_teacher_facts(scratch, facts)
    what = "a linear classifier, trained on the labels" if corpus.task.has_classes else "ridge, fitted to the scores"
    given.reporter.note(f"  teacher linear: TF-IDF and {what} of {rows:,} rows; {facts.on_dev()}")
    return TeacherFolder(given.out)


def _trained(corpus: Corpus) -> tuple[TfidfClassifier, int]:
    train = labelled(corpus.splits["train"])
    used = train.select(sampled_rows(train.labels, train.characters, classes=len(corpus.labels)))
    classifier, _ = fitted_classifier(
        used.texts, used.pairs, used.labels, classes=len(corpus.labels), class_weights=corpus.class_weights
    )
    return classifier, len(used)


def open_linear(teacher: TeacherFolder) -> LinearAnswers:
    """A prepared teacher, opened."""
    return LinearAnswers(
        load_classifier(teacher.folder, classes=len(teacher.facts.labels)), temperature_in(teacher.folder)
    )


def temperature_in(folder: Path) -> float:
    """What its margins are divided by."""
    return float(json.loads((folder / LINEAR).read_text(encoding="utf-8"))["temperature"])


def rows_fitted(corpus: Corpus) -> int:
    """How many rows of train a linear classifier is fitted to."""
    train = labelled(corpus.splits["train"])
    return len(sampled_rows(train.labels, train.characters, classes=len(corpus.labels)))


def rate_of_fitting(corpus: Corpus) -> float:
    """Rows per second that TF-IDF and a linear classifier are fitted to on this machine, by some rows of train."""
    train = labelled(corpus.splits["train"])
    most = int(min(TIMED_ROWS, TIMED_CHARACTERS / max(1.0, train.characters.mean())))
    rows = train.select(np.linspace(0, len(train) - 1, min(len(train), max(FIRST_ROWS, most)), dtype=np.int64))
    first = rows.select(range(min(FIRST_ROWS, len(rows))))
    fit = partial(fitted_classifier, classes=len(corpus.labels), class_weights=corpus.class_weights)
    fit(first.texts, first.pairs, first.labels)
    start = perf_counter()
    fit(rows.texts, rows.pairs, rows.labels)
    return len(rows) / max(perf_counter() - start, 1e-6)


def linear_rates(section: LinearTeacher, corpus: Corpus, rows: Rows, asked: Rows) -> tuple[float, float]:
    """Rows per second of training on `rows`, and of labelling those that are `asked`."""
    del section
    start = perf_counter()
    classifier, _ = fitted_classifier(
        rows.texts, rows.pairs, rows.labels, classes=len(corpus.labels), class_weights=corpus.class_weights
    )
    trained = perf_counter()
    classifier.logits(asked.texts, asked.pairs)
    return len(rows) / max(trained - start, 1e-6), len(asked) / max(perf_counter() - trained, 1e-6)
