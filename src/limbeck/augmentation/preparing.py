"""From the recipe's methods to methods that are ready for the rows."""

from typing import assert_never

from limbeck.artifacts.rows import Rows
from limbeck.augmentation.delete import DeleteWords
from limbeck.augmentation.masked_lm import masked_lm
from limbeck.augmentation.masking import MaskWords
from limbeck.augmentation.method import Bench, Prepared
from limbeck.augmentation.ngram import KeepNgram
from limbeck.augmentation.pairing import pairing
from limbeck.augmentation.pos_swap import pos_swap
from limbeck.augmentation.swap import SwapWords
from limbeck.augmentation.word_vectors import word_vectors
from limbeck.recipe.augmentation import Delete, MaskedLm, Masking, Method, Ngram, Pairing, PosSwap, Swap, WordVectors


def prepared(method: Method, rows: Rows, bench: Bench) -> Prepared:
    """The method, ready to change the texts of these rows."""
    match method:
        case PosSwap():
            return pos_swap(method, rows, bench)
        case WordVectors():
            return word_vectors(method, rows, bench)
        case MaskedLm():
            return masked_lm(method, rows, bench)
        case Pairing():
            return pairing(method, rows, bench)
        case _:
            return _ready_as_it_is(method)


def _ready_as_it_is(method: Masking | Delete | Ngram | Swap) -> Prepared:
    """The methods that need to know nothing of the rows."""
    match method:
        case Masking():
            return MaskWords(method.fraction)
        case Delete():
            return DeleteWords(method.fraction)
        case Ngram():
            return KeepNgram(method.probability, method.shortest, method.longest)
        case Swap():
            return SwapWords(method.fraction)
        case _:
            assert_never(method)
