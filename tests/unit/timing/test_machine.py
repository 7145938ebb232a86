"""What a report tells about the machine, and what it does not."""

import json
import os
import platform
from pathlib import Path

from limbeck.timing.machine import cpu_name, machine_facts


def test_the_processor_is_read_from_the_systems_listing(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2.5GHz\nmodel name\t: Another\n")

    assert cpu_name(listing) == "Some CPU @ 2.5GHz"


def test_without_a_listing_there_is_still_a_name(tmp_path: Path) -> None:
    assert cpu_name(tmp_path / "missing")


def test_facts_name_versions_and_threads_but_neither_host_nor_paths() -> None:
    facts = machine_facts(threads=3)

    assert facts["threads"] == 3
    assert facts["versions"]["onnxruntime"]
    written = json.dumps(facts)
    assert platform.node() not in written or len(platform.node()) < 4
    assert os.sep + "home" not in written
