"""Which files shell commands touch."""

from __future__ import annotations

import pytest

from memctl.session import file_actions, trail
from memctl.transcript.events import CALL, RESULT, Event

CASES = {
    "cd src && rm -rf a.py 'b c.py' 2>&1 >/dev/null": {("deleted", "/r/src/a.py"), ("deleted", "/r/src/b c.py")},
    "cat a.txt | tee -a out.log > copy.log": {
        ("read", "/r/a.txt"),
        ("written", "/r/out.log"),
        ("written", "/r/copy.log"),
    },
    "cat > f.txt <<'EOF' && sed -i 's/a/b/' q.py\nrm nothing.py\nEOF\nhead -n 5 z": {
        ("written", "/r/f.txt"),
        ("modified", "/r/q.py"),
        ("read", "/r/z"),
    },
    "mv a b/": {("deleted", "/r/a"), ("written", "/r/b/a")},
    "git mv x y; git rm -q z; git checkout -- w": {
        ("deleted", "/r/x"),
        ("written", "/r/y"),
        ("deleted", "/r/z"),
        ("modified", "/r/w"),
    },
    "cp -r a.py b.py lib": {
        ("read", "/r/a.py"),
        ("written", "/r/lib/a.py"),
        ("read", "/r/b.py"),
        ("written", "/r/lib/b.py"),
    },
    "for f in a b; do cat $f.py; done": {("read", "/r/a.py"), ("read", "/r/b.py")},
    "D=src; rm $D/{x,y}.py \"$D/z z\" '$D'": {
        ("deleted", "/r/src/x.py"),
        ("deleted", "/r/src/y.py"),
        ("deleted", "/r/src/z z"),
        ("deleted", "/r/$D"),
    },
    "sed -n '1,20p' a.py; grep -n 'x|y' b.py src/; awk '{print $1}' c.csv": {
        ("read", "/r/a.py"),
        ("read", "/r/b.py"),
        ("read", "/r/c.csv"),
    },
    "sudo timeout 10 bash -c 'touch made && echo x >> more'": {("written", "/r/made"), ("written", "/r/more")},
    "bash -lc 'touch made'": {("written", "/r/made")},
    'git commit -m "$(cat <<\'EOF\'\nfix: "rm foo" > bar; it\'s\nEOF\n)" && unlink gone': {("deleted", "/r/gone")},
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n*** End Patch\nEOF": {
        ("modified", "/r/a.py"),
        ("deleted", "/r/a.py"),
        ("created", "/r/b.py"),
    },
    "patch -p1 <<'EOF'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n--- /dev/null\n+++ b/n.py\nEOF": {
        ("modified", "/r/x.py"),
        ("created", "/r/n.py"),
    },
    "perl -pi -e 's/a/b/' p.txt": {("modified", "/r/p.txt")},
    "pytest -q 2>/dev/null # rm not.py": set(),
    "wc -l < in.txt": {("read", "/r/in.txt")},
    "jq --arg who ann '.[] | select(.by.name == $who)' team.json; jq -r .a.b": {("read", "/r/team.json")},
    "P='{a: .x.y, b: .z}'; jq --arg n 1 \"$P\" list.json": {("read", "/r/list.json")},
    "stat -c '%n.%s' a.bin; stat -f %Sm b.bin; tail +5 c.txt": {
        ("read", "/r/a.bin"),
        ("read", "/r/b.bin"),
        ("read", "/r/c.txt"),
    },
    "sed --expression 's/v1.0/v1.1/' d.txt; perl -pi -e 's/a/b/' -e 's/c.d/e/' e.txt": {
        ("read", "/r/d.txt"),
        ("modified", "/r/e.txt"),
    },
}


@pytest.mark.parametrize("text", CASES)
def test_the_files_of_a_command_are_found(text: str) -> None:
    found = {(touch.action, f"{touch.cwd}/{touch.path}") for touch in file_actions.of_shell(text, "/r")}
    assert found == CASES[text]


def test_words_expanded_by_the_shell_are_left_out_and_counted() -> None:
    text = "rm $UNSET/x `ls`"
    assert list(file_actions.of_shell(text, "/r")) == []
    assert file_actions.unknown_words(text) == 2


@pytest.mark.parametrize(
    ("command", "output", "paths"),
    [
        ("cat logs/*.log notes.md", "", ["notes.md"]),
        ("head 'app/(shop)/[id].tsx' https://example.org/a.html", "", ["app/(shop)/[id].tsx"]),
        ("cat old.md new.md", "cat: old.md: No such file or directory\nHi", ["new.md"]),
        ("echo a > gone/b.txt", "zsh: no such file or directory: gone/b.txt", []),
    ],
)
def test_patterns_and_files_that_do_not_exist_are_not_touched(command: str, output: str, paths: list[str]) -> None:
    call = Event(CALL, tool="Bash", arguments={"command": command}, call="c")
    assert [touch.path for touch in trail.touches(call, Event(RESULT, output, call="c"))] == paths
