"""Errors: what tools say of their own run, what is the same step, and how a step is quoted."""

from __future__ import annotations

import pytest

from memctl.session import failures, steps
from memctl.session.failures import Failure
from memctl.transcript.events import CALL, RESULT, Event


def run(*pairs: tuple[str, str]) -> list[Failure]:
    """The failures of commands with their outputs, of which no host says how they ended."""
    return failures.of_events(events_of(*pairs))


def events_of(*pairs: tuple[str, str]) -> list[Event]:
    events = []
    for number, (command, output) in enumerate(pairs):
        events.append(Event(CALL, tool="Bash", arguments={"command": command}, call=str(number)))
        events.append(Event(RESULT, output, call=str(number)))
    return events


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("pytest -q | tail -1", "2 failed, 10 passed in 3.21s", "2 failed, 10 passed"),
        ("pytest", "2 failed", "2 failed"),
        (
            "python -m pytest 2>&1 | tail",
            "=== short test summary info ===\nFAILED tests/x.py::test_y - assert 1 == 2\n=== 1 failed in 0.12s ===",
            "FAILED tests/x.py::test_y - assert 1 == 2",
        ),
        ("pytest", "ERROR tests/t.py - ImportError: no module", "ERROR tests/t.py - ImportError: no module"),
        ("python -m unittest", "FAIL: test_add (tests.test_cart.CartTest)\nRan 3 tests in 0.1s\n\nFAILED (failures=1)",
         "FAIL: test_add (tests.test_cart.CartTest)"),
        ("cargo build", "error[E0308]: mismatched types\n --> src/main.rs:4\nerror: could not compile `shop`",
         "error[E0308]: mismatched types"),
        ("cargo test", "test cart::adds ... FAILED\ntest result: FAILED. 1 failed", "test cart::adds ... FAILED"),
        ("npm install", "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree",
         "npm ERR! ERESOLVE unable to resolve dependency tree"),
        ("npm ci", "npm error code E401\n", "npm error code E401"),
        ("npm test", "Tests:       1 failed, 7 passed, 8 total", "Tests:       1 failed, 7 passed, 8 total"),
        ("npx vitest run", " Tests  2 failed | 5 passed (7)", "Tests  2 failed | 5 passed (7)"),
        ("npx mocha", "  4 passing (12ms)\n  1 failing\n", "1 failing"),
        ("go test ./...", "--- FAIL: TestAdd (0.00s)\nFAIL\tshop/cart\t0.003s", "--- FAIL: TestAdd"),
        ("npx tsc", "src/a.ts(3,7): error TS2322: Type 'string' is not assignable",
         "src/a.ts(3,7): error TS2322: Type 'string' is not assignable"),
        ("mypy", "a.py:3: error: Incompatible types  [assignment]\nFound 1 error in 1 file (checked 9 source files)",
         "a.py:3: error: Incompatible types  [assignment]"),
        ("ruff check .", "Found 3 errors.", "Found 3 errors."),
        ("eslint .", "  3:7  error  'x' is not used  no-unused-vars", "3:7  error  'x' is not used  no-unused-vars"),
        ("make all", "cc a.c\na.c:3:5: error: unknown type name 'foo'\nmake: *** [Makefile:2: all] Error 1",
         "a.c:3:5: error: unknown type name 'foo'"),
        ("make", "make: *** No rule to make target 'x'.  Stop.", "make: *** No rule to make target 'x'.  Stop."),
        ("mvn test", "[ERROR] Tests run: 3, Failures: 1\nBUILD FAILURE", "[ERROR] Tests run: 3, Failures: 1"),
        ("./gradlew build", "BUILD FAILED in 3s", "BUILD FAILED"),
        ("bundle exec rspec", "12 examples, 1 failure", "12 examples, 1 failure"),
        ("dotnet test", "Failed!  - Failed:     1, Passed:     3", "Failed!  - Failed:     1, Passed:     3"),
        ("git push", "error: failed to push some refs to 'origin'", "error: failed to push some refs to 'origin'"),
    ],
)  # fmt: skip
def test_failure_summary_of_a_tool_is_an_error(command: str, output: str, said: str) -> None:
    assert [one.message for one in run((command, output))] == [said]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "12 passed, 1 xfailed in 0.2s"),
        ("pytest", "=== 3 passed, 0 failed in 0.2s ==="),
        ("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored"),
        ("npm test", "Tests:       0 failed, 8 passed, 8 total"),
        ("ruff check --fix .", "Found 3 errors (3 fixed, 0 remaining)."),
        ("mypy", "Success: no issues found in 9 source files"),
        ("cat build.log", "2 failed, 10 passed in 3.21s"),
        ("grep -rn FAILED . | head", "FAILED tests/x.py::test_y"),
        ("git log -3", "error: handle half a pair"),
        ("cd shop && sed -n 1,9p notes.md", "npm ERR! code ERESOLVE"),
        ("git commit -m 'mend'", "[main 1a2b3c] mend: 2 failed runs are tried again"),
        ("./deploy.sh", "Nothing failed. All errors: none."),
        ("cat trace.txt", "Traceback (most recent call last)\nValueError: x"),
    ],
)
def test_mention_of_errors_is_not_an_error(command: str, output: str) -> None:
    assert run((command, output)) == []


