"""Nothing that only POSIX systems have is imported or looked up when a module starts, and text has an encoding."""

import ast
from collections.abc import Iterator
from pathlib import Path

import limbeck

SRC = Path(str(limbeck.__file__)).parent
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NAMES = {  # of modules that are there, but without these
    "os": {"fork", "getuid", "geteuid", "register_at_fork", "sched_getaffinity", "setsid", "killpg", "WNOHANG"},
    "signal": {"SIGHUP", "SIGCHLD", "SIGKILL", "SIGALRM", "SIGUSR1", "SIGUSR2", "pthread_sigmask", "sigtimedwait"},
    "socket": {"AF_UNIX"},
}
ANYWHERE = {  # what Windows lacks as well, which a function may use only where it asks first
    **NAMES,
    "os": {*NAMES["os"], "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "pread", "pwrite", "statvfs", "uname"},
    "mmap": {"MADV_DONTNEED", "MADV_RANDOM", "PROT_READ", "MAP_PRIVATE"},
}
POSIX_ALONE = {  # modules of what Windows does not have, whose callers ask
    "serving/workers.py",
    "training/side_by_side.py",
    "training/processes.py",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def at_start(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when the module is imported: neither the inside of functions, nor what a test of the system guards."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FUNCTIONS) or (isinstance(node, ast.If | ast.IfExp) and is_guard(node.test)):
            continue
        yield node
        yield from at_start(node)


def is_guard(test: ast.AST) -> bool:
    """`hasattr(os, …)` or `sys.platform == …`"""
    return any(part in ast.unparse(test) for part in ("hasattr(", "sys.platform"))


def posix_only(source: str) -> list[str]:
    """Line and name of everything at the start of a module that Windows does not have."""
    found = []
    for node in at_start(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name in MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)] if node.module in MODULES else []
            names += [alias.name for alias in node.names if alias.name in NAMES.get(str(node.module), ())]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [node.attr] if node.attr in NAMES.get(node.value.id, ()) else []
        found += [f"{node.lineno}: {name}" for name in names if isinstance(node, ast.stmt | ast.expr)]
    return found


def unguarded(source: str) -> list[str]:
    """Line and name of everything inside functions that Windows lacks, where the function does not ask for it."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or is_guard(function):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if node.attr in ANYWHERE.get(node.value.id, ()):
                found.append(f"{node.lineno}: {node.value.id}.{node.attr}")
    return sorted(set(found))


def without_encoding(source: str) -> list[str]:
    """Calls that read or write text in whatever encoding the system prefers."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        has_encoding = any(keyword.arg in ("encoding", None) for keyword in node.keywords)
        has_encoding |= name == "read_text" and bool(node.args)  # the first one, of a path
        is_text = name in ("read_text", "write_text") or (name == "open" and opens_text(node))
        if is_text and not has_encoding:
            found.append(f"{node.lineno}: {name}")
    return found


def opens_text(call: ast.Call) -> bool:
    """`open(path)` or `path.open()`, in a mode without b; other methods that are called `open` have other arguments."""
    is_method = isinstance(call.func, ast.Attribute)
    modes = [*call.args[0 if is_method else 1 :][:1], *(word.value for word in call.keywords if word.arg == "mode")]
    if not modes:
        return not is_method
    mode = modes[0].value if isinstance(modes[0], ast.Constant) else None
    return isinstance(mode, str) and set(mode) <= set("rwaxt+") and "b" not in mode


def test_the_checks_find_what_they_look_for() -> None:
    assert posix_only("import fcntl\nimport os\nif hasattr(os, 'fork'):\n    os.fork\nA = os.fork") == [
        "1: fcntl",
        "5: fork",
    ]
    assert posix_only("def f():\n    import fcntl\nclass A:\n    import termios") == ["4: termios"]
    assert unguarded("def f():\n    os.pread(1)\ndef g():\n    if hasattr(os, 'pread'):\n        os.pread(1)") == [
        "2: os.pread"
    ]
    assert without_encoding("open('a')\nopen('a', 'rb')\np.read_text()\np.open('w')\np.open('r', encoding='x')") == [
        *("1: open", "3: read_text", "4: open"),
    ]


def test_nothing_that_only_posix_has_is_needed_at_the_start_of_a_module() -> None:
    sources = {path.relative_to(SRC).as_posix(): path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}

    assert [f"{place}:{line}" for place, source in sources.items() for line in posix_only(source)] == []
    assert [f"{place}:{line}" for place, source in sources.items() for line in without_encoding(source)] == []


def test_functions_ask_before_they_use_what_windows_lacks() -> None:
    sources = {path.relative_to(SRC).as_posix(): path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}
    lines = [f"{place}:{one}" for place, text in sources.items() if place not in POSIX_ALONE for one in unguarded(text)]

    assert sources.keys() >= POSIX_ALONE
    assert lines == []


def test_files_are_replaced_and_not_renamed_as_windows_refuses_where_one_is() -> None:
    folders = {"artifacts/atomic_folder.py", "teacher/import_tf.py", "runtime/hub_model.py"}  # whose places are free

    found = [path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py") if ".rename(" in path.read_text("utf-8")]

    assert set(found) == folders
