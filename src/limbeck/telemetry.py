"""Some libraries that Limbeck uses report about the machine they run on; here that is switched off.

onnxruntime 1.31 makes a device id and a database of events in the user's cache, and looks up a host to send them to, as
soon as it is imported. It reads its switch once, then: so the switch is set when `limbeck` is imported, before any of
them. A value that somebody has set stays.
"""

import os

SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime
    "RAY_USAGE_STATS_ENABLED": "0",  # ray
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, and transformers and datasets through it
}


def switch_off_telemetry() -> None:
    """For this process and those it starts."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