LOG = "error: Database connection failed\nTraceback (most recent call last)\nERROR: retry\n"


@pytest.mark.parametrize(
    "summary",
    [
        "=== 12 passed in 0.31s ===",
        "12 passed, 1 skipped in 0.31s",
        "Ran 12 tests in 0.310s\n\nOK",
        "Tests:       12 passed, 12 total",
        "      Tests  12 passed (12)",
        " 1226 pass\n 0 fail\n 2654 expect() calls\nRan 1226 tests across 56 files. [751.00ms]",
        "ok  \tshop/cart\t0.012s",
        "test result: ok. 12 passed; 0 failed; 0 ignored",
        "[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
        "BUILD SUCCESSFUL in 3s",
        "  12 passing (31ms)",
        "12 examples, 0 failures",
        "Passed!  - Failed:     0, Passed:    12, Skipped:     0",
        "\u2716 3 problems (0 errors, 3 warnings)",
        "Found 0 errors. Watching for file changes.",
    ],
)
def test_summary_without_failures_beats_the_lines_of_a_log_before_it(summary: str) -> None:
    assert run(("make test 2>&1 | tail -50", f"{LOG}{summary}\n")) == []
    failed = run(("make test 2>&1 | tail -50", f"{LOG}{summary}\nnpm ERR! Test failed\n"))
    assert [failure.message for failure in failed] == ["npm ERR! Test failed"]


@pytest.mark.parametrize(
    "line", ["src/a.ts(3,5): error TS2322: Type 'x'", "src/a.py:3: error: bad", "3 failed, 1 passed"]
)
def test_summary_without_failures_hides_no_error_of_another_tool(line: str) -> None:
    assert len(run(("tsc; pytest | tail", f"{line}\n=== 12 passed in 0.31s ===\n"))) == 1


@pytest.mark.parametrize(
    ("failed", "then"),
    [
        ("cd src && go test ./segments", "cd src && go vet ./... && go test ./segments"),
        ("wsl -e sh -c 'cd /mnt/d/src && go test ./segments'", "cd src && go build && go test ./segments"),
        ("go test ./segments", 'wsl.exe -d Ubuntu -- bash -lc "cd src && go version && go test ./segments"'),
        ("sh -c 'go test ./segments'", "wsl -- go test ./segments"),
    ],
)
def test_step_inside_of_another_shell_is_settled_by_the_same_step(failed: str, then: str) -> None:
    (failure,) = run((failed, "--- FAIL: TestPath\nFAIL\n"), (then, "ok  \tshop/segments\t0.1s\n"))
    assert (failure.is_open, bool(failure.resolved)) == (False, True)


def test_exit_reported_by_the_host_is_believed_unless_a_pipe_hides_it() -> None:
    def of(command: str) -> bool:
        call = Event(CALL, tool="Bash", arguments={"command": command}, call="1")
        return failures.is_failure(Event(RESULT, "2 failed", call="1", details={"stdout": "2 failed"}), call)

    assert [of("pytest"), of("pytest | tail -3"), of("pytest; git status")] == [False, True, True]


