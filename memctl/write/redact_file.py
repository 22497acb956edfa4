"""Removing secrets from the text of one file, so that memctl can still read the file afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.pages import generated_header
from memctl.pages.links import FOLDER
from memctl.record import checkpoint, config, frontmatter, frontmatter_edit, pages, session_page
from memctl.record.change import Change, Delete, Write
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.parser import parse
from memctl.store import files
from memctl.store.memory_root import CONFIG
from memctl.text import credentials, markdown
from memctl.text.credentials import values as credentials_values
from memctl.text.lazy_regex import lazy_regex

Secrets = dict[str, str]  # the text of each secret, and the rule that found it
_AROUND = " \t\n\"'`"  # what may surround a secret: YAML needs its quotes
_PASSES = 8  # passes over one text
_LEAST_LENGTH = 10  # characters of a secret that must be in a file name; names of records are cut
GIVEN = credentials.GIVEN


def find(path: str, text: str) -> Secrets:
    """Return the secrets in a file's text, each with the rule that found it; `path` is the file's, below `.memory/`.

    Checkpoints, and the pages and file lists of sessions, are searched with stricter rules, since nobody reads these
    files before they are committed. Ids of checkpoints, and words of such a file's own path, are no secrets there.
    """
    strict = session_page.is_page(path) or session_page.is_trail(path) or checkpoint.is_file(path)
    texts = [text]
    if checkpoint.is_json(path):
        try:
            texts = [*_strings(json.loads(text))]
        except (ValueError, RecursionError):
            strict = False  # a file that is not JSON is shown to nobody as a checkpoint
    rules = {text[span.start : span.end]: span.rule for text in texts for span in credentials.find(text, strict=strict)}
    bare = {secret.strip(_AROUND): rule for secret, rule in rules.items()}
    branch = _branch_in(text) if strict and credentials.RANDOM in rules.values() else ""
    return {
        secret: rule
        for secret, rule in bare.items()
        if secret and not (strict and (_is_name(secret, path) or (rule == credentials.RANDOM and secret in branch)))
    }


def _is_name(word: str, path: str) -> bool:
    """Return whether a word in a file is part of the file's own name, or the id of any checkpoint."""
    return not is_common(word) and (word in _dashed(path) or checkpoint.version_in(word) is not None)


# The branch in a checkpoint's JSON, on a checkpoint's page, and in the front matter of a session's page.
_BRANCH = lazy_regex(
    r'^ *"branch": "([^"\\]+)"|^\*\*Saved\*\*: [^`\n]* on `([^`\n]+)`|\A---\n(?:[^-].*\n)*branch: "?([^"\n]+)',
    re.MULTILINE,
)


def _branch_in(text: str) -> str:
    """Return the name of the branch that a checkpoint or a session's page names, "" for none.

    Programs name branches by random words. A state must name its branch as Git does, or it would seem to have changed.
    """
    match = _BRANCH.search(text)
    return str(match[match.lastindex or 0]) if match else ""


def _dashed(path: str) -> str:
    """Return a path in the form in which ids contain it, such as "checkpoints-main-w1-v1-cc0be7.json"."""
    return path.replace("/", "-")


def redact(path: str, text: str, secrets: Secrets) -> str:
    """Return a file's text with each of `secrets` replaced; front matter stays valid YAML, a checkpoint valid JSON.

    `path` is relative to `.memory/` and shows what kind of file it is. A rendered document has a hash of its text in
    its header; the header is made anew, so that the document does not count as edited by hand.
    """
    if not any(form in text for secret in secrets for form in forms(secret)):
        return text
    if path.startswith(f"{FOLDER}/") and (document := generated_header.split(text)) is not None and document.is_intact:
        return generated_header.seal(redact_text(document.text, secrets), document.made_from, document.layout)
    if path == CONFIG:
        text = _redact_head(f"---\n{text}\n---\n", secrets).removeprefix("---\n").removesuffix("\n---\n")
    if text.startswith(f"{frontmatter.FENCE}\n"):
        text = _redact_head(text, secrets)
    if checkpoint.is_json(path) and any(map(is_common, secrets)) and is_readable(path, text):
        text = _with_values(text, lambda value: redact_text(value, secrets))
    return redact_text(text, secrets)


