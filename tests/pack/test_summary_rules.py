"""What belongs into a summary."""

from __future__ import annotations

import pytest

from memctl.pack import summary_rules as rules
from memctl.pack.names_in_text import paths
from memctl.pack.summary_rules import UnitVerdict, judge, needs_context
from memctl.statements.units import units


def verdict(text: str) -> UnitVerdict:
    return judge([*units(text)][-1])


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("I searched for 'auth' and found several files.", rules.SEARCH),
        ("Then I've also grepped the tests.", rules.SEARCH),
        ("We ran `rg -n token src`.", rules.SEARCH),
        ("grep -rn 'auth' src", rules.SEARCH),
        ("$ git grep -n token", rules.SEARCH),
        ("Search query: auth token", rules.SEARCH),
        ('Ran grep -rn "refund" lib', rules.SEARCH),
        ("Used ripgrep for refunds.", rules.SEARCH),
        ("Error: EACCES: permission denied, open 'pay.db' (solved by a new group)", rules.RESOLVED),
        ("TypeError in refund() - fixed since then", rules.RESOLVED),
        ("**Resolved:** the flaky import", rules.RESOLVED),
        ("We might also use a queue here, but dismissed it", rules.ALTERNATIVE),
        ("- **Alternatives:** a queue, a cron job", rules.ALTERNATIVE),
        ("Tried a queue but abandoned it.", rules.ALTERNATIVE),
        ("First I looked at src/lib/auth.ts.", rules.STEP),
        ("I'll open the file next.", rules.STEP),
        ("I’ve read the whole module.", rules.STEP),  # noqa: RUF001
        ("Let me check the tests.", rules.STEP),
        ("Hmm, that is odd.", rules.STEP),
        ("After analyzing all this, it is clear.", rules.STEP),
        ("Looking at the tests now.", rules.STEP),
        ("I also checked useAuth.ts but that's just a wrapper.", rules.ASIDE),
        ("There was also mention of auth in the README but that's documentation.", rules.ASIDE),
        ("The billing module is unrelated.", rules.ASIDE),
        ("The file contains 150 lines of code.", rules.CONTENTS),
        ("Here is the full content of auth.ts:", rules.CONTENTS),
        ("The TypeError in login was fixed by a cast.", rules.RESOLVED),
        ("Fixed the import error in auth.ts.", rules.RESOLVED),
        ("The build errors have been resolved.", rules.RESOLVED),
        ("The timeout error no longer occurs.", rules.RESOLVED),
        ("Rejected: MongoDB, it has no joins.", rules.ALTERNATIVE),
        ("We decided against sessions in Redis.", rules.ALTERNATIVE),
        ("MongoDB was considered and rejected.", rules.ALTERNATIVE),
        ("Another option would be a queue.", rules.ALTERNATIVE),
        ("We could have used a queue.", rules.ALTERNATIVE),
        ("The main reason is that the ...", rules.UNFINISHED),
    ],
)
def test_sentences_excluded_by_s2_are_dropped_with_a_reason(sentence: str, reason: str) -> None:
    assert verdict(sentence) == UnitVerdict(drops=reason)


@pytest.mark.parametrize(
    ("sentence", "keeps"),
    [
        ("Decided to keep JWT rather than sessions.", rules.DECISION),
        ("Chose PostgreSQL instead of MongoDB.", rules.DECISION),
        ("Cookies must be httpOnly.", rules.CONSTRAINT),
        ("Do not touch the session table.", rules.CONSTRAINT),
        ("The TypeError in login is not fixed yet.", rules.PROBLEM),
        ("The error must be fixed before the release.", rules.CONSTRAINT),
        ("Two tests fail in auth.test.ts.", rules.PROBLEM),
        ("Which provider is meant?", rules.PROBLEM),
        ("Extend with loginUser/logoutUser.", rules.ACTION),
        ("Recommend: add tests to auth.test.ts.", rules.ACTION),
        ("Search results should be cached.", rules.ACTION),
        ("Following the repository pattern there.", rules.PATTERN),
        ("Auth utilities exist in src/lib/auth.ts.", rules.PATH),
        ("No conflicts found.", rules.FINDING),
        ("JWT auth exists.", rules.FINDING),
        ("Research shows that tokens expire after an hour.", rules.FINDING),
        ("The search index holds titles.", rules.FINDING),
        ("We'll need to migrate the table first.", rules.ACTION),
        ("I noticed that the pool is too small.", rules.FINDING),
        ("Stop words are stored in lower case.", rules.ACTION),
    ],
)
def test_sentences_included_by_s2_are_kept_with_their_kind(sentence: str, keeps: str) -> None:
    assert verdict(sentence) == UnitVerdict(keeps=keeps)


