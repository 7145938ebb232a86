"""What a run, a prediction and a server keep private: no file outside of what was named, no look-up of any host."""

from pathlib import Path

import pytest

from limbeck.telemetry import SWITCHES
from tests.hostile.campaigns.outside import Place, Step, all_steps, far_calls

IN_SHORT = 3  # commands: a run, a prediction, a server; `make hostile` tries all


def test_a_trace_with_a_look_up_is_recognised(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    far = [
        'connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.2")}, 16) = 0',
        "connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), "
        'inet_pton(AF_INET6, "2620:1ec::1", &sin6_addr), sin6_scope_id=0}, 28) = -1',
        'connect(4, {sa_family=AF_UNIX, sun_path="/run/systemd/resolve/io.systemd.Resolve"}, 110) = 0',
        'connect(5, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0',
        'sendto(5, "", 0, 0, {sin6_port=htons(53), inet_pton(AF_INET6, "::1", &sin6_addr)}, 28) = 0',
        r'sendto(6, "\2\0\0\0\r\0\0\0\6\0\0\0hosts\0", 18, MSG_NOSIGNAL, NULL, 0) = 18',
        r'sendto(6, "\2\0\0\0\16\0\0\0\17\0\0\0huggingface.co\0", 27, MSG_NOSIGNAL, NULL, 0) = 27',
    ]
    near = [
        'connect(6, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT',  # for the name of a user
        r'sendto(6, "\2\0\0\0\v\0\0\0\7\0\0\0passwd\0", 19, MSG_NOSIGNAL, NULL, 0) = 19',
        'connect(3, {sa_family=AF_INET, sin_port=htons(8000), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        'connect(3, {sa_family=AF_UNIX, sun_path=@"torch"}, 16) = 0',
    ]
    trace.write_text("\n".join([*far, *near]), encoding="utf-8")

    assert far_calls(trace) == far


def test_a_file_left_behind_is_a_fault(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.home / "device-id").touch()

    faults = place.faults_of(Step(("recipes",)))

    assert faults == [f"left {place.home / 'device-id'}"]


def test_a_run_a_prediction_and_a_server_leave_nothing_outside_and_look_nobody_up(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert not set(SWITCHES) & set(place.variables)  # limbeck sets them itself

    faults = {step.name: place.faults_of(step) for step in all_steps()[:IN_SHORT]}

    assert faults == {"run": [], "predict onnx": [], "serve onnx": []}
    if not place.words_before:
        pytest.skip("there is no strace here: files were checked, look-ups were not")
