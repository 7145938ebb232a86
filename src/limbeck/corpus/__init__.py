"""From files or a hub data set to labelled splits.

Reads:  files the recipe names, or a hub data set
Writes: Corpus
"""

from limbeck.corpus.run import read_corpus

__all__ = ["read_corpus"]