def test_a_count_of_failures_gives_way_to_the_next_message_of_its_step() -> None:
    found = run(
        ("pytest -q | tail -1", "3 failed in 3.21s"),
        ("pytest", "=== 2 failed in 61.02s (0:01:01) ==="),
        ("pytest", "FAILED tests/x.py::test_y - no\n=== 1 failed in 1.2s ==="),
        ("mypy", "Found 1 error in 1 file"),
        ("./run", "error: port 80 is taken"),
        ("./run", "error: port 81 is taken"),
    )
    assert [(one.message, one.times) for one in found] == [
        ("FAILED tests/x.py::test_y - no", 3), ("Found 1 error in 1 file", 1),
        ("error: port 80 is taken", 1), ("error: port 81 is taken", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("failed", "then", "is_resolved"),
    [
        ("pytest tests/x.py -q", "python -m pytest tests/x.py", True),
        ("python3 -m pytest tests/x.py", ".venv/bin/pytest tests/x.py -x", True),
        ("uv run pytest tests/x.py", "pytest", True),
        ("cd shop && cargo test cart 2>&1 | tail", "cargo test", True),
        ("git add -A && npm test", "npm test -- --run", True),
        ("make lint", "make build && make lint", True),
        ("./deploy.sh", "git pull && ./deploy.sh && git push", True),
        ("./deploy.sh", "./deploy.sh; git push", True),  # the step of the call
        ("pytest", "pytest tests/x.py", False),
        ("pytest tests/x.py", "pytest tests/y.py", False),
        ("npm test", "npm install", False),
        ("git push origin main", "git fetch", False),
    ],
)
def test_failure_is_resolved_by_the_same_or_a_wider_step(failed: str, then: str, is_resolved: bool) -> None:
    found = run((failed, "error: it broke"), (then, "done"))
    assert [bool(one.resolved) for one in found] == [is_resolved]
    good = steps.keys(failures.succeeded(events_of((then, "done"))))
    assert steps.begins(f"{found[0].step}: error: it broke", good) == is_resolved


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("python -m pytest", "python -m pytest"),
        ("cd shop && python -m pytest -q 2>&1 | tail -5", "python -m pytest -q 2>&1"),
        ("FOO='a b' ./run.sh --now \"$HOME/x\"", "FOO='a b' ./run.sh --now \"$HOME/x\""),
        ("export A=1; pytest -k 'cart and not slow'", "pytest -k 'cart and not slow'"),
        ("git add . && npm test -- --run", "npm test -- --run"),
        ("make fmt && make lint", "make lint"),
        ("cat a.txt | wc -l", "cat a.txt"),
        ("python - <<'E'\nprint(1)\nE\n", "python - <<'E'"),
        ("git commit -m \"$(cat <<'E'\nfix: it\nE\n)\" --no-verify", 'git commit -m "…" --no-verify'),
    ],
)
def test_a_command_is_quoted_as_it_was_written(command: str, step: str) -> None:
    assert steps.of_call(Event(CALL, tool="Bash", arguments={"command": command})) == step


def test_a_step_with_a_colon_is_known_again_in_the_line_of_an_error() -> None:
    assert steps.begins("npm run build: all: error: it broke", steps.keys(["npm run build: all"]))
    assert not steps.begins("npm run build: all: error: it broke", steps.keys(["npm run lint"]))
    assert steps.begins("`python -m pytest -q`: 2 failed", steps.keys(["pytest"]), quotes="`")


