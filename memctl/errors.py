"""`MemctlError`, the base class of all errors that memctl raises on purpose; the command line prints such errors."""

from __future__ import annotations

OK = 0
REFUSED = 1  # findings, or a request that was refused
USAGE = 2  # a wrong command line
BUG = 3
UNANSWERED = 4  # the change was written, but the output could not be printed
INTERRUPTED = 130


# The package of each module that memctl can't do without (`dependencies` of pyproject.toml).
_PACKAGES = {
    "click": "click",
    "jinja2": "jinja2",
    "msgspec": "msgspec",
    "frontmatter": "python-frontmatter",
    "git": "gitpython",
    "markdown_it": "markdown-it-py",
    "yaml": "pyyaml",
}
_KINDS = {USAGE: "usage", BUG: "bug", UNANSWERED: "unanswered", INTERRUPTED: "interrupted"}


class MemctlError(Exception):
    """An error that a user can do something about.

    `message` says what is wrong, `hint` what to do, and `exit_code` is the exit code of the process. `kind` is a word
    by which programs can tell errors apart; docs/programs.md lists the kinds.
    """

    kind = ""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = REFUSED, kind: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
        if kind:
            self.kind = kind

    @property
    def kind_name(self) -> str:
        """The error's `kind`, or if that is "", a word for its exit code, such as "refused"."""
        return self.kind or _KINDS.get(self.exit_code, "refused")

    @property
    def with_hint(self) -> str:
        """The message and the hint on one line: "message (hint)"."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


def incomplete_installation(error: ModuleNotFoundError) -> MemctlError | None:
    """Return the MemctlError for a failed import, if the missing package is one that memctl requires; otherwise None.

    Its message names the package, and its hint is the `pip install` that adds the package.
    """
    import sys

    name = (error.name or "").partition(".")[0]
    if (package := _PACKAGES.get(name)) is None:
        return None
    return MemctlError(
        f"memctl's installation is incomplete: the package {package} is missing",
        f"`{sys.executable} -m pip install {package}` adds it, or install memctl again (PYTHONPATH is not searched)",
        kind="installation",
    )


class CredentialFound(MemctlError):
    """Raised if memctl refuses to write a text in which something looks like a credential."""

    kind = "credential"
