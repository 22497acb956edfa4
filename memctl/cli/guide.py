"""The command `memctl guide`: tell an agent when and how to use memctl."""

from __future__ import annotations

import click

from memctl.cli import output
from memctl.cli.command import command, json_option
from memctl.hooks.guide import GUIDE, TOPICS


@command(
    "guide",
    ("memctl guide", "Print when to use memctl, in a few lines, and the list of topics."),
    ("memctl guide recording", "Print what is worth a record, and which command creates it."),
    ("memctl guide searching --json", "Print a topic as JSON, for a program."),
)
@click.argument("topic", type=click.Choice(list(TOPICS)), required=False)
@json_option
def guide_command(topic: str | None, as_json: bool) -> None:
    """Show when and how an agent should use memctl, a page at a time.

    Without a topic: what a session with hooks gets at its start, and the list of topics. It needs no memory.
    """
    text = TOPICS[topic].text if topic else GUIDE
    if as_json:
        topics = {name: one.line for name, one in TOPICS.items()}
        output.json("guide", {"topic": topic, "text": text, "topics": topics})
        return
    output.text(text, newline=False)
    if topic is None:
        output.text("\nTopics:")
        output.columns([(f"  memctl guide {name}", one.line) for name, one in TOPICS.items()])
