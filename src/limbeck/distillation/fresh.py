"""A student before its first lesson."""

from typing import Any

import torch

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.models.students import word_student
from limbeck.models.transformer import transformer_student
from limbeck.recipe.student import AnyStudent, AnyWordStudent, Transformer


def fresh_student(
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
    if isinstance(section, Transformer):
        facts = vocabulary.facts
        return transformer_student(
            section,
            teacher=start_from,
            vocabulary=facts["teacher_ids"],
            vocabulary_size=facts["tokens"],
            pad_token_id=facts["pad_id"],
            labels=corpus.labels,
            multi_label=corpus.is_multi_label,
        )
    return _of_words(section, alone=alone, vocabulary=vocabulary, corpus=corpus)


def _of_words(section: AnyWordStudent, *, alone: bool, vocabulary: VocabularyFolder, corpus: Corpus) -> Any:
    facts, vectors = vocabulary.facts, vocabulary.vectors()
    if alone and section.word_vectors == "teacher":
        section, vectors = section.model_copy(update={"tune_vectors": True}), None
    model = word_student(
        section,
        vocabulary_size=facts["tokens"],
        embedding_size=facts["width"],
        labels=corpus.labels,
        pair=corpus.is_pair,
        multi_label=corpus.is_multi_label,
    )
    model.start_vectors(None if vectors is None else torch.from_numpy(vectors))
    return model
