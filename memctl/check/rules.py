"""The rules: their codes, which never change their meaning, how bad a breach is, and why they are there.

MEM201, MEM206, MEM303 and MEM305, the limits of pages and what belongs on which level: rules.md#levels-of-pages.
"""

from __future__ import annotations

import msgspec

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
DOCUMENTS = ("MEM308", "MEM310", "MEM313", "MEM314")  # mended by rendering


class Rule(msgspec.Struct, frozen=True):
    """A rule: its code and name, the severity of a breach, what is wrong, why it matters and what to do."""

    code: str
    name: str
    severity: str
    summary: str
    explanation: str
    is_mended: bool = False  # by --fix, since there is one right answer


def _rules(*rows: tuple[str, str, str, str, str] | tuple[str, str, str, str, str, bool]) -> dict[str, Rule]:
    return {row[0]: Rule(*row) for row in rows}


RULES = _rules(
    # Records
    (
        "MEM101", "invalid-record", ERROR, "A record can't be read.",
        "A field is missing or holds what it may not. No command shows the record until that is mended in the file.",
    ),
    (
        "MEM102", "duplicate-key", ERROR, "A key stands twice in a front matter.",
        "YAML readers silently keep one of the two. Delete the one that is wrong.",
    ),
    (
        "MEM103", "conflict-markers", ERROR, "A merge conflict was left in a file.",
        "Decide between the two sides and delete the lines `<<<<<<<`, `=======` and `>>>>>>>`.",
    ),
    (
        "MEM104", "duplicate-id", ERROR, "Two records have the same id.",
        "Two clones gave it out on the same day. References to the id are ambiguous until `memctl renumber` gives one "
        "of them another.",
    ),
    (
        "MEM105", "duplicate-memory-id", ERROR, "Two records have the same memory_id.",
        "A file was copied. Give the copy an id and a memory_id of its own: record it anew and delete it.",
    ),
    (
        "MEM106", "broken-link", ERROR, "A link of a record leads to no record.",
        "The other record was deleted or never merged. Take the link out, or bring the record back with `restore`.",
    ),
    (
        "MEM107", "one-sided-link", ERROR, "A link stands at one end only.",
        "Links stand at both ends, so that either record tells of the other. The missing end is added.", True,
    ),
    (
        "MEM108", "circular-link", ERROR, "Records supersede, block or contain each other in a circle.",
        "Nothing in a circle can be current. Take out the link that is wrong.",
    ),
    (
        "MEM109", "accepted-decision-changed", ERROR, "The text of an accepted decision was changed.",
        "What was decided stays on record. Record a new decision with --supersedes, or if it is only a slip of the pen,"
        " change it with `memctl edit --allow-accepted`.",
    ),
    (
        "MEM110", "credential", ERROR, "A file of the memory holds what looks like a credential.",
        "Git keeps it for ever once it is committed. `memctl redact FILE` takes it out of the memory and out of what"
        " memctl keeps of it; have it revoked in any case.",
    ),
    (
        "MEM111", "oversize-record", WARNING, "A record is too long.",
        "A record of more than 3,000 tokens (what a whole page of details may have) crowds others out of every pack."
        " Put the long part into a file of the repository and refer to it.",
    ),
    (
        "MEM112", "control-character", WARNING, "A control character stands in a record or page.",
        "A terminal that shows the file may obey it: hide text, or show another. memctl writes none. Take it out.",
    ),
    (
        "MEM113", "unsearched-file", WARNING, "A file of the memory can't be searched for credentials.",
        "It is larger than memctl reads, or no UTF-8 text. Look through it yourself, or keep it outside of the memory.",
    ),
    (
        "MEM114", "decision-without-reason", INFO, "A decision says nowhere why it was made.",
        "Nobody can tell later whether it still holds. `memctl edit ID --allow-accepted --rationale WHY` says it;"
        " alternatives or the context count too, and so does a sentence with `because`.",
    ),
    (
        "MEM115", "undecided-decision", WARNING, "A decision counts as made, and its own words leave it open.",
        "Whoever reads `perhaps` in what was accepted can't rely on it. Once it is decided, record that with"
        " --supersedes; `--status proposed` is for what is not decided yet.",
    ),
    (
        "MEM116", "output-as-learning", WARNING, "A learning is what a program printed.",
        "A line of a log, a diff or a measurement helps nobody who was not there. Say in words what follows from it,"
        " and keep the output as `--evidence`.",
    ),
    # References
    (
        "MEM201", "broken-code-reference", ERROR, "A page refers to a file that is not there.",
        "Every reference from level 3 to level 4 leads somewhere. Give the file's new path, or take the"
        " reference out.",
    ),
    (
        "MEM202", "ambiguous-code-reference", ERROR, "A § reference may mean more than one file.",
        "Give more of the path.",
    ),
    (
        "MEM203", "missing-code", WARNING, "An open record refers to a file that is not there.",
        "The file was moved or deleted since. `memctl edit ID --add/--remove code_refs=PATH` mends it.",
    ),
    (
        "MEM204", "missing-line", WARNING, "A reference names a line that the file does not have.",
        "The file became shorter. Give the line as it is now, or none.",
    ),
    (
        "MEM205", "unknown-marker", ERROR, "A § marker leads to no section or heading.",
        "It was never there, or was removed or renumbered. `memctl index` shows the markers.",
    ),
    (
        "MEM206", "unknown-id", ERROR, "A page names a record that is not there.",
        "Every record that is named must exist. Correct the id, or bring the record back with `restore`.",
    ),
    (
        "MEM207", "dangling-mention", WARNING, "The text of a record names something that is not there.",
        "A record may outlive what it speaks of; if it is a slip of the pen, correct it.",
    ),
    (
        "MEM208", "suspect-page", WARNING, "Code that a page refers to has changed since the page was reviewed.",
        "Read the page again, correct it if need be, and stamp it with `memctl review`.",
    ),
    (
        "MEM209", "empty-glob", WARNING, "A glob of a section matches no file.",
        "The code was moved, or the glob has a slip. `memctl section edit §2.N --path GLOB` sets the globs.",
    ),
    (
        "MEM210", "absent-code", ERROR, "Nothing that the memory refers to is in this repository.",
        "The memory was made for other code: a copy of `.memory.example`, for one, whose shop `memctl demo` makes. "
        "Move it to its repository, or say what it is about here. `--select MEM201,MEM203,MEM209` lists them all.",
    ),
    # Hierarchy
    (
        "MEM301", "invalid-page", ERROR, "A page can't be read.",
        "A field is missing or holds what it may not. No document shows the page until that is mended in the file.",
    ),
    (
        "MEM302", "duplicate-number", ERROR, "Two pages or headings have the same number.",
        "A marker must lead to one place. `memctl renumber` gives the younger one another number.",
    ),
    (
        "MEM303", "section-without-details", INFO, "A section has no page of details.",
        "Details (level 3) belong below every section. `memctl detail add TITLE --section §2.N` adds a page.",
    ),
    (
        "MEM304", "details-without-section", ERROR, "A page of details belongs to a section that is not there.",
        "`memctl detail edit §3.N --section §2.N` gives it to another section.",
    ),
    (
        "MEM305", "status-mismatch", WARNING, "The project's status differs from what its sections make.",
        "There may be 5 points between the declared percentage and the weighted mean of the sections'. Correct one.",
    ),
    (
        "MEM306", "page-too-long", WARNING, "A page has more tokens than its level allows.",
        "Level 1 has up to 1,000 tokens, level 2 up to 500, level 3 up to 3,000. Records are left out to fit; what is"
        " too long is the page's own text. Shorten it, or move parts a level down.",
    ),
    (
        "MEM307", "page-too-short", INFO, "A page has fewer tokens than its level asks for.",
        "Level 2 has at least 200 tokens, level 3 at least 1,000. There may simply be no more to say; of a memory with"
        " fewer than ten records, level 3 is not looked at.",
    ),
    (
        "MEM308", "stale-document", ERROR, "A rendered document is not what the memory says, or missing.",
        "A record or page was edited by hand, or a merge left it behind. `memctl render` renders it anew.", True,
    ),
    (
        "MEM309", "edited-document", ERROR, "A rendered document was edited by hand.",
        "The next rendering would lose the edit. Move it to the record or page that it belongs to, then"
        " `memctl render --force`.",
    ),
    (
        "MEM310", "orphaned-document", ERROR, "A rendered document belongs to no page any more.",
        "Its page was removed or renumbered by hand. `memctl render` deletes it.", True,
    ),
    (
        "MEM311", "incomplete-project", INFO, "The project's page lacks its goal, status or priorities.",
        "Goal, status in percent and priorities belong on level 1, always. `memctl project set` sets them.",
    ),
    (
        "MEM312", "code-above-details", WARNING, "There is a block of code on level 1 or 2.",
        "Code belongs on level 3 (key excerpts) and level 4. Move it to a page of details.",
    ),
    (
        "MEM313", "document-of-earlier-memctl", WARNING, "A rendered document has the layout of an earlier memctl.",
        "Nothing is wrong with the memory. `memctl render` renders it anew, and so does the next write that it shows.",
        True,
    ),
    (
        "MEM314", "document-behind", WARNING, "A rendered document is behind the memory on the default branch.",
        "With `docs: default-branch` a merge brings records without their documents. The next write on the default"
        " branch renders them, and so does `memctl render`, in a build too.",
        True,
    ),
    # Lifecycle
    (
        "MEM401", "expired", WARNING, "An open record has expired.",
        "Packs leave it out. `memctl archive` puts it out of the way, or give it another `expires_at`.",
    ),
    (
        "MEM402", "superseded-and-open", ERROR, "A record is superseded by another and its status does not say so.",
        "Readers would take it for current. Its status becomes `superseded`.", True,
    ),
    (
        "MEM403", "superseded-by-nothing", WARNING, "A record's status is superseded and no record takes its place.",
        "`memctl supersede OLD NEW` says by which, or give it another status.",
    ),
    (
        "MEM404", "future-timestamp", WARNING, "A record's timestamp is in the future.",
        "A clock was wrong, or a date has a slip. It sorts before everything else until then.",
    ),
    (
        "MEM405", "finished-with-issues", WARNING, "A section is declared finished and has severe open issues.",
        "Resolve them, or correct the section's percentage.",
    ),
    (
        "MEM406", "finished-but-active", INFO, "A state has 100 % and is still active.",
        "`memctl resolve` marks it as done.",
    ),
    (
        "MEM407", "blocked-by-closed", INFO, "An open record waits for one that is closed.",
        "It may go on. `memctl link A B --as blocked_by --remove` takes the link out.",
    ),
    (
        "MEM408", "aged-overview", WARNING, "Much was recorded since somebody last read the project's page.",
        "What it says is to come may be there by now. Read it again; `memctl review §1.0` says that it is still right,"
        " and `memctl project set` changes it.",
    ),
    # Files
    (
        "MEM501", "foreign-file", WARNING, "A file lies in the memory that memctl does not know.",
        "A record that was renamed is no longer found, and other files belong elsewhere.",
    ),
    (
        "MEM502", "not-a-file", ERROR, "A link or other special file lies in the memory.",
        "memctl reads plain files only. Replace it by a copy of what it points to.",
    ),
    (
        "MEM503", "ignore-without-reason", WARNING, "A finding is ignored without a reason, or no such rule exists.",
        "Write `CODE PATTERN: reason`, so that somebody can tell later whether it still holds.",
    ),
    (
        "MEM504", "unused-ignore", INFO, "A line of check_ignore matches no finding.",
        "What it was for is mended. Take the line out.",
    ),
    (
        "MEM505", "invalid-checkpoint", ERROR, "A checkpoint can't be read.",
        "Nobody can resume from it, nor save the next one. A checkpoint is never changed: bring it back with Git.",
    ),
    (
        "MEM506", "checkpoints-at-once", WARNING, "The two newest checkpoints of a workflow have the same version.",
        "Two clones saved at once, and neither is newer. `memctl checkpoint save --base ID` goes on from one of them;"
        " take over by hand what the other says.",
    ),
    (
        "MEM507", "invalid-session-page", ERROR, "The page of a session, or the list of its files, can't be read.",
        "It shows up in no list, and a later summary of the session is refused. Mend it in the file, or bring it back"
        " with Git.",
    ),
    (
        "MEM508", "doubled-session", ERROR, "Two pages say to be of the same session.",
        "A page was copied. Its session_id is what its file is called by: delete the copy, or name it anew in both.",
    ),
    (
        "MEM509", "path-outside", ERROR, "A path that counts as the project's own leads out of the repository.",
        "Whoever goes on from there would read or write elsewhere. Files outside stand on a session's page under a"
        " heading of their own, and in no checkpoint.",
    ),
    (
        "MEM510", "lost-file-list", ERROR, "The page of a session and the list of its files don't belong together.",
        "A long session's page names a file that lists all paths; without one of the two, paths are lost.",
    ),
    (
        "MEM511", "leftover", WARNING, "A temporary file lies in the memory.",
        "A process that wrote was killed, or the disk was full. No record is lost with it, and `git add -A` would"
        " commit it; the next `memctl commit` deletes it.",
    ),
    (
        "MEM512", "unused-setting", INFO, "A setting in config.yaml is not used.",
        "What names files for native code to read is each user's own setting: `git config --global"
        " memctl.semanticModel NAME` chooses a model for search. Take the line out.",
    ),
    (
        "MEM513", "overdue-commit", WARNING, "A change has waited for its commit for over an hour.",
        "Nobody else sees it, and Git does not have its text yet. `memctl commit` makes the commit, or says what is in"
        " the way; what waits on purpose or for a merge or rebase does not count.",
    ),
    # Agents
    (
        "MEM601", "owned-by-another", ERROR, "What is staged lies in a section that another agent owns.",
        "Two agents that write in one section undo each other's work. Ask its owner, or take the section over with"
        " `memctl own acquire --force --reason WHY`, which is recorded.",
    ),
    (
        "MEM602", "handoff-against-ownership", WARNING, "A handoff's status and who owns its sections contradict.",
        "Two clones answered it apart, and a merge by Git left one answer in the record and the ownership of the other,"
        " so that two agents take a section for theirs. `memctl handoff recover` sets ownership as the record says.",
    ),
)  # fmt: skip
