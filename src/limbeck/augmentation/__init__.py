"""Room 3: changed copies of training rows and transfer text, for the teacher to label.

Reads:  Corpus, and the TransferText that was gathered if it is to be copied too
Writes: TransferText, with the source of every copy; beside the runs a store of tags and of language models' answers
"""

from limbeck.augmentation.run import augment

__all__ = ["augment"]