@pytest.mark.parametrize("unit", ["1 failed, ", "= 1 failed", "a:1:", "FAIL ", "npm ERR! ", "(1,1", " ", "\n", "error"])
def test_a_long_output_is_read_in_no_time(unit: str) -> None:
    """Patterns that go back over what they have read would take hours."""
    failures.failing_line(unit * (300_000 // len(unit)))


@pytest.mark.parametrize(
    ("failed", "succeeded", "is_right"),
    [
        ("make test", "make", False),
        ("make deploy", "make", False),
        ("make test unit", "make test", True),
        ("ninja docs", "ninja", False),
        ("npm run lint src", "npm run lint", True),
        ("cargo test adds", "cargo test", True),
    ],
)
def test_run_of_all_resolves_a_run_of_one_only_if_it_covers_it(failed: str, succeeded: str, is_right: bool) -> None:
    assert steps.is_covered(failed, {succeeded}) == is_right


def test_check_is_found_by_its_whole_name_among_several_commands() -> None:
    call = Event(CALL, tool="Bash", arguments={"command": "rustup update && makepkg -s && pytest"}, call="1")
    assert steps.of_call(call) == "pytest"


@pytest.mark.parametrize(
    ("runs", "is_open"),
    [
        ([("pytest tests/x.py", "1 failed")], True),
        ([("mise run lint", "a.go:3:1: error: unused")], True),
        ([("./scripts/check-links.sh", "error: a link is broken")], True),
        ([("pytest tests/x.py", "1 failed"), ("pytest tests/y.py", "2 passed")], False),
        ([("just test:unit", "error: 1 failed"), ("just test:all", "done")], False),
        ([("make shop", "make: *** [shop] Error 1"), ("make mailer", "done")], True),
        ([("git merge main", "error: could not apply 1a2b3c")], False),
        ([("ls build", "ls: cannot access 'build': No such file or directory\nexit code 2")], False),
        ([("make fmt && make lint", "a.go:3:1: error: unused"), ("make lint", "done")], False),
        ([("make lint", "a.go:3:1: error: unused"), ("make lint", "b.go:9:1: error: no such name")], True),
        ([("golangci-lint run a.go", "a.go:3:1: error: no such name"), ("just lint", "done")], False),
        ([("go build ./x", "a.go:3:1: error: no such name"), ("go test ./x", "ok")], False),
        ([("go test x", "FAIL\tx [setup failed]\nexit code 1")], False),
        ([("python -c 'print(open(1).read())' | tail", "FAILED tests/a.py::test_a")], False),
        ([("golangci-lint run --every", "Error: unknown flag: --every\nexit code 3")], False),
        ([("bun run test | tail -3", "1 fail"), ("bun test src/ | tail -3", "12 pass\n 0 fail")], False),
        ([("go test -v ./x", "--- FAIL: TestA"), ("go run ./all -v", "--- PASS: TestA (0.1s)")], False),
        ([("npx tsc", "a.ts(2,6): error TS2322: no"), ("cat log", "a.ts(2,6): error TS2322: no")], True),
        ([("git -C /shop status -sb; gh pr status", "\N{MULTIPLICATION SIGN} 1/8 checks failing")], False),
        ([("go run /tmp/x.go", "x.go:8:2: no module provides sprig: go.mod file not found\nexit code 1")], False),
    ],
)
def test_only_errors_of_checks_stay_open(runs: list[tuple[str, str]], is_open: bool) -> None:
    assert any(one.is_open for one in run(*runs)) == is_open


REFUSED = "connection to server at db:5432 failed: Connection refused\nexit code 2"
NO_DAEMON = "Cannot connect to the Docker daemon. Is the docker daemon running?\nexit code 1"


@pytest.mark.parametrize(
    ("runs", "is_open"),
    [
        ([("psql -h db -c 'select 1'", REFUSED)], True),
        ([("docker compose up -d", NO_DAEMON), ("make test", "ok")], True),
        ([("docker compose up -d", NO_DAEMON), ("docker ps", "CONTAINER ID")], False),
        ([("docker run shop", "docker: invalid reference format.\nexit code 125")], False),
        ([("psql -h db -c 'select 1'", REFUSED), ("psql --version", "psql (PostgreSQL) 16")], True),
        ([("psql -h db -c 'select 1'", REFUSED), ("psql -h db -c 'select 2'", "2")], False),
        ([("curl http://db/a", "curl: (7) Connection refused\nexit code 7"), ("curl https://example.org", "ok")], True),
    ],
)
def test_what_a_command_needs_around_it_is_open_until_its_program_works(
    runs: list[tuple[str, str]], is_open: bool
) -> None:
    assert any(one.is_open for one in run(*runs)) == is_open


REPORT = "a.ts(2,6): error TS2322: Type 'x' is not assignable\nhusky - pre-commit script failed (code 2)\nexit code 1"


@pytest.mark.parametrize(
    ("runs", "is_open"),
    [
        ([("git add a.ts && git commit -m A", REPORT), ("git commit -m A", "[main 1a2b3c4] A")], False),
        ([("git add a.ts && git commit -m A", REPORT), ("git commit --no-verify -m A", "[main 1a2b3c4] A")], False),
        ([("git add a.ts && git commit -m A", REPORT), ("git status", "clean")], True),
        ([("bun run test", "1 fail\nexit code 1"), ("git commit -m A", "12 pass\n 0 fail\n[main 1a2b3c4] A")], False),
        ([("bun run test", "1 fail\nexit code 1"), ("git commit -m A", "[main 1a2b3c4] A")], True),
        (
            [("bun run test", "1 fail\nexit code 1"), ("git commit --no-verify -m A", " 0 fail\n[main 1a2b3c4] A")],
            True,
        ),
    ],
)
def test_a_commit_settles_what_its_hooks_check(runs: list[tuple[str, str]], is_open: bool) -> None:
    assert any(one.is_open for one in run(*runs)) == is_open


@pytest.mark.parametrize(
    "result",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "[Request interrupted by user for tool use]",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "This command requires approval",
        "Tool execution denied by policy.",
        "Tool execution requires user confirmation",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
    ],
)
def test_rejected_or_interrupted_call_is_no_failure(result: str) -> None:
    call = Event(CALL, tool="Bash", arguments={"command": "pytest"}, call="1")
    assert failures.of_events([call, Event(RESULT, result, call="1", is_error=True)]) == []
