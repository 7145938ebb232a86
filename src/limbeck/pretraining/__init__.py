"""Between rooms 1 and 2: continued pretraining of the encoder on masked words of the task's text.

Reads:  Rows of the corpus's train split, and of the TransferText
Writes: PretrainedFolder
"""

from limbeck.pretraining.run import pretrain

__all__ = ["pretrain"]
