"""The showcase: `.memory.example/` over the shop in `tests/lantern/`; its rendered pages are the golden files."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memctl.pages import freshness, generated_header, levels
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory, open_memory
from memctl.text import markdown
from memctl.write import documents
from memctl.write.setup import build_example
from tests.conftest import Memctl, commits, git
from tests.example import MEMORY, SHOP

PAGES = sorted(path.name for path in (MEMORY / "docs").glob("*.md"))
SHOWN = re.compile(r"§([1-4](?:\.[\w@*][\w./*@+-]*)?)")


@pytest.fixture(scope="session")
def built_showcase(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("showcase") / "shop"
    build_example(folder)
    return folder


@pytest.fixture
def shop(built_showcase: Path, tmp_path: Path) -> Path:
    """The showcase as a repository of the test's own."""
    folder = tmp_path / "lantern"
    shutil.copytree(built_showcase, folder, symlinks=True)
    return folder


@pytest.fixture
def memory(shop: Path) -> Memory:
    return open_memory(shop, os.environ)


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rendered(memory: Memory, snapshot: Snapshot) -> dict[str, bytes]:
    """All documents of a snapshot, by name."""
    making = documents.renderer(memory, snapshot)
    texts = {name: making.document(name) for name in making.names()}
    texts["4-sources.md"] = making.sources()
    return {name: text.encode() for name, text in texts.items()}


def tokens_of(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text())


def spans(page: Path) -> Iterator[tuple[str, str]]:
    """The texts of a page outside of code, each with the target of the link that it stands in ("" for none)."""
    for token in tokens_of(page):
        target = ""
        for child in token.children or ():
            if child.type in ("link_open", "link_close"):
                target = str(child.attrGet("href") or "")
            elif child.type in ("text", "code_inline") and (target or child.type == "text"):
                yield child.content, target


