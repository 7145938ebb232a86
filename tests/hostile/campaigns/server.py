"""Requests to a real server, of every form that its OpenAPI allows and of many that it does not, made by schemathesis.

Servers of three models (single texts, pairs, several labels) run in processes of their own. Each answer is checked: no
status of 500 or above, status, type, headers and body as /openapi.json says, what the schema allows is accepted and
what it does not allow is refused, other methods too.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.impossible import CampaignImpossible
from tests.hostile.campaigns.toy_models import form_model

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
SAME = re.compile(r"(.)\1{99,}")  # what is long of a request, and says nothing
# What counts as refused and as accepted: also what is too large, which a schema cannot say, and what is no JSON.
SETTINGS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 413, 415, 422]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 404, 413]
"""
FORMS = ("single", "pair", "multi-label")
EDGES_FROM = 2_000  # requests: the edges of every schema are some thousand, and always the same
MOST_RUNS = 40  # of schemathesis, for one model: of few cases each, where a schema has few
PATIENCE = 1_200  # seconds for one of them
MOST_SECONDS = 20  # for one answer
HOOKS = {"SCHEMATHESIS_HOOKS": str(Path(__file__).with_name("server_hooks.py"))}


class Tried(NamedTuple):
    """What one run of schemathesis has found; `wrong` counts cases."""

    cases: int
    wrong: int
    findings: list[str]


def server(count: int, *, seed: int = 0, forms: Sequence[str] = FORMS) -> Campaign:
    """At least so many requests, shared by the servers; few are random ones, many begin with the edges."""
    if find_spec("schemathesis") is None:
        raise CampaignImpossible("schemathesis is not installed: pip install -c constraints.txt schemathesis")
    detail: Counter[str] = Counter()
    findings: list[str] = []
    wrong = 0
    for form in forms:
        troubles: list[str] = []
        with serving(form_model(form), troubles=troubles) as address:
            for tried in runs(address, -(-count // len(forms)), seed=seed, edges=count >= EDGES_FROM):
                detail[form] += tried.cases
                wrong += tried.wrong
                troubles += tried.findings
        findings += [f"server {form} of seed {seed}, {trouble}" for trouble in troubles]
    total = detail.total()
    return Campaign("server", total, total - wrong, tuple(findings), dict(detail))


def runs(address: str, count: int, *, seed: int, edges: bool) -> Iterator[Tried]:
    """Runs of schemathesis, each with a seed of its own, until so many cases were tried."""
    done, phases = 0, "examples,coverage,fuzzing" if edges else "examples,fuzzing"
    for number in range(MOST_RUNS):
        if done >= count:
            return
        most = max(10, (count - done) // operations(address))
        tried = run_of(address, phases=phases, most=most, seed=100 * seed + number)
        done, phases = done + tried.cases, "fuzzing"
        yield tried


def operations(address: str) -> int:
    """How many operations take a body: nearly all cases are for them."""
    with urlopen(f"{address}/openapi.json", timeout=MOST_SECONDS) as answer:
        paths = json.load(answer)["paths"]
    return max(1, sum("requestBody" in operation for path in paths.values() for operation in path.values()))


def run_of(address: str, *, phases: str, most: int, seed: int) -> Tried:
    """One run: in its last phase at most so many random cases for each operation."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        (Path(scratch) / "schemathesis.toml").write_text(SETTINGS, encoding="utf-8")  # it looks for that where it runs
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--no-color"),
            *(
                "--phases",
                phases,
                "--max-examples",
                str(most),
                "--seed",
                str(seed),
                "--checks",
                "all",
                "--continue-on-failure",
            ),
            *("--no-shrink", "--generation-database", "none", "--suppress-health-check", "all"),
            *("--request-timeout", str(MOST_SECONDS), "--output-truncate", "false"),
            *("--report", "json", "--report-json-path", str(report)),
        ]
        done = subprocess.run(
            command, cwd=scratch, env={**os.environ, **HOOKS}, capture_output=True, text=True, errors="replace",
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        if not report.is_file():
            raise RuntimeError(f"schemathesis ended with {done.returncode}: {done.stderr[-2000:]}{done.stdout[-2000:]}")
        return tried_of(json.loads(report.read_text(encoding="utf-8")), done.stdout)


def tried_of(report: dict[str, Any], output: str) -> Tried:
    """The numbers of a report; a finding is described by how to make it again, or else by its title."""
    cases = report["test_cases"]
    findings = examples_of(output) or [
        f"{failure['title']} ({', '.join(failure['operations'])}, {failure['count']} times)"
        for failure in report["failures"]
    ]
    findings += [f"error: {json.dumps(error)[:500]}" for error in report["errors"]]
    if report["stop_reason"] != "completed":
        findings.append(f"schemathesis stopped: {report['stop_reason']}")
    return Tried(cases["generated"], cases["with_failures"] + cases["errored"], findings)


def examples_of(output: str) -> list[str]:
    """For each failing request that schemathesis prints, what is wrong with it, and the command that sends it."""
    found, titles = [], []
    for failure, command in re.findall(r"^- (ST\d+ .+)$|^ {4}(curl .+)$", output, re.MULTILINE):
        if failure:
            titles.append(failure)
        else:
            shortened = SAME.sub(r"\1…\1", command)[:1_000]
            found.append(f"{'; '.join(titles)}: {shortened}")
            titles = []
    return found


@contextmanager
def serving(model: Path, options: Sequence[str] = (), *, troubles: list[str] | None = None) -> Iterator[str]:
    """The address of a server of a model, which ends with the block. A traceback in its log and an exit status other
    than 0 are added to the troubles."""
    command = [sys.executable, "-m", "limbeck", "serve", str(model), "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            address, said = address_in(process.stdout)
            if not address:
                raise RuntimeError(f"the server said no address: {said}")
            yield address
        finally:
            process.terminate()
            status = process.wait(timeout=60)
            process.stdout.close()
            log.seek(0)
            if troubles is not None:
                troubles += troubles_of(status, log.read())


def troubles_of(status: int, log: str) -> list[str]:
    """What is wrong with how a server ended and what it wrote: each kind of traceback once, by its last line."""
    last_lines = re.findall(r"^Traceback .*\n(?:[ +|].*\n)*([^\s].*)$", log, re.MULTILINE)
    found = [f"a traceback: {line}" for line in dict.fromkeys(last_lines)]
    return [*found, *([f"the server ended with {status}"] if status else [])]


def address_in(lines: Iterable[str]) -> tuple[str, str]:
    """The first address that is said, or "", and everything up to it."""
    said = ""
    for line in lines:
        said += line
        if match := ADDRESS.search(line):
            return match[0], said
    return "", said
