"""Commit messages: composing them, and reading them back."""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.git import message
from memctl.git.message import Trailers
from memctl.record.change import Change, RecordAction
from memctl.store.commit_message import compose

ID = "DEC-2025-11-04-001"


def decided(**more: Any) -> Change:
    return Change(op="decide", title=f"{ID} Adopt it", ids=(ID,), **more)


def test_message_has_a_subject_and_a_paragraph_of_trailers() -> None:
    assert compose([decided(actor="claude", session="s-1", reason="we must")]) == (
        "docs(memory): decide DEC-2025-11-04-001 Adopt it\n"
        "\n"
        "Memctl-Op: decide\n"
        "Memctl-Id: DEC-2025-11-04-001\n"
        "Memctl-Actor: claude\n"
        "Memctl-Session: s-1\n"
        "Memctl-Reason: we must\n"
    )


def test_empty_value_makes_no_trailer() -> None:
    assert compose([decided(actor=" ", reason="\n")]).count("Memctl-") == 2


def test_long_subject_is_cut_and_whole_in_the_body() -> None:
    text = compose([Change(op="decide", title="word " * 60)])
    subject = text.split("\n")[0]
    assert len(subject) == 71  # a blank before the mark is cut, too
    assert subject.endswith("word word…")
    assert max(map(len, text.split("\n"))) <= 100
    assert message.whole_subject(text) == f"docs(memory): decide {'word ' * 60}".strip()
    assert message.parse(text).ops == ("decide",)
    short = compose([Change(op="decide", title="word")])
    assert message.whole_subject(short) == short.split("\n")[0] == "docs(memory): decide word"


def test_several_changes_are_listed_in_the_body() -> None:
    ids = [f"DEC-2025-11-04-{number:03}" for number in range(1, 6)]
    text = compose([Change(op="decide", title=f"{name} {'long ' * 30}", ids=(name,)) for name in ids])
    assert len(text.split("\n")[0]) <= 72
    listed = [line[:27] for line in text.split("\n") if line.startswith("- ")]
    assert listed == [f"- decide {name}" for name in ids]
    assert message.parse(text).ids == tuple(ids)


def test_long_reason_is_folded_and_read_back() -> None:
    reason = "because " * 50
    text = compose([decided(reason=reason)])
    assert max(map(len, text.split("\n"))) <= 100
    assert message.parse(text).reason == reason.strip()


def test_long_word_is_not_broken() -> None:
    text = compose([decided(reason="see https://example.org/" + "x" * 200)])
    assert message.parse(text).reason == "see https://example.org/" + "x" * 200


def test_line_ends_in_values_become_blanks() -> None:
    text = compose([decided(actor="a\nMemctl-Op: delete", reason="x\r\n\r\ny")])
    assert message.parse(text) == Trailers(("decide",), (ID,), "a Memctl-Op: delete", "", "x y")


def test_control_characters_do_not_reach_the_message() -> None:
    """Git ends a message at a NUL, and terminals obey an escape."""
    text = compose([Change(op="decide", title="a\x00b\x1b[31m\x7f", actor="x\x00", reason="\x1b]0;y\x07")])
    assert [character for character in text if not character.isprintable() and character != "\n"] == []


def test_several_changes_have_one_message() -> None:
    other = Change(op="edit", title="x", ids=("ISS-2025-11-04-001", ID), actor="claude", reason="two")
    text = compose([decided(actor="claude", reason="one"), other])
    assert text.startswith("docs(memory): decide, edit DEC-2025-11-04-001, ISS-2025-11-04-001\n")
    assert message.parse(text) == Trailers(("decide", "edit"), (ID, "ISS-2025-11-04-001"), "claude", "", "one; two")


def test_joint_message_names_a_change_without_ids_by_its_title() -> None:
    summed = Change(op="summarize", title="5f6c2a10: 2 files, 1 turn")
    assert compose([decided(), summed]).startswith(f"docs(memory): decide, summarize {ID}, 5f6c2a10: 2 files")


def test_message_of_more_than_200_records_has_only_their_number() -> None:
    many = tuple(f"DEC-2025-11-04-{number:03d}" for number in range(201))
    text = compose([Change(op="import", title="201 records", ids=many)])
    assert "Memctl-Count: 201\n" in text
    assert message.parse(text) == Trailers(ops=("import",))


def test_message_of_200_records_names_them() -> None:
    many = tuple(f"DEC-2025-11-04-{number:03d}" for number in range(200))
    assert message.parse(compose([Change(op="import", title="200", ids=many)])).ids == many


def test_foreign_commit_has_no_trailers() -> None:
    assert message.parse("fix: a bug\n\nIt was there.\n") == Trailers()
    assert message.parse("Memctl-Op: decide\n") == Trailers()
    assert message.parse("") == Trailers()


def test_trailers_of_other_programs_are_ignored() -> None:
    text = compose([decided()]).rstrip("\n") + "\nSigned-off-by: Ada <ada@example.org>\n"
    assert message.parse(text) == Trailers(("decide",), (ID,))


def test_one_bad_line_voids_all_trailers() -> None:
    assert message.parse(compose([decided()]) + "and more\n") == Trailers()


def test_only_trailers_in_the_last_paragraph_are_read() -> None:
    assert message.parse("x\n\nMemctl-Op: delete\n\nMemctl-Op: edit\n").ops == ("edit",)


def test_line_of_blanks_separates_paragraphs() -> None:
    assert message.parse("x\n\nbody\n \nMemctl-Op: edit\n").ops == ("edit",)


def test_each_record_of_a_bulk_change_has_a_trailer() -> None:
    many = tuple(
        RecordAction("archive", f"ISS-2025-11-04-{number:03d}", "resolved, " + "long " * 30 + "ago")
        for number in range(201)
    )
    text = compose([Change(op="maintain", title="201 archived", ids=tuple(d.id for d in many), deeds=many)])
    assert message.parse(text).deeds == tuple(map(msgspec.structs.astuple, many))
    assert message.parse(text + "Memctl-Record: nonsense\n").deeds == tuple(map(msgspec.structs.astuple, many))


def test_reason_with_a_trailer_in_it_adds_no_trailer() -> None:
    text = compose(
        [Change(op="maintain", title="x", deeds=(RecordAction("delete", ID, "a\nMemctl-Record: delete X: y"),))]
    )
    assert message.parse(text).deeds == (("delete", ID, "a Memctl-Record: delete X: y"),)
