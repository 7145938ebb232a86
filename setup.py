"""The one part of the build that pyproject.toml cannot say: the optional C++ extension, for Linux and macOS.

A build without a compiler, or a compiler that fails, leaves a package that works without the extension.
"""

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("src/limbeck/runtime/native")
STABLE_ABI = "0x030B0000"  # Python 3.11 and everything after it

native = Extension(
    "limbeck.runtime._native",
    sources=sorted(path.as_posix() for path in FOLDER.glob("*.cpp")),
    depends=sorted(path.as_posix() for path in FOLDER.glob("*.hpp")),
    define_macros=[("Py_LIMITED_API", STABLE_ABI)],
    extra_compile_args=[
        *("-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-fno-math-errno"),
        "-ffp-contract=off",  # a row's logits are the same to the last bit in every batch
        # GCC warns of its own header of AVX-512; Clang has not all of these names.
        *("-Wno-uninitialized", "-Wno-maybe-uninitialized", "-Wno-unknown-warning-option"),
    ],
    extra_link_args=["-pthread"],
    language="c++",
    py_limited_api=True,
    optional=True,
)

if sys.platform == "win32" or sysconfig.get_config_var("Py_GIL_DISABLED"):  # other compilers; no stable ABI
    setup()
else:
    setup(ext_modules=[native], options={"bdist_wheel": {"py_limited_api": "cp311"}})
