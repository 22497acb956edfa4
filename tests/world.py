"""The world in which tests and transcripts run git and memctl: nothing of the machine's, the same in every run."""

from __future__ import annotations

import os

WORLD = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    # Or each commit, merge and fetch would start another process, which finds nothing to do in repositories so small.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_TEMPLATE_DIR": "",
    "TERM": "dumb",
    "GIT_PAGER": "cat",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
