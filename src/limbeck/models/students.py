"""Every student of words by its section in the recipe."""

from typing import Unpack

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.word_student import WordStudentModel, WordTask
from limbeck.recipe.student import WordStudent


def word_student(section: WordStudent, **task: Unpack[WordTask]) -> WordStudentModel:
    """A student with fresh weights, as the recipe asks for it."""
    network: WordStudentModel = resolved(STUDENT_KINDS[section.kind].network)(section, **task)
    return network
