"""A student before its first lesson."""

from typing import Any

import torch
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.students import word_student
from limbeck.recipe.student import AnyStudent, WordStudent, source_kind


def new_student(
    section: AnyStudent,
    *,
    alone: bool,
    vocabulary: VocabularyFolder,
    corpus: Corpus,
    start_from: Any | None,
) -> Any:
    """The student that the recipe asks for; random numbers are drawn from torch's own state.

    A baseline has nothing of the teacher. Word vectors that the teacher made are replaced by random ones, which learn
    in any case: random ones that stand still would make the gain look larger than it is. A transformer starts from
    the classifier `start_from`: for the baseline that is the checkpoint as it was before it became the teacher.
    """
    if isinstance(section, WordStudent):
        return _of_words(section, alone=alone, vocabulary=vocabulary, corpus=corpus)
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


def _of_words(section: WordStudent, *, alone: bool, vocabulary: VocabularyFolder, corpus: Corpus) -> Any:
    facts, vectors = vocabulary.facts, vocabulary.vectors()
    if alone and "teacher" in section.vector_sources:
        section = section.model_copy(update={"tune_vectors": True})
    model = word_student(
        section,
        vocabulary_size=facts["tokens"],
        embedding_size=facts["width"],
        labels=corpus.labels,
        pair=corpus.is_pair,
        multi_label=corpus.is_multi_label,
    )
    start, given = None, _given(section, facts, alone=alone)
    if vectors is not None and given.any():
        start = torch.where(given, torch.from_numpy(vectors), model.word_vectors)
    model.start_vectors(start)
    return model


def _given(section: WordStudent, facts: dict[str, Any], *, alone: bool) -> Tensor:
    """(width): which numbers of a vector come from the vocabulary; the others stay as they were drawn."""
    drawn = ("random", "teacher") if alone else ("random",)
    only = {"source": source_kind(section.vector_sources[0]), "width": facts["width"]}
    parts = facts.get("parts", [only])  # a single source is not told in parts
    return torch.cat([torch.full((part["width"],), part["source"] not in drawn) for part in parts])
