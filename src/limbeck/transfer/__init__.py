"""Unlabelled text for the teacher to label: gathered from files and hub data sets, cleaned, deduplicated.

Reads:  files or hub data sets that the recipe names, Corpus
Writes: TransferText
"""

from limbeck.transfer.run import gather_transfer

__all__ = ["gather_transfer"]
