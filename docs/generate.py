"""Writes what follows from the code: recipe.md, commands.md and files.md in docs, and tables of two other pages."""

import ast
import json
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from limbeck.cli import app
from limbeck.recipe.decisions import ArtifactName, Decision, decisions
from limbeck.recipe.general import General
from limbeck.recipe.general_layers import GeneralLayers
from limbeck.recipe.recipe import Recipe

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "limbeck"
NOTICE = "<!-- Written by docs/generate.py from the code; change the code, then run `make docs`. -->"
KEYS_START, KEYS_END = "<!-- keys -->", "<!-- /keys -->"
LAYERS_START, LAYERS_END = "<!-- keys of layers -->", "<!-- /keys of layers -->"
DOORS_START, DOORS_END = "<!-- doors -->", "<!-- /doors -->"
ROOMS_IN_ORDER = [
    *("cli", "pipeline", "recipe", "artifacts", "drafting", "tables", "text"),
    *("corpus", "transfer", "augmentation", "pretraining", "general", "teacher", "labeling", "distillation", "export"),
    *(
        "judging",
        "timing",
        "report",
        "doctor",
        "search",
        "annotation",
        "review",
        "models",
        "training",
        "runtime",
        "serving",
        "packaging",
        "sbom",
        "errors",
    ),
]
PLAIN_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false"}
Shown = dict[type[BaseModel], str]  # the sections that the page has, and the table under which each is shown
INPUTS: dict[ArtifactName, str] = {  # of every artifact: what is fingerprinted for its key, besides the settings
    "corpus": "names and bytes of the data files; a data set on the hub goes by its name",
    "transfer": "names and bytes of the files, names of data sets, corpus",
    "augmented": "corpus, files of word vectors, the language model; transfer if it is copied",
    "pretrained": "the checkpoint, the rows of train, transfer",
    "teacher": "the files of a checkpoint folder, or the name of a package or hub model, or the bytes of a file of "
    "answers, or the files of a student, or the source file of a function; the pretrained "
    "encoder, if any; *training rows*",
    "members": "those of a teacher, for each; the `teacher` of an ensemble goes by the members and *training rows*",
    "labels": "teacher, corpus, transfer, augmented",
    "chosen": "labels, corpus, transfer, augmented",
    "vocabulary": "teacher, *training rows*, the form of the transfer text, the files of word vectors",
    "sized_vocabulary": "the same",
    "students": "vocabulary, teacher, *training rows*, which features a loss reads, the files of custom losses",
    "baseline": "vocabulary, the rows of train and dev; of a transformer the checkpoint that the teacher started from",
    "exports": "student, the rows of train and dev, the teacher's answers on dev",
    "report": "labels, teacher, corpus, transfer, augmented, rival, corrections, every export",
}
PLACES: dict[ArtifactName, str] = {  # where an artifact is in the run folder, if not under its name
    "pretrained": "`pretrained/…`",
    "members": "`teachers/…`",
    "sized_vocabulary": "`vocabulary`, with `student.max_size_mb`",
    "students": "`students/…`",
    "baseline": "`students/…-alone`",
    "exports": "`exports/…`",
}
LIMITS = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}


def main() -> None:
    """Write every page whose text has changed."""
    for path, text in pages():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


def pages() -> Iterator[tuple[Path, str]]:
    """Path and text of every generated page."""
    yield ROOT / "docs" / "recipe.md", recipe_page()
    yield ROOT / "docs" / "commands.md", commands_page(app)
    yield ROOT / "docs" / "files.md", files_page(SOURCE)
    architecture = ROOT / "docs" / "architecture.md"
    with_doors = with_block(architecture.read_text(encoding="utf-8"), doors_table(), DOORS_START, DOORS_END)
    yield architecture, with_block(with_doors, keys_table(), KEYS_START, KEYS_END)
    general = ROOT / "docs" / "general.md"
    with_keys = with_block(general.read_text(encoding="utf-8"), general_table(General), KEYS_START, KEYS_END)
    yield general, with_block(with_keys, general_table(GeneralLayers), LAYERS_START, LAYERS_END)


# ---- docs/recipe.md ----


def recipe_page() -> str:
    """Every section and key of the recipe: type, default, meaning."""
    lines = [
        "# The recipe, key by key",
        NOTICE,
        "A recipe is a TOML file. Only `[corpus]` is required; every other key has the default shown here. "
        "Any key can be set for one run: `limbeck run RECIPE --set student.hidden_size=300`.",
        'A recipe that begins with `extends = "spkd"`, or with a list of names, contains only what differs from a '
        "[method](distillation.md#methods), a built-in recipe or another file.",
        "Relative paths are searched next to the recipe, in the current folder, and in the folder that the "
        "environment variable `LIMBECK_DATA` names.",
        "## At the top of the file",
        key_table(Recipe),
    ]
    shown: Shown = {}
    for name, field in Recipe.model_fields.items():
        lines += section_lines(name, field, level=2, shown=shown)
    for model in values_in(Recipe):
        lines += [f"## {name_in_words(model).capitalize()}", paragraphs(model.__doc__ or ""), key_table(model)]
    return "\n\n".join(lines) + "\n"


