"""The one error that memctl raises on purpose; the command line prints it in one place."""

from __future__ import annotations

OK = 0
REFUSED = 1  # findings, or a request that was refused
USAGE = 2  # the command line itself was wrong
BUG = 3
UNANSWERED = 4  # it is written, and the answer could not be printed
INTERRUPTED = 130


class MemctlError(Exception):
    """A fault that a user can act on.

    `message` says what is wrong, `hint` what to do about it, `exit_code` how the process ends.
    """

    def __init__(self, message: str, hint: str | None = None, exit_code: int = REFUSED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    @property
    def with_hint(self) -> str:
        """What is wrong and what to do about it, in one line: "message (hint)"."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class CredentialFound(MemctlError):
    """A text is refused, for something in it looks like a credential."""
