"""The vocabulary of a student of n-grams: the number of buckets, their weights, and a linear fit to start from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil, log, log2
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.distillation.linear_fit import best_ridge, fit_classifier, scaled_on, weighted_rows
from limbeck.distillation.size_limit import SizeLimit, cut_facts, levers_of, report_cut
from limbeck.distillation.transformer_vocabulary import texts_of
from limbeck.distillation.vocabulary import most_tokens
from limbeck.models.students import word_student
from limbeck.progress import Reporter, counted
from limbeck.recipe.student import Ngrams
from limbeck.text.forms import FormStep
from limbeck.text.ngrams import NgramSettings, first_part
from limbeck.text.student_tokenizer import SPECIAL_TOKENS, StudentTokenizer

WIDTH_OF_PAIRS = 64
WIDEST = 512  # one number for each class is what a linear model needs: 56 for 64 classes lose 4 points of its fit
COUNTED_ROWS = 200_000  # of train, and of each of the other texts: n-grams are counted in so many
FITTED_ROWS = 100_000  # of train
TEXTS_AT_ONCE = 4_096
FEWEST_BUCKETS = 1 << 12
BUCKETS_PER_NGRAM = 2
MOST_BYTES = 8_000_000  # of the int8 file, unless classes are so many that this leaves fewer buckets than
ENOUGH_BUCKETS = 1 << 15
WITHOUT_VECTOR = 8  # bytes of a bucket in that file besides its vector: scale and weight
UNSEEN = log(1e-3)  # weight of buckets without an n-gram: new n-grams say nothing, and should not shrink the others

Floats = npt.NDArray[np.float32]


def build_ngram_vocabulary(
    section: Ngrams,
    *,
    corpus: Corpus,
    extra: Sequence[Rows],
    form: Sequence[FormStep],
    teacher: TeacherFolder,
    out: Path,
    key: Key,
    reporter: Reporter,
    size_limit: SizeLimit | None = None,
) -> VocabularyFolder:
    """Count n-grams in train and the extra rows, weight them by their document frequency, and fit the start on train.

    The labels that the fit reads are those of train, so that the baseline can start from it too.
    """
    width = width_of_ngrams(section, classes=len(corpus.labels), pair=corpus.is_pair)
    student = _shape(section, corpus=corpus, width=width)
    with written_atomically(out, kind="vocabulary", key=key) as scratch:
        read = [_at_most(rows, COUNTED_ROWS) for rows in (corpus.splits["train"], *extra)]
        of_size = _of_size(section, form)
        distinct = _distinct(_blocks(read, reporter), section, form)
        budget = most_tokens(student, teacher=teacher, most=section.vocabulary.max_size + len(SPECIAL_TOKENS))
        tokenizer = before_limit = of_size(min(budget, _buckets(distinct, width, section) + len(SPECIAL_TOKENS)))
        if size_limit is not None:
            limit = size_limit.budget(student, levers=levers_of(section), labels=corpus.labels)
            tokenizer = of_size(limit.most_tokens(of_size, most=len(before_limit)))
        tokenizer.save(scratch / "tokenizer.json")
        weights = _weights(tokenizer, _blocks(read, reporter), max_length=section.max_length)
        arrays = {"word_weights": weights}
        if section.start == "fit" and not corpus.is_pair:
            reporter.note("  fitting a linear classifier to start from")
            arrays |= _fit(tokenizer, weights, corpus=corpus, width=width, max_length=section.max_length)
        vectors = arrays.pop("vectors", None)
        facts = {
            "kind": section.vocabulary.kind,
            "tokens": len(tokenizer),
            "budget": budget,
            "width": width,
            "distinct": distinct,
            **cut_facts(size_limit, before=len(before_limit), after=len(tokenizer)),
        }
        save_vocabulary(scratch, vectors=vectors, facts=facts, others=arrays)
    reporter.note(f"  vocabulary: {distinct:,} n-grams in {len(tokenizer) - len(SPECIAL_TOKENS):,} buckets")
    report_cut(size_limit, reporter, what="buckets", before=len(before_limit), after=len(tokenizer))
    return VocabularyFolder(out)


def width_of_ngrams(section: Ngrams, *, classes: int, pair: bool) -> int:
    """The width of the vectors: one number for each class is all that a linear model of single texts can use."""
    return section.embedding_size or (WIDTH_OF_PAIRS if pair else min(classes, WIDEST))


def _shape(section: Ngrams, *, corpus: Corpus, width: int) -> Callable[[int], Any]:
    return lambda tokens: word_student(
        section, vocabulary_size=tokens, embedding_size=width, labels=corpus.labels, pair=corpus.is_pair
    )


def _of_size(section: Ngrams, form: Sequence[FormStep]) -> Callable[[int], StudentTokenizer]:
    vocabulary = section.vocabulary
    settings = NgramSettings(
        buckets=2,
        words=vocabulary.words,
        shortest=vocabulary.shortest,
        longest=vocabulary.longest,
        form=tuple(form),
    )

    def of_size(size: int) -> StudentTokenizer:
        buckets = max(2, size - len(SPECIAL_TOKENS))
        return StudentTokenizer.from_json(replace(settings, buckets=buckets).to_json())

    return of_size


def _at_most(rows: Rows, most: int) -> Rows:
    if len(rows) <= most:
        return rows
    return rows.select(np.linspace(0, len(rows) - 1, num=most, dtype=np.int64))


def _blocks(read: Sequence[Rows], reporter: Reporter) -> Iterator[list[str]]:
    """All texts, some at a time."""
    count = sum(len(rows) * (2 if rows.is_pair else 1) for rows in read)
    with reporter.bar("counting n-grams", total=count, unit="texts") as bar:
        block: list[str] = []
        for text in counted(texts_of(read), bar):
            block.append(text)
            if len(block) == TEXTS_AT_ONCE:
                yield block
                block = []
        yield block


def _distinct(blocks: Iterator[list[str]], section: Ngrams, form: Sequence[FormStep]) -> int:
    """The number of different n-grams; not counted further once there are more than buckets."""
    found: set[int] = set()
    everything = _of_size(section, form)(1 << 32)  # so many buckets that hardly two n-grams share one
    for block in blocks:
        if len(found) < section.vocabulary.max_size:
            found.update(*everything.encode(block, max_length=section.max_length))
    return len(found)


def _buckets(distinct: int, width: int, section: Ngrams) -> int:
    """A power of two, twice as many as n-grams where the limits allow it."""
    wanted = 1 << ceil(log2(max(FEWEST_BUCKETS, BUCKETS_PER_NGRAM * distinct)))
    most = max(MOST_BYTES, ENOUGH_BUCKETS * (min(width, WIDEST) + WITHOUT_VECTOR))
    while wanted * (width + WITHOUT_VECTOR) > most and wanted > FEWEST_BUCKETS:
        wanted //= 2
    return min(wanted, section.vocabulary.max_size)


def _weights(tokenizer: StudentTokenizer, blocks: Iterator[list[str]], *, max_length: int) -> Floats:
    """(tokens): ln idf of every bucket, with idf = ln((1 + texts) / (1 + texts with it)) + 1 as in scikit-learn.

    Words get a common factor, with which they and the parts of words contribute the same to the length of a text's
    vector: there are several times as many parts as words.
    """
    texts, frequencies = 0, np.zeros(len(tokenizer))
    for block in blocks:
        for row in tokenizer.encode(block, max_length=max_length):
            frequencies[row] += 1  # a row has every bucket once
        texts += len(block)
    weights: npt.NDArray[np.float64] = np.log((1 + texts) / (1 + frequencies)) + 1
    energy = frequencies * weights**2
    parts = first_part(len(tokenizer) - len(SPECIAL_TOKENS))
    of_words, of_parts = energy[:parts].sum(), energy[parts:].sum()
    if of_words and of_parts:
        weights[:parts] *= np.sqrt(of_parts / of_words)
    return np.where(frequencies > 0, np.log(weights), UNSEEN).astype(np.float32)


def _fit(
    tokenizer: StudentTokenizer, weights: Floats, *, corpus: Corpus, width: int, max_length: int
) -> dict[str, Floats]:
    """Vectors and classifier of a linear model of train, on the scale that suits dev best."""
    splits = corpus.splits["train"], corpus.splits["dev"]
    train, dev = (rows.select(np.flatnonzero(rows.is_labelled)) for rows in splits)
    train = _at_most(train, FITTED_ROWS)
    features = [weighted_rows(tokenizer.encode(rows.texts, max_length=max_length), weights) for rows in (train, dev)]
    if not corpus.task.has_classes:
        return best_ridge(features[0], train.labels, held_out=features[1], scores=dev.labels).of_width(width)
    fitted = fit_classifier(features[0], train.labels, classes=len(corpus.labels), class_weights=corpus.class_weights)
    fitted = scaled_on(features[1], dev.labels, fitted)
    return fitted.of_width(width)
