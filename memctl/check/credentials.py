"""Rules about credentials, which are searched in each file of the memory as Git would commit it."""

from __future__ import annotations

from collections.abc import Iterator

from memctl.check.findings import CheckContext, Finding
from memctl.record.errors import InvalidRecord, NotRegularFile, NotText
from memctl.store.cache import digest
from memctl.store.memory import ALLOWED_SECRETS
from memctl.text import credentials
from memctl.text.phrases import quantity

_MOST = 20  # findings per file; one more finding counts the rest
IN_NAME, MORE = "in the file's name, ", "more place"  # by these words `baseline` knows what a message is about
CODE = "MEM110"
_HINT = "`memctl redact FILE` removes the credential; revoke it, too"


def secrets(subject: CheckContext) -> Iterator[Finding]:
    """Report each credential in a file of the memory or in a file's name, and each file that can't be searched.

    A text that an earlier search has found to be clean is not searched again.
    """
    catalogue = subject.snapshot.catalogue
    suspicious = {*catalogue.suspicious(), *(fault.path for fault in subject.snapshot.faults)}
    clean: list[bytes] = []
    names = subject.names
    listed = "\n".join(names)
    if not catalogue.is_clean(key := digest(listed, "credentials")):
        if credentials.find(listed):
            for path in names:
                yield from _findings(subject, path, path, IN_NAME, "rename the file, and revoke the credential")
        else:
            clean.append(key)
    suspects = [(path, True) for path in sorted(suspicious.intersection(names).difference(subject.others))]
    for path, is_record in (*suspects, *((path, False) for path in subject.others)):
        try:
            text = subject.snapshot.read(path)
        except InvalidRecord as error:
            if isinstance(error, NotText):
                yield from _findings(subject, path, error.text)
            if not is_record and not isinstance(error, NotRegularFile):  # other rules report these
                hint = "look for credentials in the file yourself, or move it out of the memory"
                yield Finding("MEM113", path, error.faults[0].line, error.faults[0].message, hint)
            continue
        except OSError:
            continue  # the name is not UTF-8, or this user may not read the file
        key = digest(text, "credentials")
        if is_record or not catalogue.is_clean(key):
            yield from _findings(subject, path, text)
            clean += [] if is_record or credentials.is_in(text) else [key]
    catalogue.keep_clean(clean)


def _findings(subject: CheckContext, path: str, text: str, where: str = "", hint: str = _HINT) -> Iterator[Finding]:
    spans = credentials.find(text)
    allowed = subject.allowed_secrets() if spans else ()
    spans = [span for span in spans if credentials.fingerprint(text, span) not in allowed]
    for span, line in zip(spans[:_MOST], credentials.lines(text, spans), strict=False):
        column = span.start - text.rfind("\n", 0, span.start)
        message = f"{where}column {column}: the text {credentials.describe(text, span)}"
        command = f"git config --add {ALLOWED_SECRETS} {credentials.fingerprint(text, span)}"
        allow = f"; if it is none, `{command}` lets it pass in this clone"
        yield Finding(CODE, path, line, message, f"{hint}{allow if subject.is_staged else ''}")
    if len(spans) > _MOST:
        rest = quantity(len(spans) - _MOST, MORE)
        yield Finding(CODE, path, 1, f"{where}{rest} with what looks like a credential", hint)