def section_lines(path: str, field: FieldInfo, *, level: int, shown: Shown) -> Iterator[str]:
    """The part of the page about one table of the recipe, and about the tables inside it; each kind of table once."""
    models = [] if values_at(field.annotation) else models_in(field.annotation)
    is_list = get_origin(field.annotation) is list
    table, heading = f"[[{path}]]" if is_list else f"[{path}]", "#" * level
    if models and all(model in shown for model in models):
        yield f"{heading} `{table}`"
        yield as_shown(table, models, shown)
        return
    for model in models:
        suffix = f" with kind = {' or '.join(kinds_of(model))}" if kinds_of(model) and (is_list or models[1:]) else ""
        yield f"{heading} `{table}`{suffix}"
        yield paragraphs(model.__doc__ or "")
        yield key_table(model)
        shown[model] = table
        for name, inner in model.model_fields.items():
            yield from section_lines(f"{path}.{name}", inner, level=level + 1, shown=shown)


def as_shown(table: str, models: Sequence[type[BaseModel]], shown: Shown) -> str:
    """Where the keys of a table are described that was shown under another name, or for another kind."""
    place = shown[models[0]]
    if place == table:
        return "The same keys as above."
    if [model for model, there in shown.items() if there == place] == list(models):
        return f"The same as `{place}`."
    kinds = [f"kind = {kind}" for model in models for kind in kinds_of(model)]
    return f"The same as `{place}` with {', '.join(kinds[:-1])} or {kinds[-1]}."


def kinds_of(model: type[BaseModel]) -> list[str]:
    """What `kind` may be in a table, as it is written."""
    kind = model.model_fields.get("kind")
    return [json.dumps(value) for value in get_args(kind.annotation)] if kind else []


def key_table(model: type[BaseModel]) -> str:
    """The keys of a section that are values, not tables, as a Markdown table."""
    decided = {decision.field: decision for decision in reversed([*decisions(Recipe)]) if decision.section is model}
    rows = ["| key | value | default | meaning | a change rebuilds |", "|---|---|---|---|---|"]
    for name, field in sorted(model.model_fields.items(), key=lambda item: item[0] != "kind"):
        if is_table(field.annotation):
            continue  # a table has a heading of its own
        rows.append(table_row(*key_in_words(name, field), rebuilt_in_words(decided[name])))
    return "\n".join(rows)


def key_in_words(name: str, field: FieldInfo) -> tuple[str, str, str, str]:
    """Name, value, default, meaning."""
    value = ", ".join([type_in_words(field.annotation), *limits(field)])
    meaning = one_line(field.description or "").replace("*", "\\*")  # a pattern of file names, no emphasis
    return f"`{name}`", value, default_in_words(field), meaning


def general_table(section: type[BaseModel]) -> str:
    """The keys of `[general]`, which only recipes of `limbeck pretrain` have; those for a transformer are others."""
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*rows, *(table_row(*key_in_words(*item)) for item in section.model_fields.items())])


def is_table(annotation: Any) -> bool:
    """Whether a key is a table and nothing else."""
    return bool(models_in(annotation)) and not values_at(annotation) and get_origin(annotation) is not list


def type_in_words(annotation: Any) -> str:
    """A type as someone who writes TOML would call it."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_in_words(inner[0])
    if origin in (Union, types.UnionType):
        in_place = values_at(annotation)
        members = [member for member in members_of(annotation) if member is not type(None)]
        words = [name_in_words(member) if member in in_place else type_in_words(member) for member in members]
        return " or ".join(dict.fromkeys(words))
    if origin is Literal:
        return ", ".join(f"`{json.dumps(choice)}`" for choice in inner)
    if origin is list:
        return f"list of {plural(type_in_words(inner[0]))}"
    if origin is dict:
        return "table" if inner[1] is Any else f"table of {plural(type_in_words(inner[1]))}"
    return PLAIN_TYPES.get(annotation, "table")


def members_of(annotation: Any) -> list[Any]:
    """The types that a union is of, or the one type that it is."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return members_of(inner[0])
    if origin in (Union, types.UnionType):
        return [member for part in inner for member in members_of(part)]
    return [annotation]


def values_at(annotation: Any) -> list[type[BaseModel]]:
    """The sections that may replace a plain value, as a schedule does a number."""
    members = [member for member in members_of(annotation) if member is not type(None)]
    models = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
    return models if len(models) < len(members) else []


