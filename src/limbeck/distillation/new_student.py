"""A student before training."""

from typing import Any

import torch
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.students import word_student
from limbeck.recipe.student import AnyStudent, Ngrams, WordStudent, source_kind


def new_student(
    section: AnyStudent,
    *,
    alone: bool,
    vocabulary: VocabularyFolder,
    corpus: Corpus,
    start_from: Any | None,
) -> Any:
    """The student that the recipe asks for; random numbers are drawn from torch's global generator.

    A baseline (`alone`) gets nothing from the teacher. Its random word vectors replace the teacher's, and are trained
    in any case: frozen random vectors would make the gain look larger than it is. A transformer starts from the
    classifier `start_from`: for the baseline that is the checkpoint before it was fine-tuned as the teacher.
    """
    if isinstance(section, WordStudent):
        return _new_word_student(section, alone=alone, vocabulary=vocabulary, corpus=corpus)
    if isinstance(section, Ngrams):
        return _new_ngrams(section, vocabulary=vocabulary, corpus=corpus)
    facts = vocabulary.facts
    return resolved(STUDENT_KINDS[section.kind].network)(
        section,
        teacher=start_from,
        vocabulary=facts["teacher_ids"],
        vocabulary_size=facts["tokens"],
        pad_token_id=facts["pad_id"],
        labels=corpus.labels,
        multi_label=corpus.is_multi_label,
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


def _new_ngrams(section: Ngrams, *, vocabulary: VocabularyFolder, corpus: Corpus) -> Any:
    """With the weights and the fit of the vocabulary, which has nothing from the teacher: also for the baseline."""
    model = _network(section, vocabulary.facts, corpus)
    arrays = {name: vocabulary.array(name) for name in ("word_weights", "vectors", "classifier")}
    model.start(**{name: torch.from_numpy(array) for name, array in arrays.items() if array is not None})
    return model


def _network(section: WordStudent | Ngrams, facts: dict[str, Any], corpus: Corpus) -> Any:
    """With random weights; the vocabulary's facts have its sizes."""
    return word_student(
        section,
        vocabulary_size=facts["tokens"],
        embedding_size=facts["width"],
        labels=corpus.labels,
        pair=corpus.is_pair,
        multi_label=corpus.is_multi_label,
    )


def _is_given(section: WordStudent, facts: dict[str, Any], *, alone: bool) -> Tensor:
    """(width): which dimensions of the vectors come from the vocabulary; the others stay random."""
    random = ("random", "teacher") if alone else ("random",)
    single = {"source": source_kind(section.vector_sources[0]), "width": facts["width"]}
    parts = facts.get("parts", [single])  # written only for several sources
    return torch.cat([torch.full((part["width"],), part["source"] not in random) for part in parts])
