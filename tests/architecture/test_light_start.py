"""Who only wants --help or a prediction does not wait for torch: what a fresh process loads."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "pyarrow", "onnx", "scipy", "sklearn", "datasets", "matplotlib")


def heavy_modules_after(code: str) -> str:
    """The heavy packages that a fresh interpreter has loaded once it ran the code."""
    report = f"import sys\nprint('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    script = f"try:\n    exec({code!r})\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n{report}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_heavy_modules_are_noticed() -> None:
    assert heavy_modules_after("import pyarrow") == "loaded: ['pyarrow']"


def test_importing_limbeck_loads_nothing_heavy() -> None:
    assert heavy_modules_after("import limbeck") == "loaded: []"


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; sys.argv = ['limbeck', '--help']; from limbeck.cli import main; main()"

    assert heavy_modules_after(code) == "loaded: []"


@pytest.mark.parametrize(
    "module",
    [
        *("recipe.load", "artifacts.model_folder", "artifacts.whole", "runtime.classifier", "runtime.stream"),
        *("serving.run", "text"),
    ],
)
def test_light_rooms_load_nothing_heavy(module: str) -> None:
    assert heavy_modules_after(f"import limbeck.{module}") == "loaded: []"
