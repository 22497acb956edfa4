"""How findings are printed: for people, as JSON, for GitHub, as SARIF; whatever files are called and records say."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest

from memctl import __version__
from memctl.check import formats, run
from memctl.check.findings import Finding
from memctl.check.rules import RULES, SEVERITIES
from memctl.check.run import Report
from memctl.cli.check import home
from tests.check import AUTH, ISSUE, LEARNING, PROJECT, SENTENCE, Hand
from tests.conftest import Memctl, process

ODD_NAMES = (
    "with a space.txt",
    "größe.txt",
    "返金.txt",
    "100%.txt",
    "a%20b.txt",
    "one:two.txt",
    "one,two.txt",
    "#1?&.txt",
    "::error file=x::y",
    "[link](x).txt",
    "a\nb.txt",
    "a\n::error::b",
    "\u202egpj.exe",
    '"quoted".txt',
    "-n.txt",
)


def spoil(hand: Hand) -> None:
    """An error with a hint, a warning and a piece of information."""
    hand.replace(ISSUE, "relates_to:\n  - DEC-2025-10-02-001\n", "")
    hand.replace(PROJECT, "completion_percentage: 45", "completion_percentage: 20")
    hand.replace(AUTH, SENTENCE * 9, SENTENCE)


SPOILT = ("--select", "MEM107", "--select", "MEM305", "--select", "MEM307")


def one(code: str = "MEM101", path: str = "a.md", line: int = 3, message: str = "wrong", hint: str = "") -> Report:
    return Report((Finding(code, path, line, message, hint),), 0)


def in_memory(path: str) -> str:
    return f".memory/{path}"


def test_text_has_a_line_for_each_finding_and_the_counts(hand: Hand, memctl: Memctl) -> None:
    spoil(hand)
    result = memctl("check", *SPOILT, code=1)
    decision = ".memory/decisions/2025-10/DEC-2025-10-02-001-sign-tokens.md"
    assert result.out.split("\n") == [
        f"{decision}:15: error MEM107 relates_to: the link to ISS-2025-10-03-001 is one-sided: "
        "ISS-2025-10-03-001 lacks DEC-2025-10-02-001 under relates_to",
        "    hint: `memctl check --fix` adds the other side of the link",
        ".memory/project.md:3: warning MEM305 the project's page says 20 % complete, but the mean of the sections is "
        "45 %",
        f".memory/{AUTH}:1: info MEM307 §2.1 has {_number(result.out)} tokens; level 2 should have 200 or more",
        "",
    ]
    assert result.err == "1 error, 1 warning, 1 note\n"


def _number(text: str) -> str:
    return text.partition("§2.1 has ")[2].partition(" ")[0]


def test_json_has_counts_and_every_finding_in_the_order_of_files_and_lines(hand: Hand, memctl: Memctl) -> None:
    spoil(hand)
    hand.replace(LEARNING, "importance: 5", "importance: 50")
    hand.replace(LEARNING, "status: active", "status: dreadful\ncompletion_percentage: 700")
    envelope = memctl("check", "--json", *SPOILT, "--select", "MEM101", code=1).json
    assert (envelope["schema"], envelope["kind"]) == (1, "check")
    data = envelope["data"]
    assert data["counts"] == {"error": 3, "warning": 1, "info": 1}
    assert data["ignored"] == 0
    places = [(row["path"], row["line"]) for row in data["findings"]]
    assert places == sorted(places)
    assert list(data["findings"][0]) == ["code", "name", "severity", "path", "line", "message", "hint"]
    assert {(row["name"], row["severity"]) for row in data["findings"]} == {
        (RULES[row["code"]].name, RULES[row["code"]].severity) for row in data["findings"]
    }
    assert [row["hint"] for row in data["findings"] if row["code"] == "MEM305"] == [None]
    assert memctl("check", "--format", "json", *SPOILT, "--select", "MEM101", code=1).json == envelope


def test_every_format_reports_that_nothing_was_found(memctl: Memctl) -> None:
    text = memctl("check")
    assert (text.out, text.err) == ("", "nothing found\n")
    nothing = {"counts": dict.fromkeys(SEVERITIES, 0), "ignored": 0, "unlisted": 0, "findings": []}
    assert memctl("check", "--json").data == nothing
    assert memctl("check", "--format", "github").out == ""
    run = msgspec.json.decode(memctl("check", "--format", "sarif").out)["runs"][0]
    assert run["results"] == run["tool"]["driver"]["rules"] == []


def test_the_worst_findings_are_listed_and_the_others_counted(
    hand: Hand, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(hand)
    monkeypatch.setattr(run, "MOST", 2)
    omitted = "only the worst 2 of 3 findings are listed"
    text = memctl("check", *SPOILT, code=1)
    assert (text.out.count("MEM"), text.out.count("MEM307")) == (2, 0)
    assert text.err == f"1 error, 1 warning, 1 note\nwarning: {omitted}\n"
    data = memctl("check", "--json", *SPOILT, code=1).data
    assert (data["counts"], data["unlisted"]) == ({"error": 1, "warning": 1, "info": 1}, 1)
    log = msgspec.json.decode(memctl("check", "--format", "sarif", *SPOILT, code=1).out)
    assert [result["ruleId"] for result in check_sarif(log)] == ["MEM107", "MEM305"]
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == omitted
    monkeypatch.setattr(run, "MOST", 0)
    assert memctl("check", *SPOILT, code=1).out == ""


def test_unknown_format_is_a_usage_error(memctl: Memctl) -> None:
    assert "xml" in memctl("check", "--format", "xml", code=2).err


# What GitHub's runner takes for a command: https://github.com/actions/toolkit, packages/core/src/command.ts
COMMAND = re.compile(r"::(error|warning|notice) file=([^,:\n]+),line=([1-9][0-9]*),title=([^,:\n]+)::([^\n\r]*)")


def understood(line: str) -> tuple[str, str, int, str, str]:
    """A workflow command as GitHub reads it: severity, file, line, title, message."""
    match = COMMAND.fullmatch(line)
    assert match, line
    words = [word.replace("%3A", ":").replace("%2C", ",") for word in (match[2], match[4])] + [match[5]]
    path, title, message = (word.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%") for word in words)
    return match[1], path, int(match[3]), title, message


def test_github_shows_findings_beside_their_lines(hand: Hand, memctl: Memctl) -> None:
    spoil(hand)
    rows = memctl("check", "--json", *SPOILT, code=1).data["findings"]
    lines = memctl("check", "--format", "github", *SPOILT, code=1).out.splitlines()
    kinds = {"error": "error", "warning": "warning", "info": "notice"}
    assert [understood(line) for line in lines] == [
        (
            kinds[row["severity"]],
            row["path"],
            row["line"],
            f"{row['code']} {row['name']}",
            row["message"] + (f" ({row['hint']})" if row["hint"] else ""),
        )
        for row in rows
    ]


@pytest.mark.parametrize("text", ["50 %", "%0A", "%250A", "a\nb", "a\r\nb", "a:b", "a,b", "::error::x", "a::b", "ü, §"])
def test_escaping_for_github_can_be_reversed(text: str) -> None:
    (line,) = formats.as_github(one(path=f"{text}.md", message=text, hint=text), in_memory)
    assert understood(line) == ("error", f".memory/{text}.md", 3, "MEM101 invalid-record", f"{text} ({text})")


def test_special_characters_are_escaped_for_github() -> None:
    (line,) = formats.as_github(one(path="a,b:c%.md", message="1: 50 %,\r\nnext"), in_memory)
    assert line == "::error file=.memory/a%2Cb%3Ac%25.md,line=3,title=MEM101 invalid-record::1: 50 %25,%0D%0Anext"


def check_sarif(log: Any) -> list[dict[str, Any]]:
    """Hold a log to what the schema of SARIF 2.1.0 requires of the parts that it has; returns the results.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json
    """
    assert log["version"] == "2.1.0"
    assert set(log) <= {"$schema", "version", "runs", "inlineExternalProperties", "properties"}
    (run,) = log["runs"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert {"id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration"} == set(rule)
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert isinstance(result["message"]["text"], str)
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert set(place) == {"artifactLocation", "region"}
        # RFC 3986: a relative reference of these characters, whose first segment has no colon
        assert re.fullmatch(r"(?:[A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})+", place["artifactLocation"]["uri"])
        assert not place["artifactLocation"]["uri"].startswith("/")
        assert isinstance(place["region"]["startLine"], int)
        assert place["region"]["startLine"] >= 1
    return run["results"]  # type: ignore[no-any-return]


def test_sarif_follows_its_schema(hand: Hand, memctl: Memctl) -> None:
    spoil(hand)
    hand.write("größe :50%.txt", "")
    more = (*SPOILT, "--select", "MEM501")
    rows = memctl("check", "--json", *more, code=1).data["findings"]
    log = msgspec.json.decode(memctl("check", "--format", "sarif", *more, code=1).out)
    results = check_sarif(log)
    driver = log["runs"][0]["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("memctl", __version__)
    assert [rule["id"] for rule in driver["rules"]] == ["MEM107", "MEM305", "MEM307", "MEM501"]
    levels = {"error": "error", "warning": "warning", "info": "note"}
    assert [
        (
            result["ruleId"],
            result["level"],
            unquote(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]),
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in results
    ] == [(row["code"], levels[row["severity"]], row["path"], row["line"]) for row in rows]
    assert all(row["message"] in result["message"]["text"] for row, result in zip(rows, results, strict=True))
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert ".memory/gr%C3%B6%C3%9Fe%20%3A50%25.txt" in uris


def test_every_rule_fits_into_sarif() -> None:
    report = Report(tuple(Finding(code, "a.md", 1, "wrong") for code in RULES), 0)
    assert len(check_sarif(msgspec.json.decode(formats.as_sarif(report, in_memory, "1", home())))) == len(RULES)


def test_file_name_of_any_characters_is_a_uri_in_sarif(hand: Hand, memctl: Memctl) -> None:
    for name in ODD_NAMES:
        hand.write(name, "")
    paths = {f".memory/{name}" for name in ODD_NAMES}
    rows = memctl("check", "--json").data["findings"]
    assert {(row["code"], row["path"]) for row in rows} == {("MEM501", path) for path in paths}
    lines = memctl("check", "--format", "github").out.splitlines()
    assert len(lines) == len(ODD_NAMES)
    shown = {path.replace("\u202e", "\N{REPLACEMENT CHARACTER}") for path in paths}  # an agent may read it
    assert {understood(line)[:2] for line in lines} == {("warning", path) for path in shown}
    results = check_sarif(msgspec.json.decode(memctl("check", "--format", "sarif").out))
    uris = {unquote(one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for one in results}
    assert uris == paths


def test_finding_is_one_line_for_any_file_name(hand: Hand, memctl: Memctl) -> None:
    for name in ODD_NAMES:
        hand.write(name, "")
    lines = memctl("check").out.split("\n")
    assert [line[:8] for line in lines] == [*[".memory/", "    hint"] * len(ODD_NAMES), ""]


@pytest.mark.parametrize("style", ["text", "json", "github", "sarif"])
def test_a_name_that_is_not_utf_8_is_reported(hand: Hand, memctl: Memctl, style: str) -> None:
    Path(f"{hand.folder}/caf\udce9.txt").write_text("")
    result = memctl("check", "--format", style)
    assert "MEM501" in result.out
    assert r"caf\xe9.txt" in result.out.replace("\\\\", "\\").replace("%5C", "\\")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("config.yaml", "format: 2", 'format: 2\ncheck_ignore: ["no rule\\n::error::b"]'),
        (LEARNING, "importance: 5", 'importance: 5\n"a\\n::error::b": 1\n"a\\n::error::b": 2'),
    ],
    ids=["in the settings", "in a key"],
)
def test_finding_is_one_line_for_any_file_content(hand: Hand, memctl: Memctl, path: str, old: str, new: str) -> None:
    hand.replace(path, old, new)
    lines = memctl("check", "--ignore", "MEM308", code=None).out.split("\n")
    assert lines[0].startswith(f".memory/{path}:")
    assert [line for line in lines if not line.startswith((".memory/", "    hint: "))] == [""]


def test_report_has_no_control_characters(hand: Hand) -> None:
    hand.write("\x1b[31mred\u202e.txt", "")
    ours, theirs = pty.openpty()
    with process(hand.repo, "check", stdout=theirs) as checking:
        os.close(theirs)
        assert checking.wait() == 0
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}.txt" in shown
    assert "\x1b[31mred" not in shown


def test_sarif_has_the_address_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        log = msgspec.json.decode(formats.as_sarif(Report((), 0), in_memory, "1", home()))
        return str(log["runs"][0]["tool"]["driver"]["informationUri"])

    (tmp_path / "git_memctl-9.dist-info").mkdir()
    metadata = tmp_path / "git_memctl-9.dist-info" / "METADATA"
    monkeypatch.syspath_prepend(tmp_path)
    about = "Metadata-Version: 2.1\nName: git-memctl\nVersion: 9\n"
    metadata.write_text(about)
    assert said() == f"pkg:pypi/git-memctl@{__version__}"
    metadata.write_text(
        f"{about}Project-URL: Source, https://a.example/src\nProject-URL: Homepage, https://a.example\n"
    )
    assert said() == "https://a.example"