def values_in(section: type[BaseModel]) -> list[type[BaseModel]]:
    """All of them in a section and in those inside it, each once."""
    found: dict[type[BaseModel], None] = {}
    for field in section.model_fields.values():
        found |= dict.fromkeys(values_at(field.annotation))
        for inner in models_in(field.annotation):
            found |= dict.fromkeys(values_in(inner))
    return list(found)


def name_in_words(model: type[BaseModel]) -> str:
    """What a section is called that has no place of its own in the recipe."""
    return model.__name__.lower()


def plural(words: str) -> str:
    """More than one of them, where the words are a plain name."""
    if words.startswith("list of "):
        return words.replace("list", "lists", 1)
    return f"{words}s" if words.isascii() and words.replace(" ", "").isalpha() else words


def limits(field: FieldInfo) -> list[str]:
    """What the value has to keep to, in words."""
    found = []
    for rule in field.metadata:
        found += [words.format(getattr(rule, name)) for name, words in LIMITS.items() if hasattr(rule, name)]
        if least := getattr(rule, "min_length", 0):
            found.append("not empty" if least == 1 else f"at least {least}")
        if pattern := getattr(rule, "pattern", None):
            found.append(f"of the form `{pattern}`")
    return found


def default_in_words(field: FieldInfo) -> str:
    """The default as it would be written in the file."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    return "not set" if default is None else f"`{toml_value(default)}`"


def toml_value(value: object) -> str:
    """A value on one line, as TOML writes it."""
    if isinstance(value, BaseModel):
        return toml_value(value.model_dump(mode="json", exclude_none=True))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The sections that an annotation can hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def rebuilt_in_words(decision: Decision) -> str:
    """The artifacts whose keys a field is in."""
    names = [name for name in INPUTS if name in decision.artifacts]
    if "vocabulary" in names:
        names.remove("sized_vocabulary")
    words = ", ".join(PLACES.get(name, f"`{name}`") for name in names) or "nothing"
    return f"{words}; goes by content" if decision.by_content else words


# ---- the table of keys in docs/architecture.md ----


def keys_table() -> str:
    """Every artifact with the settings and the inputs in its key."""
    known = list(decisions(Recipe))
    rows = ["| artifact | settings in its key | inputs in its key |", "|---|---|---|"]
    for artifact, inputs in INPUTS.items():
        # A candidate has the keys that it would have as `[student]`.
        tables = [settings_in_words(table, artifact, known) for table in Recipe.model_fields if table != "candidates"]
        rows.append(table_row(PLACES.get(artifact, f"`{artifact}`"), "; ".join(filter(None, tables)), inputs))
    rows.append(
        table_row("`exports/blend…`", "`calibrate`, `examples` of `[export]`", "the models that ship, the rows of dev")
    )
    rows.append(table_row("`models/…`", "none", "the export that ships"))
    answers = "teacher, its answers on dev, the rows of train and dev"
    rows.append(table_row("`models/teacher-int8`", "`calibrate` of `[export]`", answers))
    return "\n".join(rows)


def settings_in_words(table: str, artifact: ArtifactName, known: Sequence[Decision]) -> str:
    """The fields of a table that are in the key of an artifact: named, or all but some."""
    kept: dict[str, bool] = {}
    dropped: dict[str, bool] = {}
    for decision in known:
        top, _, name = decision.path.partition(".")
        inside = name.rpartition(".")[0]
        if top == table and name and not name.startswith("members.") and (not inside or inside in kept):
            is_kept = artifact in decision.artifacts and not decision.by_content
            (kept if is_kept else dropped)[name] = True
    plain = [name for name in kept if "." not in name]
    if not plain:
        return ""
    if len(plain) <= len(dropped) and not set(plain) & {"kind"}:
        return f"{', '.join(f'`{name}`' for name in plain)} of `[{table}]`"
    without = ", ".join(f"`{name}` (of some kinds)" if name in kept else f"`{name}`" for name in dropped)
    return f"`[{table}]`" + (f" without {without}" if without else "")


# ---- docs/commands.md ----


def commands_page(application: typer.Typer) -> str:
    """Every command with its help, its usage, its arguments and options, and its examples."""
    command: Any = typer.main.get_command(application)
    context = command.context_class(command, info_name=command.name, **command.context_settings)
    lines = ["# Commands", NOTICE, *command_lines(command, context, level=2)]
    return "\n\n".join(line for line in lines if line) + "\n"


def command_lines(command: Any, context: Any, *, level: int) -> Iterator[str]:
    """The part of the page about one command, and about the commands below it."""
    yield f"{'#' * level} {context.command_path}"
    yield paragraphs(command.help or "")
    yield f"```\n{context.command_path} {' '.join(command.collect_usage_pieces(context))}\n```"
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [table_row(f"`{name}`", one_line(text)) for name, text in filter(None, records)]
    yield "\n".join(["| | |", "|---|---|", *rows])
    yield paragraphs(command.epilog or "")
    for name, inner in getattr(command, "commands", {}).items():
        below = inner.context_class(inner, info_name=name, parent=context, **inner.context_settings)
        if not inner.hidden:
            yield from command_lines(inner, below, level=min(level + 1, 4))


# ---- docs/files.md ----


def files_page(source: Path) -> str:
    """Every module of the package with the first line of its docstring, room by room."""
    rooms = [source / name for name in in_order(path.parent.name for path in source.glob("*/__init__.py"))]
    lines = [
        "# Every source file",
        NOTICE,
        f"All files of `{source.parent.name}/{source.name}/` and what each is for, in the words of its own docstring. "
        "[Architecture](architecture.md) explains the rooms and who may import whom.",
        "## Files of their own",
        file_table(sorted(source.glob("*.py")), within=source),
    ]
    for room in rooms:
        files = sorted(path for path in room.rglob("*.py") if path != room / "__init__.py")
        lines += [f"## {room.name}", first_line(room / "__init__.py"), file_table(files, within=room)]
    return "\n\n".join(lines) + "\n"


def file_table(files: Sequence[Path], *, within: Path) -> str:
    """A row for each file: its path and what it is for. The `__init__.py` of an inner folder describes the folder."""
    rows = []
    for path in files:
        inner = path.name == "__init__.py" and path.parent != within
        name = f"{path.parent.relative_to(within).as_posix()}/" if inner else path.relative_to(within).as_posix()
        rows.append((name, first_line(path)))
    return "\n".join(["| file | what it is for |", "|---|---|", *(table_row(f"`{a}`", b) for a, b in sorted(rows))])


def first_line(module: Path) -> str:
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def with_block(page: str, block: str, first: str, last: str) -> str:
    """The page with the text between two marks replaced."""
    before, start, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not (start and end):
        sys.exit(f"there is no place for a generated table: put {first} and {last} on lines of their own")
    return f"{before}{first}\n\n{block}\n\n{last}{after}"


# ---- the doors in docs/architecture.md ----


def doors_table() -> str:
    """Which room may import which, by tests/architecture/test_doors.py; rooms with the same doors share a row."""
    doors = doors_module()
    rooms_by_doors: dict[tuple[str, ...], list[str]] = {}
    for room, open_to in doors.MAY_IMPORT.items():
        if room not in doors.OPEN_TO_ALL:
            rooms_by_doors.setdefault(in_order(open_to), []).append(room)
    rows = []
    for open_to, rooms in rooms_by_doors.items():
        stages = {*open_to} >= doors.STAGES
        targets = [door_in_words(doors, rooms, one) for one in open_to if not (stages and one in doors.STAGES)]
        rows.append(
            (in_code(in_order(rooms)), ", ".join([*(["every stage"] if stages else []), *targets]) or "nothing")
        )
    table = "\n".join(["| room | may import |", "|---|---|", *(table_row(*row) for row in rows)])
    return (
        f"{in_code(in_order(doors.OPEN_TO_ALL))} are open to all and import nothing. The stages are "
        f"{in_code(in_order(doors.STAGES))}.\n\n{table}\n\n"
        f"Rooms without torch: {in_code(in_order(doors.TORCH_FREE))}. Rooms that the base install runs: "
        f"{in_code(in_order(doors.BASE_INSTALL))}."
    )


def in_order(rooms: Iterable[str]) -> tuple[str, ...]:
    """The rooms as docs/files.md has them; files of their own come last, by name."""
    place = {name: number for number, name in enumerate(ROOMS_IN_ORDER)}
    return tuple(sorted(rooms, key=lambda room: (place.get(room, len(place)), room)))


def doors_module() -> Any:
    """The module that enforces the table; it is a test and no part of the package."""
    spec = spec_from_file_location("doors", ROOT / "tests" / "architecture" / "test_doors.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def door_in_words(doors: Any, rooms: Sequence[str], target: str) -> str:
    """A room that may be imported, and the one file of it if the door leads no further."""
    only = next((doors.ONLY_THESE[room, target] for room in rooms if (room, target) in doors.ONLY_THESE), None)
    return f"`{target}` (only `{only.rpartition('.')[2]}.py`)" if only else f"`{target}`"


def in_code(names: Sequence[str]) -> str:
    """Names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def table_row(*cells: str) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


def paragraphs(text: str) -> str:
    """The text with single line breaks taken out and empty lines kept."""
    return "\n\n".join(one_line(part) for part in text.split("\n\n"))


if __name__ == "__main__":
    main()
