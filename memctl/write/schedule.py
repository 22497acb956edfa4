"""Having maintenance done every night: texts for crontab and for CI, which somebody puts where they belong.

In CI only those access counts are known that are in Git, and what it archives or deletes goes back by a push. Where
people and agents read the memory in clones of their own, `maintain` there folds their counts in.
"""

from __future__ import annotations

import json
import shlex

from memctl.errors import MemctlError
from memctl.store.memory import Memory

TARGETS = ("crontab", "github", "gitlab")
_MINUTES = 60

_GITHUB = """\
# .github/workflows/memory.yml
name: memory
on:
  schedule:
    - cron: "MINUTE 3 * * *"
  workflow_dispatch:
permissions:
  contents: write
concurrency: memory
jobs:
  maintain:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install git-memctl
      - run: |
          git config user.name memctl
          git config user.email memctl@localhost
          MAINTAIN
          git push
"""
_GITLAB = """\
# for .gitlab-ci.yml; run by a pipeline schedule, with a project access token in MEMORY_TOKEN
memory:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
  resource_group: memory
  variables:
    GIT_DEPTH: "0"
  script:
    - pip install git-memctl
    - git config user.name memctl
    - git config user.email memctl@localhost
    - git checkout -B "$CI_COMMIT_BRANCH"
    - MAINTAIN
    - git push "https://memctl:$MEMORY_TOKEN@$CI_SERVER_HOST/$CI_PROJECT_PATH.git" "HEAD:$CI_COMMIT_BRANCH"
"""


def text(memory: Memory, target: str, program: str) -> str:
    """The line for crontab, or the job for a CI service; `program` is the absolute path of memctl, "" if unknown.

    Raises MemctlError for a folder that no such line can name.
    """
    folder = str(memory.folder.parent)
    if not folder.isprintable():
        raise MemctlError(f"the name of {folder!r} would break the line", "give the folder another name")
    minute = str(sum(memory.config.project.encode()) % _MINUTES)  # not all projects at once
    if target == "crontab":
        command = shlex.join([program or "memctl", "-C", folder, "maintain"])
        # There a bare % ends the command. What it prints is dropped, so that only errors are mailed.
        return f"{minute} 3 * * * {command} >/dev/null".replace("%", "\\%") + "\n"
    below = memory.folder.parent.relative_to(memory.repository.top).as_posix()
    command = shlex.join(["memctl", "-C", below, "maintain"])
    if target == "github":
        return _GITHUB.replace("MINUTE", minute).replace("MAINTAIN", command)
    return _GITLAB.replace("MAINTAIN", json.dumps(command, ensure_ascii=False))
