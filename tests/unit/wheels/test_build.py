"""What `make wheels` calls a wheel, and what it refuses."""

import pytest

from wheels.build import WheelUnusable, oldest_glibc, refuse_libraries

SYMBOLS = """
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.9) qsort
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.27) expf
0000000000000000      DF *UND*  0000000000000000  GCC_3.0     _Unwind_Resume
"""


def test_a_wheel_is_named_for_the_newest_symbol_that_it_needs() -> None:
    assert oldest_glibc(SYMBOLS) == (2, 27)
    assert oldest_glibc("") == (2, 17)


def test_a_wheel_that_needs_what_not_every_linux_has_is_refused() -> None:
    refuse_libraries("  NEEDED               libc.so.6\n  NEEDED               libgcc_s.so.1\n")

    with pytest.raises(WheelUnusable, match="GLIBCXX"):
        oldest_glibc(SYMBOLS + "0 DF *UND* 0 (GLIBCXX_3.4.30) _ZSt")
    with pytest.raises(WheelUnusable, match="libstdc"):
        refuse_libraries("  NEEDED               libstdc++.so.6\n")
