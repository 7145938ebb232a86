"""Teaches the body of a student what encoders make of general sentences, before it has a task.

Reads:  text, the vectors that encoders give its sentences
Writes: GeneralFolder
"""

from limbeck.general.run import teach_in_general

__all__ = ["teach_in_general"]
