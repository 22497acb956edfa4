"""The command `memctl guide`: tell an agent when and how to use memctl."""

from __future__ import annotations

import click

from memctl.cli import output
from memctl.cli.command import command, json_option
from memctl.hooks.guide import GUIDE, TOPICS


@command(
    "guide",
    ("memctl guide", "Print in a few lines when to use memctl, and list the topics."),
    ("memctl guide recording", "Print what is worth a record, and which command creates it."),
    ("memctl guide searching --json", "Print the page on a topic as JSON."),
)
@click.argument("topic", type=click.Choice(list(TOPICS)), required=False)
@json_option
def guide_command(_ctx: click.Context, /, topic: str | None, as_json: bool) -> None:
    """Show when and how an agent should use memctl, a page at a time.

    Without a topic, the command prints what an agent with hooks gets at the start of a session, and the list of topics.
    It works without a memory, too.
    """
    text = TOPICS[topic].text if topic else GUIDE
    if as_json:
        topics = {name: page.line for name, page in TOPICS.items()}
        output.json("guide", {"topic": topic, "text": text, "topics": topics})
        return
    output.text(text, newline=False)
    if topic is None:
        output.text("\nTopics:")
        output.columns([(f"  memctl guide {name}", page.line) for name, page in TOPICS.items()])
