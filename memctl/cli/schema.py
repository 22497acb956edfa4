"""The command `memctl schema`: print the JSON Schema of what `--json` prints, or of config.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from memctl.cli import output
from memctl.cli.command import command, complete
from memctl.errors import USAGE, MemctlError
from memctl.store import output_file
from memctl.text.words import nearest


@command(
    "schema",
    ("memctl schema", "List the kinds of JSON answers."),
    ("memctl schema records", "Print the schema of `list --json` and `show --json`."),
    ("memctl schema config > .config.schema.json", "Write the schema of config.yaml, for an editor."),
    ("memctl schema --out schemas", "Write all schemas, one file each."),
)
@click.argument("kind", required=False, shell_complete=complete("schema"))
@click.option("--out", "-o", type=click.Path(path_type=Path, file_okay=False), help="Write all schemas to a folder.")
def schema_command(kind: str | None, out: Path | None) -> None:
    """Print the JSON Schema of what `--json` prints, or of config.yaml.

    There is one for each `kind` of envelope. What a schema names stays; an answer may get more keys than it names.
    """
    from memctl.cli import schemas

    names = (*schemas.KINDS, schemas.CONFIG)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name in names:
            output_file.write(out / f"{name}.json", _text(schemas.schema(name)) + "\n")
    elif kind is None:
        output.text("\n".join(sorted(names)))
    elif kind in names:
        output.text(_text(schemas.schema(kind)))
    else:
        near = nearest(kind, names)
        hint = f"did you mean {near[0]}?" if near else "`memctl schema` lists the kinds"
        raise MemctlError(f"unknown kind of JSON answer: {kind!r}", hint, USAGE)


def _text(schema: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