def test_step_with_a_constraint_is_kept_with_a_warning() -> None:
    assert verdict("I searched the callers and found that the lock must be held.") == UnitVerdict(
        keeps=rules.CONSTRAINT, warning=rules.MIXED
    )
    assert verdict("After analyzing all this, I think we should...").drops == rules.STEP
    assert verdict("## What I did\n\nThe tests of the pool are flaky.") == UnitVerdict(
        keeps=rules.PROBLEM, warning=rules.MIXED
    )
    assert verdict("## What I did\n\nSearched for errors.").drops == rules.STEP


@pytest.mark.parametrize(
    ("heading", "reason"),
    [
        ("Alternatives considered", rules.ALTERNATIVE),
        ("Options considered", rules.ALTERNATIVE),
        ("Search queries", rules.SEARCH),
        ("My process", rules.STEP),
        ("Resolved errors", rules.RESOLVED),
    ],
)
def test_a_heading_can_classify_the_text_below_it(heading: str, reason: str) -> None:
    assert verdict(f"## {heading}\n\n- A queue in front of the pool").drops == reason
    assert verdict(f"## {heading}").drops == rules.HEADLINE
    assert verdict(f"## {heading}\n\n## Findings\n\n- A queue in front of the pool").keeps == rules.FINDING


def test_code_is_dropped_except_for_a_single_line() -> None:
    code = "```ts\nconst a = 1\n```"
    assert verdict(code).keeps == rules.FINDING
    assert verdict(code.replace("const", "const b = 2\nconst")).drops == rules.CODE_BLOCK
    assert verdict("```sh\ngrep -rn 'auth' src\nrg -n 'x'\n```").drops == rules.SEARCH
    assert verdict("```\n```").drops == rules.CODE_BLOCK


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See src/lib/auth.ts, auth.test.ts and ./a-b/c_d.py.", ["src/lib/auth.ts", "auth.test.ts", "./a-b/c_d.py"]),
        ("In `src/lib/` (or src/a/b/).", ["src/lib/", "src/a/b/"]),
        ("/etc/app.toml:12 and .env and ../x.json", ["/etc/app.toml", ".env", "../x.json"]),
        ("twice a.py, a.py", ["a.py"]),
        ("loginUser/logoutUser, e.g. and/or, v1.2.3, example.com, 4.5", []),
        ("self.lock, process.env, console.log and a/b.lock", ["a/b.lock"]),
        ("https://example.com/a/b.html", []),
    ],
)
def test_paths_are_found_exactly_as_they_are_written(text: str, found: list[str]) -> None:
    assert paths(text) == found


def test_sentence_that_needs_its_predecessor_is_recognized() -> None:
    assert needs_context("It uses JWT.")
    assert needs_context("The file exports two functions.")
    assert not needs_context("Items are sorted.")


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "+" * 50_000, "error " * 30_000, "a/" * 50_000, "`" * 20_000 + "x", "I " * 50_000]
)
def test_long_text_is_judged_quickly(text: str) -> None:
    """The suite would stand still if a pattern took the square of its text's length."""
    assert verdict(text).keeps or verdict(text).drops
    paths(text)
