"""Room 4: ask the teachers once, keep what they said.

Reads:  rows by split, teachers as sources
Writes: TeacherLabels; the label store beside the runs
"""

from limbeck.labeling.run import label

__all__ = ["label"]
