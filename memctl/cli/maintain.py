"""The command `memctl maintain`: archive and delete what is due, and store how often records were retrieved."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command
from memctl.store.memory import Memory
from memctl.text.phrases import quantity
from memctl.write import maintenance


@command(
    "maintain",
    ("memctl maintain --dry-run", "Show what would be archived and deleted, and write nothing."),
    ("memctl maintain", "Archive and delete old records and checkpoints, in one commit."),
    (
        "memctl maintain --json --dry-run",
        "Print what would be archived and deleted, what would be kept, and why, as JSON.",
    ),
)
@write_command.writing
def maintain_command(ctx: click.Context, /, **flags: Any) -> None:
    """Archive and delete old records and checkpoints, and store access counts, in one commit.

    \b
    archived                                   deleted (`memctl restore ID` restores it)
    decision  superseded; or importance 5 and  importance 3 and less, archived for
              less, older than 90 days         more than 365 days
    issue     closed, older than 30 days       closed, archived for more than 180 days
    state     superseded                       superseded, archived for more than 90 days
    learning  never retrieved, older than      never retrieved, older than 365 days,
              180 days                         archived for more than 185 days
    any       expired
    checkpoint                                 older than 30 days, and ten newer versions; or
                                               its task is finished, and it is not the newest

    Open issues, the latest state and records of importance 8 or more are never touched, except that a closed
    record of any importance is archived. What an open record or a page refers to is archived, but not deleted, except
    what the open record supersedes; other links to what is deleted are removed. Records with uncommitted changes
    are left alone. An age counts from the record's timestamp or its first commit, whichever is later, and if the
    clock has jumped, nothing is deleted. A record that you brought back by `restore` counts as archived on that day;
    with importance 8 it is never deleted. `memctl install cron` prints a line for your crontab that runs `memctl
    maintain` every night.

    The numbers are settings, under `lifecycle` in config.yaml:

    \b
    lifecycle:
      keep_importance: 8                # can only be lowered
      archive_decision_importance: 5
      archive_decision_days: 90
      archive_issue_days: 30
      archive_learning_days: 180
      delete: true                      # false: nothing is deleted
      delete_decision_importance: 3
      delete_decision_days: 365
      delete_issue_days: 180
      delete_state_days: 90
      delete_learning_days: 365
      keep_checkpoints: 10
      delete_checkpoint_days: 30
    """
    memory = memory_access.memory(ctx)
    done = maintenance.maintain(memory, write_command.write_options(flags))
    if flags["as_json"]:
        output.json("maintain", _data(memory, done, flags["dry_run"]))
    else:
        _print(done, flags["dry_run"])


def _data(memory: Memory, done: maintenance.MaintenanceResult, dry_run: bool) -> dict[str, Any]:
    deeds = [{"action": deed.action, "id": deed.id, "reason": deed.reason} for deed in done.outcome.change.deeds]
    data = write_command.change_data(memory, done.outcome, dry_run)
    return {**data, "deeds": deeds, "kept": _skipped_data(done), "folded": done.folded}


def _skipped_data(done: maintenance.MaintenanceResult) -> list[dict[str, str]]:
    records = [
        {"id": item.verdict.record.id, "due": item.verdict.action, "reason": item.verdict.reason, "why": item.why}
        for item in done.judgement.spared
    ]
    checkpoints = [
        {"id": checkpoint.id, "due": "delete", "reason": checkpoint.reason, "why": checkpoint.kept}
        for checkpoint in done.kept_checkpoints
    ]
    return records + checkpoints


def _print(done: maintenance.MaintenanceResult, dry_run: bool) -> None:
    change = done.outcome.change
    would = "would " if dry_run else ""
    for deed in change.deeds:
        output.text(f"{would}{deed.action} {deed.id}: {deed.reason}")
    skipped = _skipped_data(done)
    for item in skipped if dry_run else ():
        output.text(f"would not {item['due']} {item['id']} ({item['reason']}): {item['why']}")
    # `nothing is due` goes to stdout, as the answer; a cron job that drops stdout hears only of errors.
    output.text("nothing to change" if change.is_empty else f"{would}maintain {change.title}")
    if skipped and not dry_run:
        output.text(
            f"not changed, though old enough: {quantity(len(skipped), 'record')}; `memctl maintain --dry-run` says why"
        )
    write_command.pending(done.outcome)
