"""Copies the pages of the site, and the files they link to, to build/site: the site is built from a single folder."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGED = ROOT / "build" / "site"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"""\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"\s]+)\"""")


def main() -> None:
    """Copy everything to where zensical.toml expects it, with the repository's folders, so that links still hold."""
    shutil.rmtree(STAGED, ignore_errors=True)
    for path in [*pages(), *linked_files(), ROOT / "docs" / "site.css"]:
        target = STAGED / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def pages() -> list[Path]:
    """Every page of the site: the Markdown files at the top of the repository and those of docs/."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def links(page: Path) -> list[str]:
    """What a page links to or shows, outside of code, as it is written there; other sites are not included."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    found = [markdown or html for markdown, html in LINK.findall(text)]
    return [link for link in found if "://" not in link and not link.startswith("mailto:")]


def linked_files() -> Iterator[Path]:
    """Every file that a page links to and that is no page itself: pictures, results, licence."""
    for page in pages():
        for link in links(page):
            path = (page.parent / link.partition("#")[0]).resolve()
            if path.suffix != ".md" and path.is_file():
                yield path


if __name__ == "__main__":
    main()
