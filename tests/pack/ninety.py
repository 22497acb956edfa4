"""A memory of ninety records in six sections: of five subjects each a decision, an issue or task, and a learning."""

from __future__ import annotations

import json
from typing import Any

SECTIONS = {
    "§2.1": "Accounts",
    "§2.2": "Catalogue",
    "§2.3": "Payments",
    "§2.4": "Search",
    "§2.5": "Delivery",
    "§2.6": "Operations",
}
# Of each subject: what it is, what was chosen, what instead was not, what goes wrong, and words that only it has.
_SUBJECTS = {
    "§2.1": (
        ("Session cookies", "rotate the cookie at each login", "one token for a month", "stolen sessions live on",
         "cookie httpOnly SameSite rotation logout"),
        ("Password hashing", "hash with argon2id", "bcrypt of cost ten", "logins take two seconds",
         "argon2id salt pepper memory parallelism"),
        ("Invitation mails", "sign the link for three days", "a random code in a table", "old links still open",
         "invitation signature mailbox bounce guest"),
        ("Roles", "three roles in the token", "a permission table", "editors see invoices",
         "role editor viewer administrator claim"),
        ("Two factors", "TOTP with ten recovery codes", "codes by text message", "clocks differ by a minute",
         "TOTP authenticator recovery drift enrolment"),
    ),
    "§2.2": (
        ("Lamp variants", "one row for each variant", "a JSON column", "colours appear twice",
         "variant colour bulb socket lampshade"),
        ("Supplier import", "import by night in batches", "a webhook for each article", "half an import is visible",
         "supplier batch feed spreadsheet nightly"),
        ("Product photos", "resize at upload into three widths", "resize on demand", "large photos fill the disk",
         "photo thumbnail width webp upload"),
        ("Price lists", "prices are valid from a day on", "overwrite the price", "old orders change their total",
         "price validity margin discount list"),
        ("Out of print", "hide what cannot be ordered again", "delete the article", "links to articles break",
         "discontinued archive redirect shelf leftover"),
    ),
    "§2.3": (
        ("Card retries", "one idempotency key for each attempt", "retry without a key", "buyers are charged twice",
         "card idempotency acquirer attempt charge"),
        ("Refunds", "book refunds as negative entries", "edit the booking", "the ledger does not add up",
         "refund ledger entry booking negative"),
        ("Invoices", "number invoices without gaps", "take the number of the order", "auditors find gaps",
         "invoice numbering auditor gap pdf"),
        ("Currency", "keep cents with their currency", "keep euros as floats", "totals are off by a cent",
         "currency cents rounding exchange euro"),
        ("Chargebacks", "freeze the account at a chargeback", "close the account", "disputes arrive unnoticed",
         "chargeback dispute freeze evidence bank"),
    ),
    "§2.4": (
        ("Synonyms", "synonyms in a file of the repository", "a table that buyers edit", "lampion finds nothing",
         "synonym thesaurus stemming lampion dictionary"),
        ("Typing errors", "trigrams for words of five letters", "edit distance of two", "short words match all",
         "trigram typo fuzzy misspelling similarity"),
        ("Ranking", "rank by sales of ninety days", "rank by the newest", "what is sold out comes first",
         "ranking boost popularity score ninety"),
        ("Facets", "count facets in the same query", "a query for each facet", "counts differ from hits",
         "facet count filter aggregation bucket"),
        ("Index rebuild", "build beside and swap the alias", "rebuild in place", "search is empty for minutes",
         "alias swap rebuild shard reindex"),
    ),
    "§2.5": (
        ("Parcel labels", "print labels by the carrier's interface", "fill in its web form", "labels have old streets",
         "label carrier parcel street barcode"),
        ("Tracking", "ask the carrier once an hour", "wait for its calls", "parcels look lost",
         "tracking hourly poll scan depot"),
        ("Returns", "one return label in each box", "send a label on request", "returns come without a number",
         "return box sender restock inspection"),
        ("Islands", "a surcharge by postal code", "one price for all", "islands cost more than they bring",
         "island surcharge postcode ferry zone"),
        ("Glass", "double boxes for shades of glass", "more paper in one box", "one in forty breaks",
         "glass fragile padding breakage shade"),
    ),
    "§2.6": (
        ("Backups", "write ahead logs to another region", "a dump each night", "a restore takes six hours",
         "backup restore region dump archive"),
        ("Audit log", "append only, for ten years", "the log of the web server", "entries can be changed",
         "audit append tamper retention trail"),
        ("Kubernetes", "two small clusters", "one large cluster", "an upgrade stops the shop",
         "kubernetes cluster node upgrade drain"),
        ("Alerts", "page for what buyers feel", "page for load", "nights with forty pages",
         "alert page oncall threshold silence"),
        ("Secrets", "secrets from a vault at start", "secrets in variables", "a key stood in a log",
         "secret vault lease rotation key"),
    ),
}  # fmt: skip
_WEIGHTS = (9, 8, 7, 6, 5)
_SEVERITIES = ("critical", "high", "medium", "low")


