"""Room 4: run the teachers once per text, and store their answers.

Reads:  rows by split, teachers as sources
Writes: TeacherLabels; the label store next to the runs
"""

from limbeck.labeling.run import label

__all__ = ["label"]
