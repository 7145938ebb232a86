"""The pages as a site: all of them are in the navigation, and every link and anchor leads somewhere."""

import re
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
SITE = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def stage() -> ModuleType:
    """docs/stage_site.py, which is a script and no part of the package."""
    spec = spec_from_file_location("stage_site", ROOT / "docs" / "stage_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site name them."""
    found: list[str] = []
    for heading in HEADING.findall(FENCED.sub("", page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        repeated = sum(one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one) is not None for one in found)
        found.append(f"{slug}-{repeated}" if repeated else slug)
    return set(found)


def in_navigation(nav: Any) -> list[str]:
    """The pages that a part of the navigation leads to."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for part in inner for page in in_navigation(part)]


def dead_links(page: Path, links: list[str]) -> list[str]:
    """The links of a page that lead to no file, or to no heading of one."""
    dead = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            dead.append(link)
    return dead


def test_every_page_is_in_the_navigation_once() -> None:
    pages = in_navigation(SITE["nav"])

    assert sorted(pages) == sorted(str(page.relative_to(ROOT)) for page in PAGES)


def test_every_page_of_the_docs_is_in_their_index(stage: ModuleType) -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in stage.links(index)}

    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {path.name for path in listed} == {"index.md"}


def test_every_link_and_anchor_leads_somewhere(stage: ModuleType) -> None:
    dead = {page.relative_to(ROOT): dead_links(page, stage.links(page)) for page in PAGES}

    assert {page: links for page, links in dead.items() if links} == {}


def test_a_dead_link_is_noticed(stage: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '# A `code` heading\n[here](#a-code-heading) [gone](#gone) [no](no.md)\n<img src="no.svg">\n`[not](a-link)`\n',
        encoding="utf-8",
    )

    assert dead_links(page, stage.links(page)) == ["#gone", "no.md", "no.svg"]


def test_equal_headings_have_anchors_of_their_own() -> None:
    assert anchors("# A b\n## A b\n## Über, `50`\n```\n# no\n```\n") == {"a-b", "a-b-1", "über-50"}


def test_the_site_fetches_nothing_from_other_servers() -> None:
    assert SITE["theme"]["font"] is False, "fonts would be fetched"
    assert "extra_javascript" not in SITE
    assert [file for file in SITE["extra_css"] if "://" in file or not (ROOT / file).is_file()] == []


def test_everything_that_pages_show_is_staged(
    stage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "STAGED", tmp_path / "staged")

    stage.main()

    assert (tmp_path / "staged" / "docs" / "results" / "readme-dark.svg").is_file()
    assert (tmp_path / "staged" / "LICENSE").is_file()
    staged = [tmp_path / "staged" / page.relative_to(ROOT) for page in PAGES]
    missing = [
        link for page in staged for link in stage.links(page) if not (page.parent / link.partition("#")[0]).exists()
    ]
    assert missing == []
