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
    ("memctl schema", "List the kinds of JSON that memctl prints."),
    ("memctl schema records", "Print the schema of what `list --json` and `show --json` print."),
    ("memctl schema config > .config.schema.json", "Write the schema of config.yaml to a file, for an editor."),
    ("memctl schema --out schemas", "Write all schemas to the folder schemas, one file each."),
)
@click.argument("kind", required=False, shell_complete=complete("schema"))
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write all schemas to this folder, one file each.",
)
def schema_command(_ctx: click.Context, /, kind: str | None, out: Path | None) -> None:
    """Print the JSON Schema of what `--json` prints, or of config.yaml.

    Each `kind` of JSON has a schema. Keys that a schema names stay; later versions of memctl may print more keys.
    """
    from memctl.cli import schemas

    names = (*schemas.KINDS, schemas.CONFIG)
    if out is not None:
        output_file.refuse_place(out)
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
