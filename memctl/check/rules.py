"""The rules of `memctl check`: codes, which never change their meaning, severities, and explanations.

rules.md#levels-of-pages requires MEM201, MEM206, MEM303, MEM305, the limits of pages, and what belongs on which level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
EDITED, BEHIND = "MEM309", "MEM314"
DOCUMENTS = ("MEM308", "MEM310", "MEM313", BEHIND)  # rendering corrects their findings


class Rule(msgspec.Struct, frozen=True):
    """A rule: code, name, severity of its findings ("error", "warning" or "info"), and texts for people.

    `summary` says what is wrong, `explanation` why it matters and what to do. `is_mended` says whether
    `memctl check --fix` corrects a finding, as it does where only one correction is possible.
    """

    code: str
    name: str
    severity: str
    summary: str
    explanation: str
    is_mended: bool = False  # whether --fix corrects it, since only one correction is possible


# For each rule a line with code, name, severity, "fix" if --fix corrects it, and summary; below it, the explanation.
_RULES = """\
MEM101 invalid-record error: A record can't be read.
    A field is missing or has an invalid value. No command shows the record until the file is corrected.
MEM102 duplicate-key error: A key is in a front matter twice.
    YAML readers silently keep one of the two. Delete the one that is wrong.
MEM103 conflict-markers error: A merge conflict was left in a file.
    Choose between the two sides and delete the lines `<<<<<<<`, `=======` and `>>>>>>>`.
MEM104 duplicate-id error: Two records have the same id.
    Two clones used the id on the same day. References to the id are ambiguous until `memctl renumber` gives one of the
    records another id. `memctl check --fix` does so if that one was never pushed.
MEM105 duplicate-memory-id error: Two records have the same memory_id.
    A file was copied. The copy needs an id and a memory_id of its own: record its text again with memctl, and delete
    the copy.
MEM106 broken-link error: A record links to a record that does not exist.
    The other record was deleted or never merged. Remove the link, or restore the record with `memctl restore`.
MEM107 one-sided-link error fix: A link is in only one of the two records.
    Both records must have the link, so that each one leads to the other.
MEM108 circular-link error: Records supersede, block or contain each other in a circle.
    Records that supersede each other are all outdated, records that block each other can never begin. Remove the link
    that is wrong: `memctl link A B --as RELATION --remove`.
MEM109 accepted-decision-changed error: The text of an accepted decision was changed.
    The text of an accepted decision must stay as it was. Record a new decision with --supersedes. To correct only a
    typing error, use `memctl edit ID --allow-accepted`.
MEM110 credential error: A file of the memory contains what looks like a credential.
    Git keeps a credential for ever once it is committed. `memctl redact FILE` removes it from the memory and memctl's
    caches. Revoke the credential in any case. No `check_ignore` lets a commit add one; `git config --add
    memctl.allowSecret HASH` allows a value in your clone, by the hash that `memctl check --staged` names.
MEM111 oversize-record warning: A record is too long.
    A record of more than 3,000 tokens (the limit of a page of details) leaves no room for others in a pack. Move the
    long part to a file of the repository and refer to it.
MEM112 hidden-character warning: A file has a control character, or an invisible one.
    A terminal may obey a control character, and hide or replace text. In invisible characters words can be hidden that
    a model reads and nobody sees: tags, variation selectors, spaces without width, fillers, marks that turn the order
    of text. Those that a script or an emoji needs are no finding. memctl gives models U+FFFD in their place. Delete the
    characters.
MEM113 unsearched-file warning: A file of the memory can't be searched for credentials.
    The file is too large for memctl, or not UTF-8 text. Look for credentials in it yourself, or move it out of the
    memory.
MEM114 decision-without-reason info: A decision does not say why it was made.
    Without the reason nobody can tell later whether the decision is still right. `memctl edit ID --allow-accepted
    --rationale WHY` adds the reason. Alternatives, the context or a sentence with `because` also count as a reason.
MEM115 undecided-decision warning: An accepted decision has words that leave it open.
    Nobody can rely on an accepted decision that says `perhaps`. Once it is decided, record a new decision with
    --supersedes. Use `--status proposed` for a decision that is still open.
MEM116 output-as-learning warning: A learning consists of a program's output.
    A line of a log, a diff or a measurement does not help people who were not there. Write in words what follows from
    it, and keep the output as `--evidence`.
MEM117 signed-by-another warning: A record names another author than the commit that made it.
    Whoever recorded it gave another name as `agent_id`, which packs show with a mark. If that is right, ignore the
    finding; otherwise correct `agent_id`. Imported records, and commits without memctl's trailers, are not compared.

MEM201 broken-code-reference error: A page refers to a file that does not exist.
    Every reference from level 3 to level 4 must lead to a file. `memctl check --fix` writes the new path of a renamed
    file; remove the reference to a deleted one.
MEM202 ambiguous-code-reference error: A § reference may mean more than one file.
    Write more of the path, so that only one file matches.
