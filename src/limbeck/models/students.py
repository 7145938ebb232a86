"""Every student of words by its section in the recipe."""

from typing import Unpack, assert_never

from limbeck.models.bag import bag
from limbeck.models.bilstm import bilstm
from limbeck.models.textcnn import textcnn
from limbeck.models.word_student import WordStudentModel, WordTask
from limbeck.recipe.student import AnyWordStudent, Bag, BiLstm, TextCnn


def word_student(section: AnyWordStudent, **task: Unpack[WordTask]) -> WordStudentModel:
    """A student with fresh weights, as the recipe asks for it."""
    match section:
        case BiLstm():
            return bilstm(section, **task)
        case TextCnn():
            return textcnn(section, **task)
        case Bag():
            return bag(section, **task)
        case _:
            assert_never(section)