def redact_readable(path: str, text: str, secrets: Secrets) -> str:
    """Return a file's text redacted as `redact` does it, except where memctl could not read the file any more.

    Then its front matter, or the values of a checkpoint that its path repeats, keep the secrets that they need.
    """
    redacted = redact(path, text, secrets)
    if is_readable(path, redacted) or not is_readable(path, text):
        return redacted
    for secret in sorted(secrets, key=len, reverse=True):
        one = {secret: secrets[secret]}
        attempts = (redact(path, text, one), _redact_around_name(path, text, one), text)
        text = next(attempt for attempt in attempts if is_readable(path, attempt))
    return text


def _redact_around_name(path: str, text: str, secrets: Secrets) -> str:
    """Redact a file without its front matter, or a checkpoint without the values that are part of its path."""
    if checkpoint.is_json(path):
        own = _dashed(path)
        return _with_values(text, lambda value: value if value in own else redact_text(value, secrets))
    head, fence, body = text.partition(f"\n{frontmatter.FENCE}\n")
    return f"{head}{fence}{redact_text(body, secrets)}"


def redact_text(text: str, secrets: Secrets) -> str:
    """Return a text with each secret replaced by `[redacted: RULE]`; a secret escaped as in JSON is replaced, too.

    A secret that is an ordinary word, such as `session`, is replaced only where a rule for credentials finds it.
    """
    words = {secret for secret, rule in secrets.items() if rule != GIVEN and is_common(secret)}
    for secret in sorted(secrets.keys() - words, key=len, reverse=True):
        for form in forms(secret):
            text = text.replace(form, credentials.MARK.format(secrets[secret]))
    return _redact_where_found(text, words) if any(word in text for word in words) else text


def is_common(secret: str) -> bool:
    """Return whether a secret is an ordinary word, such as `session`, which may mean something else at other places."""
    return secret.isalpha() and not credentials_values.is_random(secret)


def _redact_where_found(text: str, words: Collection[str]) -> str:
    """Return a text with the secrets `words` replaced only where a rule finds them."""
    spans = [span for span in credentials.find(text) if text[span.start : span.end].strip(_AROUND) in words]
    for span in reversed(spans):
        text = f"{text[: span.start]}{credentials.MARK.format(span.rule)}{text[span.end :]}"
    return text


def map_texts(value: Any, mapped: Callable[[str], str]) -> Any:
    """Return a JSON or YAML value with each text in it, keys included, replaced by what `mapped` returns for it."""
    if isinstance(value, str):
        return mapped(value)
    if isinstance(value, Mapping):
        return {map_texts(key, mapped): map_texts(item, mapped) for key, item in value.items()}
    return [map_texts(item, mapped) for item in value] if isinstance(value, (list, tuple)) else value


def forms(secret: str) -> tuple[str, ...]:
    r"""Return the ways in which a secret can be written: plain, escaped as in JSON, and escaped as in Markdown.

    There are two ways for JSON, with and without `\u` escapes for characters outside of ASCII. Equal texts are returned
    once.
    """
    escaped = (json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True))
    return tuple(dict.fromkeys((secret, *escaped, markdown.inline(secret))))


def holds(text: str, secrets: Secrets) -> bool:
    """Return whether a text has one of the secrets, but for words that are a secret only at certain places."""
    wanted = (secret for secret, rule in secrets.items() if rule == GIVEN or not is_common(secret))
    return any(form in text for secret in wanted for form in forms(secret))


def is_in_name(path: str, secrets: Secrets) -> bool:
    """Return whether a file's name contains a secret, written as in file names: small letters, dashes between words."""
    slugs = (re.sub(r"[^a-z0-9]+", "-", secret.lower()).strip("-")[:_LEAST_LENGTH] for secret in secrets)
    return any(len(slug) == _LEAST_LENGTH and slug in path.lower() for slug in slugs)


