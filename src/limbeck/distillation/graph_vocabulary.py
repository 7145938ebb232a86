"""The words of a graph convolution, and the graph of them and the training rows that its network learns with."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.distillation.size_limit import SizeLimit, cut_facts, levers_of, report_cut
from limbeck.distillation.transformer_vocabulary import texts_of
from limbeck.distillation.vocabulary import most_tokens
from limbeck.distillation.word_graph import Floats, Sparse, WordGraph
from limbeck.models.students import word_student
from limbeck.models.textgcn import GraphOfTraining, Propagation, TextGcnOnGraph, textgcn_on_graph
from limbeck.progress import Reporter, counted
from limbeck.recipe.textgcn import TextGcn
from limbeck.text.forms import FormStep
from limbeck.text.student_tokenizer import SPECIAL_TOKENS, StudentTokenizer
from limbeck.text.word_tokenizer import count_words


def build_graph_vocabulary(
    section: TextGcn,
    *,
    corpus: Corpus,
    form: Sequence[FormStep],
    teacher: TeacherFolder,
    out: Path,
    key: Key,
    reporter: Reporter,
    size_limit: SizeLimit | None = None,
) -> VocabularyFolder:
    """Count the words of train; in the published set-up those of all rows, as they are all in the graph."""
    student = _shape(section, corpus=corpus)
    read = list(corpus.splits.values()) if section.transductive else [corpus.splits["train"]]
    with written_atomically(out, kind="vocabulary", key=key) as scratch:
        budget = most_tokens(student, teacher=teacher, most=section.vocabulary.max_size + len(SPECIAL_TOKENS))
        texts = sum(len(rows) * (2 if rows.is_pair else 1) for rows in read)
        with reporter.bar("counting words", total=texts, unit="texts") as bar:
            of_size = count_words(
                counted(texts_of(read), bar),
                language=corpus.language,
                max_size=budget,
                min_count=section.vocabulary.min_count,
                lowercase=section.vocabulary.lowercase,
                form=form,
                segmenter=section.vocabulary.segmenter,
            )
        tokenizer = before_limit = of_size(budget)
        if size_limit is not None:
            limit = size_limit.budget(student, levers=levers_of(section), labels=corpus.labels)
            tokenizer = of_size(limit.most_tokens(of_size, most=len(before_limit)))
        tokenizer.save(scratch / "tokenizer.json")
        facts = {
            "kind": section.vocabulary.kind,
            "tokens": len(tokenizer),
            "budget": budget,
            "width": section.hidden_size,
            **cut_facts(size_limit, before=len(before_limit), after=len(tokenizer)),
        }
        save_vocabulary(scratch, vectors=None, facts=facts)
    reporter.note(f"  vocabulary: {len(tokenizer) - len(SPECIAL_TOKENS):,} words of the graph")
    report_cut(size_limit, reporter, what="words", before=len(before_limit), after=len(tokenizer))
    return VocabularyFolder(out)


def width_of_table(section: TextGcn, *, classes: int, pair: bool) -> int:
    """The width of a word in the table that ships: a number for each class, or for pairs the first layer's states."""
    return section.hidden_size if pair else classes


def _shape(section: TextGcn, *, corpus: Corpus) -> Callable[[int], Any]:
    width = width_of_table(section, classes=len(corpus.labels), pair=corpus.is_pair)
    return lambda tokens: word_student(
        section, vocabulary_size=tokens, embedding_size=width, labels=corpus.labels, pair=corpus.is_pair
    )


def network_on_graph(section: TextGcn, *, vocabulary: VocabularyFolder, corpus: Corpus) -> TextGcnOnGraph:
    """The network before its training, with the graph of the training rows."""
    network = textgcn_on_graph(
        section,
        vocabulary_size=vocabulary.facts["tokens"],
        embedding_size=section.hidden_size,
        labels=corpus.labels,
        pair=corpus.is_pair,
        problem_type=corpus.task.problem_type,
    )
    tokenizer = StudentTokenizer.load(vocabulary.tokenizer)
    documents = known_words(corpus.splits["train"], tokenizer, max_length=section.max_length)
    graph = WordGraph.of(documents, words=len(tokenizer), window=section.window)
    network.attach(graph_of_training(graph))
    with torch.no_grad():
        network.rarity.weight.copy_(torch.from_numpy(graph.rarity[:, None]).float())
    return network


def known_words(rows: Rows, tokenizer: StudentTokenizer, *, max_length: int) -> list[npt.NDArray[np.int64]]:
    """The words of each document that are in the vocabulary, in order; each text of a pair is a document."""
    texts = [*rows.texts, *(rows.pairs or [])]
    found = [np.asarray(row, dtype=np.int64) for row in tokenizer.encode(texts, max_length=max_length)]
    return [row[row >= len(SPECIAL_TOKENS)] for row in found]


def graph_of_training(graph: WordGraph) -> GraphOfTraining:
    """The edges, divided by the roots of the degrees of both their ends."""
    from scipy.sparse import diags_array, eye_array

    of_words, of_documents = (inverse_root(degrees) for degrees in graph.degrees())
    at_words, at_documents = diags_array(of_words), diags_array(of_documents)
    words: Sparse = at_words @ (graph.words + eye_array(len(of_words))) @ at_words
    return GraphOfTraining(
        words=Propagation.of(words),
        from_documents=Propagation.of(at_words @ graph.documents.T @ at_documents),
        scale=torch.from_numpy(of_words).float(),
    )


def inverse_root(degrees: Floats) -> Floats:
    """D^-½; 0 where a node has no edge."""
    found: Floats = np.where(degrees > 0, np.maximum(degrees, 1e-12) ** -0.5, 0.0)
    return found