def headings(page: Path) -> dict[str, str]:
    """The headings of a page by the anchors that GitHub gives them."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    tokens = tokens_of(page)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            shown = "".join(child.content for child in inline.children or ())
            anchor = "".join(c for c in shown.lower() if c.isalnum() or c in "-_ ").replace(" ", "-")
            found[f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor] = shown
            seen[anchor] += 1
    return found


def test_example_pages_are_up_to_date(shop: Path, memctl: Memctl) -> None:
    shutil.rmtree(shop / ".memory" / "docs")
    memctl("render", where=shop)
    assert bytes_in(shop / ".memory" / "docs") == bytes_in(MEMORY / "docs"), "run `python -m tests.example`"
    assert (MEMORY / ".gitattributes").read_text() == documents.attributes()


def test_rendering_again_changes_nothing(shop: Path, memctl: Memctl) -> None:
    before = commits(shop)
    for command in (["render"], ["render"], ["render", "--check"]):
        assert memctl(*command, where=shop).err.startswith("all documents are up to date\n")
    assert commits(shop) == before
    assert git(shop, "status", "--porcelain") == ""


def test_disk_index_and_commit_give_the_same_pages(shop: Path, memory: Memory) -> None:
    golden = bytes_in(MEMORY / "docs")
    assert rendered(memory, load.disk(memory)) == golden
    for page in (shop / ".memory" / "details").iterdir():
        page.unlink()
    (shop / "src" / "lantern" / "app.py").write_text("")
    assert rendered(memory, load.index(memory)) == golden
    git(shop, "add", "-A")
    assert rendered(memory, load.revision(memory, "HEAD")) == golden
    assert rendered(memory, load.index(memory)).keys() < golden.keys()


def test_an_edit_of_a_page_by_hand_is_found_and_kept(shop: Path, memctl: Memctl) -> None:
    page = shop / ".memory" / "docs" / "2.2-checkout.md"
    text = page.read_text()
    page.write_text(text.replace("75 %", "99 %"))
    failed = memctl("render", "--check", where=shop, code=1)
    assert ".memory/docs/2.2-checkout.md was edited by hand" in failed.err
    memctl("render", where=shop, code=1)
    assert "99 %" in page.read_text()
    memctl("render", "--force", where=shop)
    assert page.read_text() == text


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_has_a_target(shop: Path, name: str) -> None:
    page = shop / ".memory" / "docs" / name
    links = {target for _, target in spans(page) if target}
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        assert file.exists(), link
        assert file.is_relative_to(shop), link
        if line := re.fullmatch(r"L(\d+)", anchor):
            assert int(line[1]) <= len(file.read_text().splitlines()), link
        elif anchor:
            assert unquote(anchor) in headings(file), link


@pytest.mark.parametrize("name", PAGES)
def test_every_shown_marker_links_to_its_place(shop: Path, name: str) -> None:
    page = shop / ".memory" / "docs" / name
    for text, link in spans(page):
        for match in SHOWN.finditer(text):
            path, _, anchor = link.partition("#")
            assert path, f"{match[0]} in {text!r} is no link"
            if not match[1].startswith("4"):
                known = headings(page.parent / unquote(path))
                assert (known[anchor] if anchor else next(iter(known.values()))).startswith(f"{match[1]} "), link


@pytest.mark.parametrize("name", [name for name in PAGES if name[0] in "123"])
def test_every_page_is_within_the_limits_of_its_level(memory: Memory, name: str) -> None:
    document = generated_header.split((MEMORY / "docs" / name).read_text())
    assert document is not None
    least, most = levels.LIMITS[int(name[0])]
    assert least <= documents.counter(memory).tokens(markdown.visible(document.text), "markdown") <= most


def test_pages_and_records_refer_to_existing_files(memory: Memory) -> None:
    snapshot = load.disk(memory)
    assert snapshot.outline.faults == ()
    assert len(snapshot.records) == 30
    for page in snapshot.outline.pages:
        assert {ref.state for ref in freshness.references(snapshot, page)} <= {freshness.FOUND}, page.id
        assert freshness.changed_files(snapshot, page) == [], (
            f"{page.id}: read it again, then run `python -m tests.example`"
        )
    for record in snapshot.records:
        for reference in record.code_refs:
            path, _, line = reference.partition(":")
            assert (SHOP / path).exists(), f"{record.id}: {reference}"
            assert not line or int(line) <= len((SHOP / path).read_text().splitlines()), f"{record.id}: {reference}"


def test_declared_completion_agrees_with_the_sections(memory: Memory) -> None:
    outline = load.disk(memory).outline
    made = outline.mean_percentage
    assert outline.project is not None
    assert outline.project.completion_percentage is not None
    assert made is not None
    assert abs(outline.project.completion_percentage - made) <= 5


def test_example_memory_passes_check(shop: Path, memctl: Memctl) -> None:
    memctl("check", where=shop)


def test_every_section_has_details_and_files(memory: Memory) -> None:
    snapshot = load.disk(memory)
    assert [section.id for section in snapshot.outline.sections] == ["§2.1", "§2.2", "§2.3", "§2.4"]
    for section in snapshot.outline.sections:
        assert snapshot.outline.details_of(section.id)
        assert f"Covered by [{section.id}]" in (MEMORY / "docs" / "4-sources.md").read_text()
    assert {record.section for record in snapshot.records} <= {page.id for page in snapshot.outline.pages}


def test_code_excerpts_appear_from_level_3_and_come_from_the_shop() -> None:
    files = [path.read_text() for path in SHOP.rglob("*") if path.is_file() and path.suffix in (".py", ".sql")]
    for name in ("project.md", "sections/*.md", "details/*.md"):
        for page in MEMORY.glob(name):
            excerpts = [token.content for token in tokens_of(page) if token.type == "fence"]
            assert bool(excerpts) == (name == "details/*.md"), page
            for excerpt in excerpts:
                assert any(excerpt in text for text in files), f"{page.name}: {excerpt}"


def test_largest_file_lists_its_definitions() -> None:
    text = (MEMORY / "docs" / "4-sources.md").read_text()
    assert "Inside `src/lantern/checkout/shipping.py`: `class NoOffer`, `class Parcel`" in text
    assert "and 1 more (`memctl summarize` lists all)" in text
