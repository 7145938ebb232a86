"""Makes any student that reads vectors of words or n-grams from its section in the recipe."""

from typing import Unpack

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.word_student import WordStudentModel, WordTask
from limbeck.recipe.student import Ngrams, WordStudent
from limbeck.recipe.textgcn import TextGcn


def word_student(section: WordStudent | Ngrams | TextGcn, **task: Unpack[WordTask]) -> WordStudentModel:
    """A newly initialised student, as the recipe describes it."""
    network: WordStudentModel = resolved(STUDENT_KINDS[section.kind].network)(section, **task)
    return network
