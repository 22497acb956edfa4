"""Taking credentials out of texts that nobody reads before they are committed, so that memctl can still read them."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.record import session_page
from memctl.record.change import Change, Write
from memctl.write.redact_file import without_credentials
from tests.text.secrets import x

ID = x(24)
TOKEN = "ghp" + "_" + x(36)


def page(text: str, **values: str) -> Write:
    made = session_page.SessionPage({"session_id": ID, **values}, lines={session_page.INTENT: (text,)})
    return Write(session_page.path_of(ID), session_page.render(made))


def redacted_text(write: Write) -> str:
    return without_credentials(Change(op="summarize", title=ID, writes=(write,))).writes[0].text


def test_redaction_keeps_the_random_id_of_a_page_only() -> None:
    text = redacted_text(page(f"Deploy with {TOKEN} and {x(32)}", model="m"))
    assert session_page.parse(text, session_page.path_of(ID)).id == ID
    assert TOKEN not in text
    assert x(32) not in text


def test_page_unreadable_without_its_secrets_is_refused() -> None:
    """The model's name may have 1,000 characters; with marks for its passwords it has more."""
    write = page(f"Deploy with {TOKEN}", model=" ".join(f"pw=a{n}b2c3" for n in range(100, 180)))
    assert len(write.text) > 900
    with pytest.raises(MemctlError, match="looks like a credential") as caught:
        redacted_text(write)
    assert "a100b" not in caught.value.message
    assert TOKEN not in redacted_text(page(f"Deploy with {TOKEN}", model="pw=a100b2c3"))


def test_password_that_is_a_common_word_is_redacted_only_as_a_password() -> None:
    text = redacted_text(page("The password is session. Deploy it with PGPASSWORD=session"))
    assert "[redacted: password in a sentence]. Deploy it with PGPASSWORD=[redacted: password]" in text
    assert session_page.parse(text, session_page.path_of(ID)).id == ID
    assert f"## Session Summary — {ID}" in text