MEM203 missing-code warning: An open record refers to a file that does not exist.
    The file was moved or deleted. `memctl check --fix` writes the new path of a renamed file; otherwise `memctl edit ID
    --remove code_refs=OLD --add code_refs=NEW` corrects it.
MEM204 missing-line warning: A reference names a line that the file does not have.
    The file has become shorter. Give the line's present number, or only the file.
MEM205 unknown-marker error: A § marker names a section or heading that does not exist.
    The section or heading was removed or renumbered, or the marker is misspelled. `memctl page index` lists all
    markers.
MEM206 unknown-id error: A page names a record that does not exist.
    Every record that a page names must exist. Correct the id, or restore the record with `memctl restore`.
MEM207 dangling-mention warning: The text of a record names a marker or an id that does not exist.
    The text may be older than a change that removed the marker or record. `memctl check --fix` writes the new path of a
    renamed file, but not into handoffs and accepted decisions. Correct the mention if it is a typing error; otherwise
    leave the text as it is.
MEM208 suspect-page warning: Code that a page refers to has changed since the page was reviewed.
    Read the page again, correct it if necessary, and mark it as reviewed with `memctl page review`.
MEM209 empty-glob warning: A glob of a section matches no file.
    The code was moved, or the glob is misspelled. `memctl check --fix` writes the new path of a renamed folder;
    otherwise `memctl page section edit §2.N --path GLOB` sets the globs.
MEM210 absent-code error: None of the code that the memory refers to is in this repository.
    The memory belongs to other code. Move the memory to the repository of that code, or correct its references: `memctl
    check --select MEM201,MEM203,MEM209` lists them. If it is a copy of `.memory.example`, delete it and run `memctl
    demo`, which creates the same memory together with its code.

MEM301 invalid-page error: A page can't be read.
    A field is missing or has an invalid value. No document shows the page until the file is corrected.
MEM302 duplicate-number error: Two pages or headings have the same number.
    A marker must lead to one place. `memctl renumber` gives the later page or heading another number.
MEM303 section-without-details info: A section has no page of details.
    Every section should have a page of details (level 3). `memctl page detail add TITLE --section §2.N` adds a page.
MEM304 details-without-section error: A page of details belongs to a section that does not exist.
    `memctl page detail edit §3.N --section §2.N` moves the page to another section.
MEM305 status-mismatch warning: The project's percentage differs from the mean of its sections.
    The declared percentage may differ by at most 5 points from the weighted mean of the sections. Correct the
    percentage of the project or of a section.
MEM306 page-too-long warning: A page has more tokens than its level allows.
    The limit is 1,000 tokens on level 1, 500 on level 2 and 3,000 on level 3. A document leaves out records until it
    fits, so it is the page's own text that is too long. Shorten the text, or move parts a level down.
MEM307 page-too-short info: A page has fewer tokens than its level should have.
    Level 2 should have at least 200 tokens, level 3 at least 1,000. If there is no more to say, ignore this note. Level
    3 is not checked in a memory with fewer than ten records.
MEM308 stale-document error fix: A rendered document differs from the memory, or is missing.
    A record or page was edited by hand, or merged without the document. `memctl page render` renders the document
    again.
MEM309 edited-document error: A rendered document was edited by hand.
    The next rendering would lose the edit. Make the edit in the record or page that the document shows, then run
    `memctl page render --force`.
MEM310 orphaned-document error fix: A rendered document belongs to a page that no longer exists.
    The page was removed or renumbered by hand. `memctl page render` deletes the document.
MEM311 incomplete-project info: The project's page lacks its goal, status or priorities.
    Level 1 always needs goal, status in percent and priorities. `memctl page project set` sets them.
MEM312 code-above-details warning: A page of level 1 or 2 has a block of code.
    Code belongs on level 3 (key excerpts) and level 4. Move it to a page of details.
MEM313 document-of-earlier-memctl warning fix: A rendered document has the layout of an earlier memctl.
    The records are correct. `memctl page render` renders the document again, and so does the next write that changes
    it.
MEM314 document-behind warning fix: A rendered document is behind the memory or the code, or was never rendered.
    With `docs: default-branch`, records come without their documents, and code moves without the list of source files.
    `memctl page render` on the default branch renders all documents; a workflow of the host may run it, too. Such a
    document is no error of whoever wrote a record, so `--strict` lets it pass in a memory of format 2.

MEM401 expired warning: An open record has expired.
    Packs leave the record out. `memctl archive ID` archives it, `memctl edit ID --expires TIME` sets another date.
MEM402 superseded-and-open error fix: A record that another one supersedes does not have the status `superseded`.
    Readers would take the record for current.
MEM403 superseded-by-nothing warning: A record's status is superseded, but no record supersedes it.
    `memctl supersede OLD NEW` links the record to its successor. Without a successor, give the record another status.
