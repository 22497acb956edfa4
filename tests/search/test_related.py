"""Which records have to do with a record or a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.record.filters import Filters
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search import related
from memctl.search.related import CODE, LINKS, SECTION, TAGS, TEXT, Related
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl, git


def snapshot(repo: Path) -> Snapshot:
    return load.disk(open_memory(repo, os.environ))


def to_record(repo: Path, identifier: str, filters: Filters | None = None) -> dict[str, Related]:
    view = snapshot(repo)
    subject = related.of_record(view, view.resolve(identifier))
    return {found.record.id: found for found in related.related(view, subject, filters or Filters())}


def to_file(repo: Path, path: str, *sections: str) -> dict[str, Related]:
    view = snapshot(repo)
    subject = related.of_files(view, [path], sections)
    return {found.record.id: found for found in related.related(view, subject, Filters())}


def test_weights_of_the_parts_add_up_to_one() -> None:
    assert pytest.approx(1) == LINKS + CODE + TEXT + TAGS + SECTION


def test_the_score_is_the_sum_of_its_parts(repo: Path, memctl: Memctl) -> None:
    one = memctl("learn", "Pools", "--lesson", "of connections", "-t", "db", "--code", "src/pool.py:3").id
    two = memctl("issue", "Pools run dry", "-t", "db", "-t", "api", "--code", "src/pool.py", "--relates-to", one).id
    [found] = to_record(repo, one).values()
    assert found.record.id == two
    assert (found.links, found.code, found.tags, found.section) == (LINKS, CODE, TAGS / 2, 0)
    assert 0 < found.text <= TEXT
    assert found.score == pytest.approx(found.links + found.code + found.text + found.tags)
    assert found.because == ("relates_to", "src/pool.py", "tag db")


def test_links_count_from_both_ends_and_over_a_third_record(repo: Path, memctl: Memctl) -> None:
    hub = memctl("decide", "Adopt lamps").id
    near = memctl("learn", "Wicks burn", "--relates-to", hub).id
    far = memctl("learn", "Oil is dear", "--relates-to", hub).id
    assert {name: found.links for name, found in to_record(repo, hub).items()} == {near: LINKS, far: LINKS}
    assert to_record(repo, near)[far].links == LINKS / 2
    assert to_record(repo, near)[far].because == (f"both with {hub}",)


def test_a_mention_in_the_text_is_a_link(repo: Path, memctl: Memctl) -> None:
    one = memctl("decide", "Adopt lamps").id
    two = memctl("learn", "Glass breaks", "--lesson", f"As {one} foresaw").id
    assert to_record(repo, one)[two].because == ("its mentions",)
    assert to_record(repo, two)[one].because == ("mentions",)


def test_a_file_is_related_by_reference_folder_mention_and_section(repo: Path, memctl: Memctl) -> None:
    exact = memctl("learn", "Exact", "--code", "src/pay/card.py:10").id
    folder = memctl("learn", "Folder", "--code", "src/pay/").id
    beside = memctl("learn", "Beside", "--code", "src/pay/cash.py", "--section", "2.1").id
    mention = memctl("learn", "Mention", "--lesson", "See §4.src/pay/card.py").id
    memctl("learn", "Elsewhere", "--code", "src/ship/box.py")
    found = to_file(repo, "src/pay/card.py", "§2.1")
    assert found[exact].code == found[folder].code == CODE
    assert found[beside].because == ("src/pay/", "§2.1")
    assert found[mention].links == LINKS
    assert set(found) == {exact, folder, beside, mention}


def test_a_shared_section_alone_makes_no_relation(repo: Path, memctl: Memctl) -> None:
    one = memctl("learn", "Lamps", "--section", "2.1").id
    memctl("learn", "Tea", "--section", "2.1")
    assert to_record(repo, one) == {}


def test_filters_apply_and_archived_records_are_left_out(repo: Path, memctl: Memctl) -> None:
    one = memctl("decide", "Adopt lamps").id
    two = memctl("learn", "Wicks burn", "--relates-to", one).id
    assert to_record(repo, one, Filters(types=("issue",))) == {}
    memctl("archive", two)
    assert to_record(repo, one) == {}
    assert set(to_record(repo, one, Filters(archived=None))) == {two}


def test_equal_scores_are_ordered_by_id(repo: Path, memctl: Memctl) -> None:
    hub = memctl("decide", "Hub").id
    linked = [memctl("learn", "Same", "--relates-to", hub).id for _ in range(3)]
    view = snapshot(repo)
    record: Record = view.resolve(hub)
    found = related.related(view, related.of_record(view, record), Filters())
    assert [result.record.id for result in found] == linked


def test_a_record_that_names_the_file_in_its_text_is_related_to_it_after_one_with_a_reference(
    repo: Path, memctl: Memctl
) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "pool.py").write_text("")
    git(repo, "add", ".")
    typed = memctl("learn", "Connections", "--lesson", "Ten at most.", "--code", "src/pool.py").id
    named = memctl("learn", "Leaks", "--lesson", "Seen in pool.py:12 last week.").id
    other = memctl("learn", "Whales", "--lesson", "Seen in whirlpool.py.").id
    found = to_file(repo, "src/pool.py")
    assert found[typed].code == CODE
    assert found[named].code == CODE / 2
    assert found[named].because == ("src/pool.py",)
    assert other not in found
    assert to_record(repo, typed)[named].code == CODE / 2
