"""Room 4: ask the teacher once, keep what it said.

Reads:  Corpus, TransferText, a teacher
Writes: TeacherLabels; the label store beside the runs
"""

from limbeck.labeling.run import label

__all__ = ["label"]