def lines() -> str:
    """The records as JSON Lines for `memctl import`, the oldest first: the third subject of a section has its task."""
    return "".join(json.dumps(record) + "\n" for record in records())


def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for place, (section, subjects) in enumerate(_SUBJECTS.items()):
        for number, subject in enumerate(subjects):
            made = (_decision(subject, number), _work(subject, number, place), _learning(subject, number))
            for part, record in enumerate(made):
                day = 1 + (number * 5 + place) % 28
                when = f"2025-10-{day:02}T{8 + part:02}:00:00Z"
                found.append({**record, "section": section, "agent_id": "claude", "timestamp": when})
    return sorted(found, key=lambda record: str(record["timestamp"]))


def _decision(subject: tuple[str, ...], number: int) -> dict[str, Any]:
    name, chosen, instead, wrong, words = subject
    content = {
        "decision": f"{name}: we {chosen}. {_detail(name, words)}",
        "rationale": f"Without it {wrong}. {_detail(name, words, 'measured in a trial of two weeks')}",
        "alternatives_considered": [f"{instead.capitalize()}: rejected, because then {wrong}."],
        "expected_impact": f"No more reports that {wrong}.",
    }
    return _record("decision", f"{name}: {chosen}", _WEIGHTS[number], content, words)


def _work(subject: tuple[str, ...], number: int, place: int) -> dict[str, Any]:
    """A task for the third subject, an issue for the others; the last of them is resolved."""
    name, chosen, _, wrong, words = subject
    if number == 2:
        content: dict[str, Any] = {
            "task_description": f"{name}: {chosen}, and tests show that no longer {wrong}.",
            "substeps_completed": [f"Design of {words.split()[0]}", f"Migration for {words.split()[1]}"],
            "substeps_remaining": [f"Handler of {words.split()[2]}", f"Test of {words.split()[3]}"],
            "next_actions": [f"Write the handler of {words.split()[2]}"],
        }
        return {**_record("state", f"{name} under way", 6, content, words), "completion_percentage": 50 + place}
    content = {
        "description": f"It was seen that {wrong}. {_detail(name, words)}",
        "reproduction_steps": f"Order a lantern, then look at {words.split()[0]} and {words.split()[1]}.",
        "attempted_fixes": [f"A larger limit for {words.split()[1]}: no effect"],
        "next_actions": [f"Log {words.split()[2]} with the order"],
    }
    severity = _SEVERITIES[(number + place) % 4]
    found = {**_record("issue", f"{name}: {wrong}", 8 - number, content, words), "severity": severity}
    return {**found, "status": "resolved"} if number == 4 else found


def _learning(subject: tuple[str, ...], number: int) -> dict[str, Any]:
    name, _, _, wrong, words = subject
    content = {
        "lesson": f"When {wrong}, look at {words.split()[3]} first. {_detail(name, words)}",
        "applicability": f"Whatever has to do with {words.split()[0]} and {words.split()[4]}.",
    }
    return _record("learning", f"{name}: {words.split()[3]} comes first", 4 + number % 3, content, words)


def _record(kind: str, title: str, importance: int, content: dict[str, Any], words: str) -> dict[str, Any]:
    return {
        "memory_type": kind,
        "title": title,
        "importance": importance,
        "content": content,
        "tags": words.split()[:2],
    }


def _detail(name: str, words: str, how: str = "seen in production and in staging") -> str:
    """Sentences that only one subject has, as long as those of real records."""
    one, two, three, four, five = words.split()
    return (
        f"The {one} goes through the {two} before the {three} is written, {how}. "
        f"Of the {four} there is one for each order, and the {five} keeps its number until it is closed. "
        f"{name} is tested with a thousand orders; a fault in the {two} shows in the {five} within a minute. "
        f"Who changes the {four} runs the tests of the {one} again and says so in the commit. "
        f"The {three} is never read twice: a second reader waits for the {four}, at most two seconds."
    )
