"""Changed copies of training rows and transfer text, for the teacher to label.

Reads:  Corpus, and the gathered TransferText if it is copied too
Writes: TransferText, with the source of every copy; next to the runs a store of tags and of language models' answers
"""

from limbeck.augmentation.run import augment

__all__ = ["augment"]