MEM404 future-timestamp warning: A record's timestamp is in the future.
    A clock was wrong, or the date is misspelled. Until that date, the record is listed before all others: correct
    `timestamp` in the record's file.
MEM405 finished-with-issues warning: A section is 100 % complete, but has open issues of severity critical or high.
    Resolve the issues, or correct the section's percentage.
MEM406 finished-but-active info: A state is 100 % complete, but still active.
    `memctl resolve ID` marks the state as done.
MEM407 blocked-by-closed info: An open record is blocked by a closed one.
    The closed record blocks nothing any more. `memctl link A B --as blocked_by --remove` removes the link.
MEM408 aged-overview warning: Many records were added since the project's page was last reviewed.
    The plans on the page may be done or changed by now. Read the page again; `memctl page project set` changes it, and
    `memctl page review §1.0` confirms that it is still right.
MEM409 near-records info: Two open records say nearly the same, or may contradict each other.
    memctl found them when the second was written; a clone knows those of its own writes. `memctl merge A B` makes one
    record of two, `memctl supersede OLD NEW` replaces one, and `memctl link A B` says that both hold.

MEM501 foreign-file warning: The memory has a file that memctl does not know.
    If it is a record whose file was renamed, give the file its old name: memctl does not find the record otherwise.
    Move other files out of the memory.
MEM502 not-a-file error: The memory has a symbolic link or another special file.
    memctl reads only regular files. Replace the link with a copy of its target.
MEM503 ignore-without-reason warning: A line of check_ignore in config.yaml has no reason, or names no rule.
    Write `CODE PATTERN: reason`. CODE is the code or name of a rule; the reason tells others why to ignore it.
MEM504 unused-ignore info: A line of check_ignore in config.yaml matches no finding.
    The finding that the line was for is gone. Delete the line.
MEM505 invalid-checkpoint error: A checkpoint can't be read.
    Nobody can resume from the checkpoint or save the next one. memctl never changes a checkpoint: restore the file with
    Git.
MEM506 checkpoints-at-once warning: The two newest checkpoints of a workflow have the same version.
    Two clones saved a checkpoint at the same time, and neither is newer. `memctl checkpoint save --base ID` continues
    from one of them; copy what you need from the other by hand.
MEM507 invalid-session-page error: The page of a session, or the list of its files, can't be read.
    No list shows the session, and memctl refuses to summarize it again. Correct the file, or restore it with Git.
MEM508 doubled-session error: Two session pages have the same session_id.
    A page was copied. The file of a session's page must be named after its session_id: delete the copy, or give it
    another session_id and rename its file.
MEM509 path-outside error: A path among the project's files leads out of the repository.
    An agent that resumes the work would read or write outside of the project. A session's page must list files outside
    of the project under a separate heading; a checkpoint must not list them.
MEM510 lost-file-list error: The page of a session or the list of its files is missing.
    The files of a long session are in a list of their own, to which its page links. If one of the two is missing,
    restore it with Git, or delete a list to which no page links.
MEM511 leftover warning: The memory has a temporary file.
    A write was interrupted, or the disk was full. No record is lost, but `git add -A` would commit the file. The next
    `memctl commit` deletes it.
MEM513 overdue-commit warning: A change has been pending for over an hour.
    Other clones don't see the change, and Git does not have its text. `memctl commit` commits it, or says what prevents
    that. Changes made with --no-commit, and those during a merge or rebase, are not reported.

MEM601 owned-by-another error: A staged file is in a section that another agent owns.
    Two agents that write in one section undo each other's work. Ask the owner, or take the section over with `memctl
    own acquire §2.N --force --reason WHY`, which is recorded.
MEM602 handoff-against-ownership warning: A handoff's status contradicts who owns its sections.
    Two clones answered the handoff separately, and Git merged the record of one with the ownership of the other, so
    that two agents consider a section theirs. `memctl team handoff recover` sets ownership as the record says.

MEM701 rejected-option warning: A branch brings back what a decision rejected.
    `memctl page impact BASE...HEAD` finds it in code, records and commit subjects. If the reasons of the decision no
    longer hold, record a new one with --supersedes; otherwise take what was chosen.
MEM702 shared-name error: A branch and its base gave the same id or number to different records or pages.
    Only one of the two can keep it. After the merge `memctl renumber` gives the other a new one.
MEM703 governed-code info: A branch changes code that a record in force is about.
    `memctl page impact BASE...HEAD` names the record, so that who reviews the change can see whether it still holds.
"""


def _parse(text: str) -> Iterator[Rule]:
    for part in re.split(r"^(?=MEM)", text, flags=re.MULTILINE)[1:]:
        line, _, explanation = part.partition("\n")
        head, _, summary = line.partition(": ")
        code, name, severity, *fix = head.split()
        yield Rule(code, name, severity, summary, " ".join(explanation.split()), bool(fix))


RULES = {rule.code: rule for rule in _parse(_RULES)}
