"""What name a manifest declares, also odd and broken ones."""

from __future__ import annotations

import pytest

from memctl.sources.manifests import declared_name


@pytest.mark.parametrize(
    ("name", "text", "declared"),
    [
        ("go.mod", "// lamps\nmodule example.org/lamp\n\ngo 1.22\n", "example.org/lamp"),
        ("go.mod", 'module "example.org/lamp"\n', "example.org/lamp"),
        ("package.json", '{"name": "@shop/ui", "version": "1.0.0"}', "@shop/ui"),
        ("package.json", '{\n  "author": {\n    "name": "Ada"\n  },\n  "name": "lamp"\n}\n', "lamp"),
        ("package.json", '{\n\t"author": {\n\t\t"name": "Ada"\n\t},\n\t"name": "lamp"\n}\n', "lamp"),
        ("Cargo.toml", '[package]\nname = "lamp-oil"\n', "lamp_oil"),
    ],
)
def test_name_of_a_package_is_read(name: str, text: str, declared: str) -> None:
    assert declared_name(name, text) == declared


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", "[" * 100_000),
        ("package.json", '{"name": 7, "main": null}'),
        ("package.json", '"' * 50_000),
        ("go.mod", "go 1.22\n"),
        ("go.mod", "module x\n" + " " * 300_000),
        ("other.json", '{"name": "x"}'),
    ],
)
def test_a_manifest_without_a_name_is_no_error(name: str, text: str) -> None:
    assert declared_name(name, text) == ""
