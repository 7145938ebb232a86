"""Room 5: trains the student.

Reads:  Corpus, TransferText, TeacherLabels, a teacher for its word vectors
Writes: VocabularyFolder, StudentFolder
"""

from limbeck.distillation.run import train_student

__all__ = ["train_student"]
