"""The campaign against a server in short, and how it reads what schemathesis has found."""

import pytest

from tests.hostile.campaigns import server as campaign

OUTPUT = """
________________________________ POST /predict _________________________________
1. Test Case ID: cadujf

- ST202 Schema-valid request rejected

    Valid data should have been accepted

[422] Unprocessable Content:

Reproduce with:

    curl -X POST -d '{"texts": [], "rows": []}' http://127.0.0.1:1/predict

2. Test Case ID: abcdef

- ST001 Server error

- ST101 Undocumented HTTP status code

Reproduce with:

    curl -X POST -d 0 http://127.0.0.1:1/predict
"""


def report(**changes: object) -> dict[str, object]:
    """As schemathesis writes one."""
    cases = {"generated": 40, "with_failures": 2, "errored": 0}
    return {"test_cases": cases, "failures": [], "errors": [], "stop_reason": "completed", **changes}


def test_a_server_answers_or_refuses_whatever_its_schema_leads_to() -> None:
    pytest.importorskip("schemathesis")

    found = campaign.server(100, forms=["single"])  # the long form has pairs and several labels, too

    assert found.findings == ()
    assert found.tried == found.clean == found.detail["single"] >= 100


def test_a_finding_is_what_is_wrong_and_the_command_that_shows_it() -> None:
    tried = campaign.tried_of(report(), OUTPUT)

    assert tried.cases == 40
    assert tried.wrong == 2
    assert tried.findings == [
        'ST202 Schema-valid request rejected: curl -X POST -d \'{"texts": [], "rows": []}\' http://127.0.0.1:1/predict',
        "ST001 Server error; ST101 Undocumented HTTP status code: curl -X POST -d 0 http://127.0.0.1:1/predict",
    ]


def test_a_run_that_did_not_complete_is_a_finding() -> None:
    failure = {"title": "Server error", "operations": ["POST /predict"], "count": 3}

    tried = campaign.tried_of(report(failures=[failure], stop_reason="interrupted"), "nothing")

    assert tried.findings == ["Server error (POST /predict, 3 times)", "schemathesis stopped: interrupted"]


def test_each_kind_of_traceback_in_the_log_is_a_trouble_and_so_is_the_exit_status() -> None:
    one = 'Traceback (most recent call last):\n  File "a.py", line 1, in a\n    a()\nValueError: too many\n'

    assert campaign.troubles_of(3, f"begins\n{one}between\n{one}ends\n") == [
        "a traceback: ValueError: too many",
        "the server ended with 3",
    ]
    assert campaign.troubles_of(0, "all is well\n") == []
