"""Between rooms 1 and 2: the encoder goes on guessing masked words, in the task's own text.

Reads:  Rows of the corpus's train split, and of the TransferText
Writes: PretrainedFolder
"""

from limbeck.pretraining.run import pretrain

__all__ = ["pretrain"]
