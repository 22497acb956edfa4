"""Options that decisions rejected, found in what brings them back, and only there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.search import rejected_options
from memctl.search.rejected_options import Passage
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl

ALTERNATIVES = (
    "MongoDB: no joins",
    "Use Kafka for events: too heavy",
    "A lock per tenant: slow",
    "markdown-it-py - 30 ms",
    "Google Cloud Storage (one more account)",
    "GraphQL, which nobody here knows",
    "[NATS](https://nats.io) or Pulsar: young",
    "a cache: stale",
    "do nothing",
    "keep it as it is",
    "Wait for the lock",
    "Without Redis: carts are lost",
)


Options = Callable[..., list[str]]


def find(repo: Path) -> Options:
    """Return a function that returns the names of the options that a text brings back."""
    snapshot = load.disk(open_memory(repo, os.environ))
    options = rejected_options.rejected_options(snapshot, snapshot.records)

    def found(text: str, *, is_code: bool = False, is_used: bool = False) -> list[str]:
        passages = [Passage(text, "x", is_code)]
        back = rejected_options.brought_back(snapshot, options, passages, lambda _: is_used)
        return [item.option.name for item in back]

    return found


@pytest.fixture
def found(repo: Path, memctl: Memctl) -> Options:
    arguments = [part for text in ALTERNATIVES for part in ("--alternative", text)]
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Orders need transactions", *arguments)
    return find(repo)


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Use MongoDB for payments", "MongoDB"),
        ("Orders on mongodb", "MongoDB"),
        ("Mongo for orders", "MongoDB"),
        ("Replace PostgreSQL with MongoDB", "MongoDB"),
        ("Migrate from PostgreSQL to MongoDB", "MongoDB"),
        ("feat(pay): send events through kafka", "Use Kafka for events"),
        ("Take a lock per tenant in the cart", "A lock per tenant"),
        ("Parse pages by markdown_it_py", "markdown-it-py"),
        ("Keep files in Google Cloud Storage", "Google Cloud Storage"),
        ("A GraphQL API", "GraphQL"),
        ("Pulsar for events", "NATS or Pulsar"),
    ],
)
def test_option_in_a_sentence_is_found(found: Options, sentence: str, name: str) -> None:
    assert found(sentence) == [name]


@pytest.mark.parametrize(
    "sentence",
    [
        "Do not use MongoDB",
        "Never take MongoDB for orders",
        "Remove MongoDB",
        "Replace MongoDB with PostgreSQL",
        "Migrate from MongoDB to PostgreSQL",
        "PostgreSQL instead of MongoDB",
        "PostgreSQL is faster than MongoDB",
        "Carts live among heaps",  # "mongo" is in it
        "Add a cache for prices",
        "Do nothing on errors",
        "Keep the schema as it is",
        "Wait for the lock in tests",
        "A lock per cart",  # the tenant made the difference
        "Redis keeps carts",
        "Adopt PostgreSQL 17",
        "The graph of imports",
    ],
)
def test_sentence_that_takes_up_no_rejected_option_gives_nothing(found: Options, sentence: str) -> None:
    assert found(sentence) == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from pymongo import MongoClient", "MongoDB"),
        ('url = "mongodb://localhost"', "MongoDB"),
        ("import { Kafka } from 'kafkajs'", "Use Kafka for events"),
        ("from google.cloud.storage import Client", "Google Cloud Storage"),
        ("from markdown_it_py import parse", "markdown-it-py"),
        ("const client = new GraphQLClient(url)", "GraphQL"),
    ],
)
def test_name_in_code_is_found_unless_the_code_used_it(found: Options, line: str, name: str) -> None:
    assert found(line, is_code=True) == [name]
    assert found(line, is_code=True, is_used=True) == []


@pytest.mark.parametrize("line", ["lock(tenant, per=1)", "among = graph(redistribute)", "cache = {}", "nothing = True"])
def test_ordinary_words_in_code_are_not_found(found: Options, line: str) -> None:
    assert found(line, is_code=True) == []


def test_titles_of_rejected_and_superseded_decisions_are_options(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "Use CouchDB", "--rationale", "x", "--status", "proposed")
    memctl("edit", "DEC", "--status", "rejected")
    old = memctl("decide", "Use Memcached for carts", "--rationale", "x").id
    memctl("decide", "Use a table for carts", "--rationale", "x", "--supersedes", old)
    memctl("decide", "Use Consul", "--rationale", "x", "--alternative", "Zookeeper: old")
    assert find(repo)("import memcached, couchdb, zookeeper, consul", is_code=True) == [
        "Use CouchDB",
        "Use Memcached for carts",
        "Zookeeper",
    ]


def test_option_that_a_later_decision_takes_up_is_none_any_more(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "x", "--alternative", "Redis: no joins")
    assert find(repo)("import redis", is_code=True) == ["Redis"]
    memctl("decide", "Avoid Redis", "--rationale", "No joins")
    assert find(repo)("import redis", is_code=True) == ["Redis"]
    memctl("decide", "Use Redis for sessions", "--rationale", "They expire")
    assert find(repo)("import redis", is_code=True) == []
