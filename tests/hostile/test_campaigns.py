"""Campaigns in short; `make hostile` tries far more inputs of each. Kills in every stage: tests/flow/test_kill.py."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tests.hostile import __main__ as hostile
from tests.hostile import page
from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.files import files
from tests.hostile.campaigns.folders import folders
from tests.hostile.campaigns.impossible import CampaignImpossible
from tests.hostile.campaigns.recipes import recipes


@pytest.mark.parametrize(("campaign", "count"), [(files, 150), (recipes, 300), (folders, 60)])
def test_whatever_is_handed_over_is_dealt_with(campaign: Callable[[int], Campaign], count: int) -> None:
    found = campaign(count)

    assert found.findings == ()
    assert found.tried == found.clean == sum(found.detail.values()) >= count
    assert sum(count > 0 for count in found.detail.values()) > 1, "more than one outcome is worth trying"


def test_the_page_in_the_docs_is_the_one_that_the_committed_numbers_give() -> None:
    results = json.loads(page.RESULTS.read_text(encoding="utf-8"))

    assert page.PAGE.read_text(encoding="utf-8") == page.page_of(results)
    assert list(results) == list(hostile.SIZES) == list(page.PROMISES)


def test_a_campaign_goes_in_parts_with_seeds_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def campaign(count: int, *, seed: int) -> Campaign:
        asked.append((count, seed))
        return Campaign("files", count, count - 1, (f"file 0 of seed {seed}",), {"read": count - 1, str(seed): 1})

    monkeypatch.setattr("tests.hostile.campaigns.files.files", campaign)
    monkeypatch.setitem(hostile.SIZES, "files", hostile.Size(7, 3))

    found = hostile.run("files", seed=2, times=1.0, console=Console(quiet=True))

    assert asked == [(3, 2000), (3, 2001), (1, 2002)]
    assert (found.tried, found.clean) == (7, 4)
    assert found.findings == ("file 0 of seed 2000", "file 0 of seed 2001", "file 0 of seed 2002")
    assert found.detail == {"read": 4, "2000": 1, "2001": 1, "2002": 1}


def test_findings_end_with_1_and_are_on_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hostile, "RESULTS", tmp_path / "found.json")
    monkeypatch.setattr(hostile, "PAGE", tmp_path / "page.md")
    finding = "recipes 5 of seed 0, a [key]: Traceback\nmore"

    def campaign(count: int, *, seed: int) -> Campaign:
        return Campaign("recipes", count, count - (seed == 0), (finding,) if seed == 0 else (), {"loads": count})

    def impossible(count: int, *, seed: int) -> Campaign:
        raise CampaignImpossible(f"{count} of seed {seed} cannot be tried")

    monkeypatch.setattr("tests.hostile.campaigns.recipes.recipes", campaign)
    monkeypatch.setattr("tests.hostile.campaigns.kills.kills", impossible)

    status = hostile.main(["recipes", "kills"])

    assert status == 1
    assert finding in capsys.readouterr().err
    kept = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert list(kept) == ["recipes"]
    assert "| [changed recipes](#changed-recipes) | 20,000 | 19,999 | 1 |" in (tmp_path / "page.md").read_text(
        encoding="utf-8"
    )
    assert "- `recipes 5 of seed 0, a [key]: Traceback`" in (tmp_path / "page.md").read_text(encoding="utf-8")

    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    assert hostile.main(["recipes", "--seed", "1"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_that_there_is_not_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert hostile.main(["graph"]) == 2
    assert "There is no campaign 'graph'. Did you mean graphs?" in capsys.readouterr().err