def redact_change(change: Change, secrets: Secrets) -> Change:
    """Return a change with each secret replaced in its texts and in its commit message."""
    plain = map_texts(msgspec.to_builtins(change), lambda text: redact_text(text, secrets))
    writes = tuple(
        Write(
            write.path,
            redact_readable(write.path, write.text, secrets),
            write.old and redact(write.path, write.old, secrets),
        )
        for write in change.writes
    )
    deletes = tuple(Delete(delete.path, redact(delete.path, delete.old, secrets)) for delete in change.deletes)
    return msgspec.structs.replace(msgspec.convert(plain, Change), writes=writes, deletes=deletes)


def without_credentials(change: Change) -> Change:
    """Return a change with all credentials replaced in its new texts and its commit message.

    The old texts of its files stay as they are. So do file names: that of a checkpoint is made from its id.
    Raises MemctlError for a text that memctl could not read any more without its credentials.
    """
    writes = tuple(msgspec.structs.replace(write, text=_without_credentials(write)) for write in change.writes)
    words = {name: credentials.redact(getattr(change, name), strict=False) for name in ("title", "session", "reason")}
    return msgspec.structs.replace(change, writes=writes, **words)


def _without_credentials(write: Write) -> str:
    """Return the text of a file without credentials: all at once or, if that leaves it unreadable, one by one."""
    text = write.text
    for _ in range(_PASSES):  # a replacement may reveal a credential that was next to another
        new = _new_secrets(write, text)
        if not new:
            return text
        several = [new, *({secret: new[secret]} for secret in sorted(new, key=len, reverse=True))]
        before = text
        for secrets in several:
            redacted = redact(write.path, text, secrets)
            if checkpoint.is_json(write.path) and not is_readable(write.path, redacted):
                redacted = _redact_to_size(text, secrets)
            if is_readable(write.path, redacted) or not is_readable(write.path, text):
                text = redacted
                if secrets is new:
                    break
        if text == before:
            break
    if left := _new_secrets(write, text):
        rules = ", ".join(sorted(set(left.values())))
        raise MemctlError(
            f"{write.path} is not written: a text that it must have, such as an id or a path, looks like a credential "
            f"({rules})",
            "rename the file, branch or session with that name",
        )
    return text


def _new_secrets(write: Write, text: str) -> Secrets:
    """Return the secrets of a text that the file did not have before, without those in its name."""
    secrets = find(write.path, text)
    before = find(write.path, write.old) if secrets and write.old else {}
    known = f"{write.old or ''}\n{_dashed(write.path)}"
    return {
        secret: rule
        for secret, rule in secrets.items()
        if secret not in before and (is_common(secret) or secret not in known)
    }


def _redact_to_size(text: str, secrets: Secrets) -> str:
    """Redact the values of a checkpoint, cutting a mark that would make its value longer."""
    return _with_values(text, lambda value: redact_text(value, secrets)[: len(value)])


def _with_values(text: str, changed: Callable[[str], str]) -> str:
    """Return a checkpoint with all texts in it replaced by the results of `changed`."""
    return json.dumps(map_texts(json.loads(text), changed), ensure_ascii=False, indent=2) + "\n"


def is_readable(path: str, text: str) -> bool:
    """Return whether memctl can parse a text as the kind of file that `path` stands for; most allow any text."""
    try:
        if files.is_record_path(path):
            parse(text, path)
        elif pages.kind_at(path) is not None:
            pages.parse(text, path)
        elif session_page.is_page(path) or session_page.is_trail(path):
            session_page.parse(text, path)
        elif checkpoint.is_json(path):
            checkpoint.parse(text, path)
        elif path == CONFIG:
            config.parse(text, path)
    except (InvalidRecord, MemctlError, UnicodeEncodeError):
        return False
    return True


def _redact_head(text: str, secrets: Secrets) -> str:
    """Redact the values of a front matter; a text without readable front matter is returned unchanged."""
    try:
        values, _ = frontmatter.read(text)
    except FrontMatterError:
        return text
    redacted = {key: map_texts(value, lambda value: redact_text(value, secrets)) for key, value in values.items()}
    changed = {key: value for key, value in redacted.items() if value != values[key]}
    return frontmatter_edit.replace(text, changed, tuple(values)) if changed else text


def _strings(value: Any) -> list[str]:
    strings: list[str] = []
    map_texts(value, lambda text: strings.append(text) or text)  # type: ignore[func-returns-value]
    return strings
