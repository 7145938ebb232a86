"""The extension is optional: a build that fails only warns. So nothing else would notice that it broke."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig

import pytest

IS_BUILT_HERE = sys.platform != "win32" and not sysconfig.get_config_var("Py_GIL_DISABLED")
HAS_COMPILER = any(shutil.which(name) for name in ("g++", "clang++"))


@pytest.mark.skipif(not (IS_BUILT_HERE and HAS_COMPILER), reason="no C++ compiler that the extension is built with")
def test_where_there_is_a_compiler_there_is_the_extension() -> None:
    assert importlib.util.find_spec("limbeck.runtime._native"), "build it: python setup.py build_ext --inplace"


def test_the_levels_are_those_of_this_processor_the_best_one_first() -> None:
    native = pytest.importorskip("limbeck.runtime._native")

    known = {"x86_64": ["avx512-vnni", "avx-vnni", "avx2"], "aarch64": ["neon-dot", "neon"]}.get(platform.machine(), [])
    assert native.levels() == [name for name in [*known, "scalar"] if name in native.levels()]
    assert native.level() == native.levels()[0]


@pytest.mark.usefixtures("extension")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_goes_on_with_the_network_of_its_parent() -> None:
    """As servers do that load a model, and then start their workers."""
    code = """
import os, numpy as np
from limbeck.runtime import _native
zeros, ones = np.zeros((9, 4), dtype=np.float32), np.ones((2, 4), dtype=np.float32)
bag = _native.Bag(embeddings=zeros + 1, classifier=(ones, np.zeros(2, dtype=np.float32)))
columns, out = [[[1, 2]] * 2000], np.zeros((2000, 2), dtype=np.float32)
bag.logits(columns, out, 2)
if child := os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
out[:] = 0
bag.logits(columns, out, 2)
os._exit(0 if (out == 4).all() else 1)
"""

    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@pytest.mark.usefixtures("extension")
def test_python_may_end_while_daemon_threads_are_at_work() -> None:
    """It then ends them where they ask for the GIL, in the middle of a call."""
    code = """
import threading, numpy as np
from limbeck.runtime import _native
zeros, ones = np.zeros((9, 64), dtype=np.float32), np.ones((2, 64), dtype=np.float32)
bag = _native.Bag(embeddings=zeros, classifier=(ones, np.zeros(2, dtype=np.float32)))
columns, begun = [[[1] * 1000] * 200], threading.Event()
def work():
    out = np.zeros((200, 2), dtype=np.float32)
    while True:
        bag.logits(columns, out, 1)
        begun.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
