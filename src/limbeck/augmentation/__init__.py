"""Room 3: changed copies of the training rows, for the teacher to label.

Reads:  Corpus
Writes: TransferText, with the source of every copy; beside the runs a store of tags and of language models' answers
"""

from limbeck.augmentation.run import augment

__all__ = ["augment"]
