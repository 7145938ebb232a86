"""Room 6: exports the student as a file that runs without torch.

Reads:  StudentFolder, Rows (dev)
Writes: ModelFolder
"""

from limbeck.export.run import export_student

__all__ = ["export_student"]
