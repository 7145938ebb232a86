"""What hostile tests start from: recipes as in the tests of whole runs, models as in those of the runtime."""

from tests.flow.conftest import write_recipe
from tests.unit.conftest import make_framed_student
from tests.unit.runtime.conftest import framed_folder, model_folder

__all__ = ["framed_folder", "make_framed_student", "model_folder", "write_recipe"]
