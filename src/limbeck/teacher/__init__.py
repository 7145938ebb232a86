"""Room 2: the big model that labels texts.

Reads:  Corpus
Writes: TeacherFolder
"""

from limbeck.teacher.run import prepare_teacher

__all__ = ["prepare_teacher"]
