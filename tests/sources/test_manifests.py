"""What manifests declare, also odd and broken ones."""

from __future__ import annotations

import pytest

from memctl.sources.manifests import declarations


def test_comments_and_last_commas_of_a_tsconfig_are_accepted() -> None:
    text = '{\n// "@x/*": ["no"]\n"compilerOptions": {"baseUrl": "./app", /* b */ "paths": {"@/*": ["ui/*",],},},\n}'
    assert declarations("tsconfig.json", text) == (("alias", "@/*\n./app/ui/*"), ("alias", "*\n./app/*"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", "[" * 100_000),
        ("package.json", '{"name": 7, "main": null}'),
        ("package.json", "[1]"),
        ("tsconfig.json", '{"compilerOptions": {"paths": {"a*b*c": ["x"], "d": "e", "f": [1]}}}'),
        ("tsconfig.json", '{"compilerOptions": 3}'),
        ("tsconfig.json", '"' * 50_000),
        ("go.mod", "go 1.22\n"),
        ("go.mod", "module x\n" + " " * 300_000),
        ("other.json", '{"name": "x"}'),
    ],
)
def test_a_manifest_without_declarations_is_no_error(name: str, text: str) -> None:
    assert declarations(name, text) == ()
