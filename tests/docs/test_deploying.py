"""What docs/deploying.md and the Dockerfile say fits together, and fits the server."""

import fnmatch
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from limbeck.cli import app
from limbeck.serving.limits import STANDARD_LIMITS
from tests.hostile.campaigns.server import serving
from tests.hostile.campaigns.toy_models import form_model

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
INSTRUCTION = re.compile(r"^([A-Z]+) ((?:.*\\\n)*.*)$", re.MULTILINE)
DOCKERFILE = INSTRUCTION.findall((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def instructions(name: str) -> list[str]:
    """What all instructions of a name say, in one line each."""
    return [" ".join(text.replace("\\\n", " ").split()) for found, text in DOCKERFILE if found == name]


def block(language: str) -> str:
    """The one block of a language on the page."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def command_of_health_check() -> list[str]:
    """In the exec form, without the shell."""
    (check,) = instructions("HEALTHCHECK")
    words: list[str] = json.loads(check.partition("CMD ")[2])
    return words


def objects() -> dict[str, Any]:
    """Those of Kubernetes, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(block("yaml"))}


def is_ignored(path: str) -> bool:
    """Whether .dockerignore keeps a path out of the build; its last line that fits decides."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!").removeprefix("**/")
            if fnmatch.fnmatch(path, pattern) or path.startswith(f"{pattern}/"):
                ignored = not line.startswith("!")
    return ignored


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of `limbeck serve` with these words; the command refuses what it does not know."""
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]  # a group has them
    options: dict[str, Any] = command.make_context("serve", list(words)).params
    return options


def test_every_file_that_the_image_is_built_of_is_there_and_not_ignored() -> None:
    copied = [source for text in instructions("COPY") if "--from" not in text for source in text.split()[:-1]]

    assert "src" in copied
    assert [source for source in copied if not (ROOT / source).exists() or is_ignored(source)] == []


def test_models_data_and_keys_of_a_checkout_stay_outside_of_the_image() -> None:
    inside = ["runs/reviews/models/best/model.onnx", "keys.txt", ".venv/bin/python", ".git/config", "tests/conftest.py"]

    assert [path for path in inside if not is_ignored(path)] == []
    assert not is_ignored("requirements/base.txt")


def test_the_server_in_the_image_is_not_root_and_gets_its_signals() -> None:
    (user,), (entry,) = instructions("USER"), instructions("ENTRYPOINT")
    names = [name for name, _ in DOCKERFILE]

    assert int(user.partition(":")[0]) > 0
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert json.loads(entry)[:2] == ["limbeck", "serve"], "the exec form: no shell between the system and the server"
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def test_the_command_of_the_image_is_one_of_limbeck_and_takes_further_options() -> None:
    words = json.loads(instructions("ENTRYPOINT")[0])[2:]

    options = parsed([*words, "--threads", "2"])

    assert (options["host"], str(options["port"]), options["threads"]) == ("0.0.0.0", instructions("EXPOSE")[0], 2)


def test_the_image_has_the_versions_that_are_pinned() -> None:
    installs = [part for text in instructions("RUN") for part in text.split("&&") if " install " in f"{part} "]
    of_pip = [part for part in installs if "pip" in part]

    assert len(of_pip) == 3
    assert [part for part in of_pip if "--require-hashes" not in part and "-c constraints.txt" not in part] == []


def test_the_health_check_says_whether_a_server_answers() -> None:
    *python, code = command_of_health_check()
    assert python == ["python", "-c"]

    with serving(form_model("single")) as address:
        here = code.replace("http://127.0.0.1:8000", address)
        healthy = subprocess.run([sys.executable, "-c", here], capture_output=True, check=False)
    gone = subprocess.run([sys.executable, "-c", here], capture_output=True, check=False)

    assert here != code
    assert (healthy.returncode, healthy.stderr) == (0, b"")
    assert gone.returncode == 1


def test_the_unit_is_one_that_systemd_can_read(tmp_path: Path) -> None:
    unit = tmp_path / "limbeck.service"
    start = next(line for line in block("ini").splitlines() if line.startswith("ExecStart="))
    unit.write_text(block("ini").replace("/opt/limbeck/bin/limbeck", "/bin/true"), encoding="utf-8")

    assert "ExecReload=/bin/kill -HUP $MAINPID" in block("ini")
    assert parsed(start.split()[2:])["port"] == 8000
    if analyze := shutil.which("systemd-analyze"):
        done = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_kubernetes_runs_the_image_as_it_is_made() -> None:
    pod = objects()["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    words = json.loads(instructions("ENTRYPOINT")[0])[2:]

    assert pod["securityContext"]["runAsUser"] == int(instructions("USER")[0].partition(":")[0])
    assert [str(port["containerPort"]) for port in container["ports"]] == instructions("EXPOSE")
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert words[0] in [mount["mountPath"] for mount in container["volumeMounts"]]
    assert str(parsed([*words, *container["args"]])["workers"]) == container["resources"]["requests"]["cpu"]


def test_the_probes_ask_addresses_of_the_server() -> None:
    (container,) = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}

    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/readyz",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} == {container["ports"][0]["name"]}


def test_the_proxies_let_bodies_through_that_the_server_takes() -> None:
    most = STANDARD_LIMITS.body_bytes

    assert re.search(r"client_max_body_size (\d+)m;", block("nginx"))[1] == str(most // 1_000_000)  # type: ignore[index]
    assert f"max_size {most // 1_000_000}MB" in block("caddy")
    assert "proxy_set_header Host $host;" in block("nginx")
