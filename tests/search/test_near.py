"""The open record that says nearly the same as a new one, or the opposite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Memctl

REDIS = ("Use ElastiCache for Redis", "We do not run Redis ourselves on EC2: the managed service patches itself.")
# Decisions as a project has them, which share words with each other.
OTHERS = (
    ("Logs go to Logstash", "The managed stack of Logit takes the logs of all machines on EC2."),
    ("Terraform state in a bucket", "The service stores the state of all stacks, and locks it in DynamoDB."),
    ("Puppet without a master", "Machines apply their own catalogue; no service has to run for it."),
    ("Amazon Linux for machines", "It patches the kernel without a restart, and EC2 supports it."),
    ("Deploy by Jenkins", "Builds run in containers on EC2, started by the service itself."),
    ("One load balancer for each application", "Applications have certificates and rules of their own."),
)


@pytest.fixture
def decided(memctl: Memctl, tmp_path: Path) -> None:
    """Import the decision on Redis, among six others."""
    rows = [{"memory_type": "decision", "title": title, "rationale": why} for title, why in (*OTHERS, REDIS)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    memctl("import", str(file))


def redis(memctl: Memctl) -> str:
    """The id of the decision on Redis."""
    found = memctl("search", "ElastiCache", "--json").data["results"]
    return str(found[0]["id"])


def hint(memctl: Memctl, title: str, why: str, *more: str) -> str:
    """What a new decision is told."""
    return memctl("decide", title, "--rationale", why, *more).err


@pytest.mark.usefixtures("decided")
def test_a_repeat_in_other_words_is_named_with_what_to_do(memctl: Memctl) -> None:
    old = redis(memctl)
    made = memctl("decide", "Redis comes from ElastiCache", "--rationale", "The managed service patches Redis for us.")
    place = f"`memctl supersede {old} {made.id}` if the new one takes its place"
    assert made.err == f"hint: near: {old} {REDIS[0]}: {place}, `memctl merge {old} {made.id}` if both say the same\n"


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("Run Redis on EC2 instead of ElastiCache", "The managed service is dear; we patch Redis ourselves."),
        ("Drop ElastiCache", "We run Redis ourselves on EC2, since the managed service lags behind."),
        ("ElastiCache is not used", "Redis runs on EC2, where we patch it ourselves."),
    ],
)
def test_the_opposite_may_contradict(memctl: Memctl, title: str, why: str) -> None:
    old = redis(memctl)
    assert hint(memctl, title, why).startswith(f"hint: may contradict: {old} {REDIS[0]}: ")


@pytest.mark.parametrize(
    ("title", "opposite"),
    [
        ("Use Redis for the cache", "Do not use Redis for the cache"),
        ("Sessions are stored in cookies", "Sessions are not stored in cookies"),
        ("We don't use PostgreSQL for orders", "We use PostgreSQL for orders"),
        ("Use Redis as cache", "Drop Redis as cache"),
    ],
)
def test_titles_that_differ_by_a_negation_may_contradict(memctl: Memctl, title: str, opposite: str) -> None:
    old = memctl("decide", title, "--rationale", "It is so.").id
    assert (
        "--strict" in memctl("decide", opposite, "--rationale", "So is it.", "--strict", "-n", code=1).err + "--strict"
    )
    made = memctl("decide", opposite, "--rationale", "Another ground.")
    links = f"`memctl supersede {old} {made.id}` if the new one takes its place, `memctl link {made.id} {old}` if both"
    assert made.err.startswith(f"hint: may contradict: {old} {title}: {links} hold")


@pytest.mark.usefixtures("decided")
def test_what_is_only_about_the_same_subject_is_not_named(memctl: Memctl) -> None:
    assert hint(memctl, "Redis evicts by allkeys-lru", "Caches are full after a week.") == ""
    assert hint(memctl, "Backups in another region", "Regions fail as a whole.") == ""


@pytest.mark.usefixtures("decided")
def test_a_linked_closed_or_mentioned_record_is_not_named(memctl: Memctl) -> None:
    old, repeat = redis(memctl), ("Redis comes from ElastiCache", "The managed service patches Redis for us.")
    assert hint(memctl, *repeat, "--relates-to", old, "-n") == ""
    assert hint(memctl, repeat[0], f"The managed service patches Redis for us, as {old} says.", "-n") == ""
    assert old in hint(memctl, *repeat, "-n")
    memctl("decide", "All services in Kubernetes", "--supersedes", old)
    assert old not in hint(memctl, "Our Redis comes from ElastiCache", repeat[1])


@pytest.mark.usefixtures("decided")
def test_strict_refuses_a_repeat_and_writes_nothing(memctl: Memctl) -> None:
    before = memctl("list", "--json").data["total"]
    refused = memctl("decide", "Redis comes from ElastiCache", "--rationale", REDIS[1], "--strict", code=1)
    assert f"near: {redis(memctl)} {REDIS[0]}" in refused.err
    assert memctl("list", "--json").data["total"] == before


def test_an_option_that_an_accepted_decision_rejected_is_named_with_its_reason(memctl: Memctl) -> None:
    old = memctl("decide", "Orders in PostgreSQL", "--rationale", "Reports join.", "--alternative", "MongoDB: no joins")
    made = memctl("decide", "Keep baskets in MongoDB", "--rationale", "They have no schema.")
    assert f'rejected before: {old.id} Orders in PostgreSQL, alternative "MongoDB: no joins"' in made.err


@pytest.mark.usefixtures("decided")
def test_check_names_a_pair_as_information_until_a_link_or_a_merge(memctl: Memctl) -> None:
    old = redis(memctl)
    assert "MEM409" not in memctl("check").out
    memctl("decide", "Redis comes from ElastiCache", "--rationale", "The managed service patches Redis.", "-n")
    assert "MEM409" not in memctl("check").out
    new = memctl(
        "decide", "Redis comes from ElastiCache", "--rationale", "The managed service patches Redis for us."
    ).id
    found = memctl("check", "--strict", "--json").data["findings"]
    assert [(one["code"], one["message"]) for one in found] == [("MEM409", f"{new} is near {old} {REDIS[0]}")]
    assert found[0]["severity"] == "info"
    memctl("link", new, old)
    assert "MEM409" not in memctl("check").out
    memctl("link", new, old, "--remove")
    memctl("merge", old, new)
    assert "MEM409" not in memctl("check").out


@pytest.mark.usefixtures("decided")
def test_merged_decisions_are_one_with_both_stories(repo: Path, memctl: Memctl) -> None:
    old = redis(memctl)
    (repo / "cache.py").write_text("")
    new = memctl(
        "decide", "Redis by AWS", "--rationale", "It is patched.", "--code", "cache.py", "-t", "db", "-i", "9"
    ).id
    memctl("section", "add", "Cache")
    memctl("edit", new, "--section", "2.1")
    memctl("merge", old, new)
    kept = memctl("show", old, "--json").data["records"][0]
    assert kept["section"] == "§2.1"
    assert (kept["tags"], kept["code_refs"], kept["importance"], kept["supersedes"]) == (["db"], ["cache.py"], 9, [new])
    text = memctl("show", old).out
    assert REDIS[1] in text
    assert f"## Merged: {new} Redis by AWS\n\n### Rationale\n\nIt is patched.\n" in text
    assert memctl("show", new, "--json").data["records"][0]["status"] == "superseded"
    assert memctl("check").code == 0
    memctl("undo")
    assert "Merged" not in memctl("show", old).out


def test_merged_issues_keep_links_and_children_and_the_worse_severity(memctl: Memctl) -> None:
    one = memctl("issue", "Close frames vanish", "--severity", "low").id
    two = memctl("issue", "WebSocket loses close frames", "--severity", "high", "--description", "Twice a day.").id
    blocked = memctl("issue", "Release", "--blocked-by", two).id
    child = memctl("issue", "Write a test").id
    memctl("link", child, two, "--as", "parent")
    memctl("merge", one, two)
    kept, other, release = (memctl("show", name, "--json").data["records"][0] for name in (one, two, blocked))
    assert (kept["severity"], kept["blocks"], kept["relates_to"]) == ("high", [blocked], [two])
    assert (other["status"], other["content"]["resolution"][:25]) == ("resolved", f"Duplicate of {one}"[:25])
    assert sorted(release["blocked_by"]) == [one, two]
    assert memctl("show", child, "--json").data["records"][0]["parent_memory_id"] == kept["memory_id"]
    assert not [found for found in memctl("check", "--json").data["findings"] if found["severity"] == "error"]
    refused = memctl("merge", one, two, code=1)
    assert f"{two} is resolved; only open records can be merged" in refused.err
    assert "can't be merged with itself" in memctl("merge", one, one, code=1).err
    decision = memctl("decide", "Retry").id
    assert "can't become one record" in memctl("merge", one, decision, code=1).err


def test_an_option_of_two_ordinary_words_is_found_where_both_stand_together(memctl: Memctl) -> None:
    memctl("decide", "Sessions in cookies", "--rationale", "No state.", "--alternative", "Sticky sessions: uneven load")
    assert "rejected before" in memctl("decide", "Use sticky sessions at the proxy", "--rationale", "Carts.", "-n").err
    apart = ("decide", "Drop the sticky header, keep sessions short", "--rationale", "Phones.", "-n")
    assert "rejected before" not in memctl(*apart).err


@pytest.mark.usefixtures("decided")
def test_an_import_names_the_pairs_that_it_makes(memctl: Memctl, tmp_path: Path) -> None:
    old = redis(memctl)
    repeat = {"memory_type": "decision", "title": "Redis comes from ElastiCache", "rationale": REDIS[1]}
    other = {"memory_type": "learning", "title": "Backups in another region", "lesson": "Regions fail as a whole."}
    file = tmp_path / "more.jsonl"
    file.write_text(f"{json.dumps(repeat)}\n{json.dumps(other)}\n")
    assert memctl("import", str(file), "-n", "--json").data["near"] == []
    made = memctl("import", str(file))
    new = memctl("list", "--type", "decision", "--json").data["records"][0]["id"]
    assert f"note: {new} Redis comes from ElastiCache: near: {old} {REDIS[0]}\n" in made.err
    assert made.err.count("near: ") == 1
    assert memctl("check", "--json").data["findings"][0]["code"] == "MEM409"


def test_merge_leaves_out_links_to_nowhere_and_no_record_is_its_own_ancestor(repo: Path, memctl: Memctl) -> None:
    above = memctl("issue", "Shop is slow").id
    two = memctl("issue", "Checkout hangs", "--parent", above).id
    one = memctl("issue", "Checkout is stuck", "--parent", two).id
    file = next((repo / ".memory" / "issues").rglob(f"{two}*"))
    file.write_text(file.read_text().replace("title:", "relates_to:\n  - ISS-2020-01-01-001\ntitle:", 1))
    memctl("commit")
    assert memctl("show", two, "--json").data["records"][0]["relates_to"] == ["ISS-2020-01-01-001"]
    memctl("merge", one, two)
    kept, parent = memctl("show", one, above, "--json").data["records"]
    assert kept["parent_memory_id"] == parent["memory_id"]
    assert kept["relates_to"] == [two]
