"""Room 1: from files or a hub data set to labelled splits, and from files of unlabelled text to transfer text.

Reads:  files the recipe names, or a hub data set
Writes: Corpus, TransferText
"""

from limbeck.corpus.run import gather_transfer, read_corpus

__all__ = ["gather_transfer", "read_corpus"]
