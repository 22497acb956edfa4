"""The site of docs/: it builds without a warning, all its links lead somewhere, and it asks nothing of the network."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.reference import REFERENCE, ROOT, reference
from tests.regenerate import DOCS, PAGES, llms_txt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="the extra `docs` is not installed"),
]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name == "href" and tag == "a":
                self.targets.append(value)
            elif value and name in ("src", "href") and tag in ("script", "img", "link"):
                self.loaded.append(value)


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a copy of docs/ that a test may change."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    shutil.copytree(DOCS, tmp_path / "docs")
    (tmp_path / "docs" / REFERENCE.name).write_text(reference())
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    return tmp_path


def test_site_builds_strictly_and_every_link_has_a_target(sources: Path) -> None:
    built = build(sources)
    assert built.returncode == 0, built.stdout + built.stderr
    site = sources / "site"
    pages = {page.stem for page in site.glob("*.html")} - {"404"}
    assert pages == {page.stem for page in (*PAGES, REFERENCE)}
    for page in site.glob("*.html"):
        found = _Links()
        found.feed(page.read_text())
        assert [one for one in found.loaded if urlsplit(one).netloc] == [], page.name
        for target in found.targets:
            path = unquote(urlsplit(target).path)
            if not urlsplit(target).scheme and path and not path.startswith("/"):
                assert (site / path).exists() or path == ".", f"{page.name}: {target}"
    assert (site / "llms.txt").read_text() == llms_txt()


def test_a_link_to_nowhere_fails_the_build(sources: Path) -> None:
    with (sources / "docs" / "faq.md").open("a") as file:
        file.write("\n[nowhere](nowhere.md)\n")
    assert build(sources).returncode != 0


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r'= "(\w+\.md)"', (ROOT / "zensical.toml").read_text())
    assert sorted(named) == sorted(page.name for page in (*PAGES, REFERENCE))
