"""Teaches a student what encoders make of general text, before it has a task.

Reads:  text, the vectors that encoders give its sentences, or their layers
Writes: GeneralFolder
"""

from limbeck.general.layers import distil_in_general
from limbeck.general.run import teach_in_general

__all__ = ["distil_in_general", "teach_in_general"]
