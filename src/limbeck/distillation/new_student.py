"""A student before training."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.vocabulary_folder import IS_GENERAL, VocabularyFolder
from limbeck.distillation.graph_vocabulary import network_on_graph
from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.students import word_student
from limbeck.models.word_student import PAD
from limbeck.recipe.student import AnyStudent, Ngrams, WordStudent, source_kind
from limbeck.recipe.textgcn import TextGcn
from limbeck.text.student_tokenizer import StudentTokenizer


def new_student(
    section: AnyStudent,
    *,
    alone: bool,
    vocabulary: VocabularyFolder,
    corpus: Corpus,
    start_from: Any | None,
    general: GeneralFolder | None = None,
) -> Any:
    """The student that the recipe asks for; random numbers are drawn from torch's global generator.

    A baseline (`alone`) gets nothing from the teacher. Its random word vectors replace the teacher's, and are trained
    in any case: frozen random vectors would make the gain look larger than it is. A transformer starts from the
    classifier `start_from`: for the baseline that is the checkpoint before it was fine-tuned as the teacher. Both
    start from a `general` student, which knows nothing of the task.
    """
    if isinstance(section, WordStudent) and general is not None:
        return _from_general(section, general, alone=alone, vocabulary=vocabulary, corpus=corpus)
    if isinstance(section, WordStudent):
        return _new_word_student(section, alone=alone, vocabulary=vocabulary, corpus=corpus)
    if isinstance(section, Ngrams):
        return _new_ngrams(section, vocabulary=vocabulary, corpus=corpus)
    if isinstance(section, TextGcn):
        return network_on_graph(section, vocabulary=vocabulary, corpus=corpus)
    facts = vocabulary.facts
    return resolved(STUDENT_KINDS[section.kind].network)(
        section,
        teacher=start_from,
        vocabulary=facts["teacher_ids"],
        vocabulary_size=facts["tokens"],
        pad_token_id=facts["pad_id"],
        labels=corpus.labels,
        problem_type=corpus.task.problem_type,
    )


def _new_word_student(section: WordStudent, *, alone: bool, vocabulary: VocabularyFolder, corpus: Corpus) -> Any:
    facts, vectors = vocabulary.facts, vocabulary.vectors()
    if alone and "teacher" in section.vector_sources:
        section = section.model_copy(update={"tune_vectors": True})
    model = _network(section, facts, corpus)
    start, is_given = None, _is_given(section, facts, alone=alone)
    if vectors is not None and is_given.any():
        start = torch.where(is_given, torch.from_numpy(vectors), model.word_vectors)
    model.start_vectors(start)
    return model


def _from_general(
    section: WordStudent, general: GeneralFolder, *, alone: bool, vocabulary: VocabularyFolder, corpus: Corpus
) -> Any:
    """With the vectors of the vocabulary, and with the body of the general student if that has the same shape.

    The baseline's own words, whose vectors would be the teacher's, stay random.
    """
    facts, vectors, is_general = vocabulary.facts, vocabulary.vectors(), vocabulary.array(IS_GENERAL)
    assert vectors is not None, "a vocabulary with a general student has vectors"
    assert is_general is not None, "and says which are its own"
    model = _network(section, facts, corpus)
    start, is_known = torch.from_numpy(vectors), torch.from_numpy(is_general).bool()
    if alone:
        start = torch.where(is_known[:, None], start, model.word_vectors)
    start[PAD] = 0.0
    model.start_vectors(start)
    if not not_taken_over(section, general):
        _take_over(model, general.body(), words=general.vocabulary, own_words=vocabulary.tokenizer)
    return model


def not_taken_over(section: WordStudent, general: GeneralFolder) -> list[str]:
    """Why the body of a general student does not fit, key by key; empty if it is taken over."""
    facts = general.facts
    if facts.kind != section.kind:
        return [f'kind = "{section.kind}", and it is a "{facts.kind}"']
    different = [
        f"{name} = {json.dumps(getattr(section, name))}, and it has {json.dumps(value)}"
        for name, value in facts.shape.items()
        if getattr(section, name) != value
    ]
    width = min(section.embedding_size, facts.width)
    return different + ([f"embedding_size = {width}, and it has {facts.width}"] if width != facts.width else [])


def _take_over(model: Any, body: dict[str, Any], *, words: Sequence[str], own_words: Path) -> None:
    """Copy the weights; what has a row for each word goes by the word."""
    own = StudentTokenizer.from_json(own_words.read_text(encoding="utf-8")).vocabulary
    places = {word: place for place, word in enumerate(words)}
    found = torch.tensor([places.get(word, -1) for word in own])
    state = model.state_dict()
    for name, weights in body.items():
        tensor = torch.from_numpy(weights)
        if len(tensor) == len(words) and len(state[name]) == len(own):
            state[name][found >= 0] = tensor[found[found >= 0]]
        else:
            state[name].copy_(tensor)


def _new_ngrams(section: Ngrams, *, vocabulary: VocabularyFolder, corpus: Corpus) -> Any:
    """With the weights and the fit of the vocabulary, which has nothing from the teacher: also for the baseline."""
    model = _network(section, vocabulary.facts, corpus)
    arrays = {name: vocabulary.array(name) for name in ("word_weights", "vectors", "classifier")}
    model.start(**{name: torch.from_numpy(array) for name, array in arrays.items() if array is not None})
    if is_finished_at_start(section, vocabulary):
        model.train_vectors_alone()
    return model


def is_finished_at_start(section: AnyStudent, vocabulary: VocabularyFolder) -> bool:
    """Whether a student starts as the whole of a classifier that was fitted to the labels: epochs on the same labels
    would only lead away from it. With fewer numbers than classes, or a layer before the classes, it is a part."""
    fitted = vocabulary.array("classifier") if isinstance(section, Ngrams) and not section.dense_size else None
    return fitted is not None and vocabulary.facts["width"] >= len(fitted)


def _network(section: WordStudent | Ngrams, facts: dict[str, Any], corpus: Corpus) -> Any:
    """With random weights; the vocabulary's facts have its sizes."""
    return word_student(
        section,
        vocabulary_size=facts["tokens"],
        embedding_size=facts["width"],
        labels=corpus.labels,
        pair=corpus.is_pair,
        problem_type=corpus.task.problem_type,
    )


def _is_given(section: WordStudent, facts: dict[str, Any], *, alone: bool) -> Tensor:
    """(width): which dimensions of the vectors come from the vocabulary; the others stay random."""
    random = ("random", "teacher") if alone else ("random",)
    single = {"source": source_kind(section.vector_sources[0]), "width": facts["width"]}
    parts = facts.get("parts", [single])  # written only for several sources
    return torch.cat([torch.full((part["width"],), part["source"] not in random) for part in parts])
