"""What a source file contains and what it is for, as its own text tells."""

from __future__ import annotations

import random
from textwrap import dedent

import pytest

from memctl.pages import outline
from memctl.pages.outline import Marker
from tests.conftest import slow


def markers_of(path: str, text: str) -> list[tuple[int, int, str]]:
    return [(marker.line, marker.level, marker.title) for marker in outline.markers(path, dedent(text))]


def titles(path: str, text: str) -> list[str]:
    return [title for _, _, title in markers_of(path, text)]


PYTHON = '''\
"""Access tokens."""

import os


@dataclass(frozen=True)
class JWTHandler(Base):
    limit = lambda: 5

    class Config:
        def reset(self): ...

    @property
    def größe(self) -> int:
        def inner(): ...
        return 5

    @größe.setter
    def größe(self, value): ...

    async def generate_access_token(self): ...


def main() -> None:
    class Local: ...


try:
    import fast
except ImportError:
    def fallback(): ...
if os.name == "nt":
    class Windows: ...
type Pair[T] = tuple[T, T]
'''


def test_python_shows_classes_methods_and_functions_but_nothing_inside_of_functions() -> None:
    assert markers_of("a.py", PYTHON) == [
        (7, 1, "class JWTHandler"),
        (10, 2, "class JWTHandler.Config"),
        (11, 3, "JWTHandler.Config.reset()"),
        (14, 2, "JWTHandler.größe()"),
        (21, 2, "JWTHandler.generate_access_token()"),
        (24, 1, "main()"),
        (31, 1, "fallback()"),
        (33, 1, "class Windows"),
        (34, 1, "type Pair[T]"),
    ]
    assert outline.markers("A.PYI", PYTHON) == outline.markers("a.py", PYTHON)


def test_javascript_shows_classes_and_everything_that_is_a_function_at_the_top() -> None:
    text = """\
        export default class { static async *gen() {} get size() {} set size(n) {} #secret = () => 1; ["x"]() {} }
        export const one = () => 1, two = async function () {}, three = 3;
        const Größe = (function () {});
        function* walk() { function inner() {} const local = () => 1; }
        exports.foo = function () {};
        module.exports = class Zed { run() {} };
        Foo.prototype.bar = () => { callback(() => 1) };
        describe("x", () => { const hidden = () => 1; });
        if (old) { function inIf() {} }
        export default () => <b>{x}</b>;
        """
    for suffix in ("js", "jsx", "mjs", "cjs"):
        assert markers_of(f"a.{suffix}", text) == [
            (1, 1, "class default"),
            (1, 2, "default.gen()"),
            (1, 2, "default.size()"),
            (1, 2, "default.#secret()"),
            (1, 2, 'default.["x"]()'),
            (2, 1, "one()"),
            (2, 1, "two()"),
            (3, 1, "Größe()"),
            (4, 1, "walk()"),
            (5, 1, "foo()"),
            (6, 1, "class Zed"),
            (6, 2, "Zed.run()"),
            (7, 1, "Foo.bar()"),
            (9, 1, "inIf()"),
            (10, 1, "default()"),
        ]


def test_typescript_shows_interfaces_enums_namespaces_types_and_overloads_once() -> None:
    text = """\
        export interface Store<T> extends Base { get(): T }
        export const enum Level { Low, High }
        declare module "shop" { export function open(): void; class Cart { add(): void } }
        namespace A.B { export namespace C { export const go = <T,>(x: T) => x; } }
        export type Handler = (x: string) => void;
        abstract class Shop<T> { abstract close(): void; private run = () => 1; @Log() sell(): void {} }
        @Injectable() export class Service { constructor(private store: Store) {} }
        function parse(x: string): void;
        function parse(x: any) {}
        declare global { interface Window { } }
        export const load = ((x) => x) satisfies Loader;
        """
    for suffix in ("ts", "mts", "cts", "tsx"):
        assert markers_of(f"a.{suffix}", text) == [
            (1, 1, "interface Store"),
            (2, 1, "enum Level"),
            (3, 1, 'namespace "shop"'),
            (3, 2, '"shop".open()'),
            (3, 2, 'class "shop".Cart'),
            (3, 3, '"shop".Cart.add()'),
            (4, 1, "namespace A.B"),
            (4, 2, "namespace A.B.C"),
            (4, 3, "A.B.C.go()"),
            (5, 1, "type Handler"),
            (6, 1, "class Shop"),
            (6, 2, "Shop.close()"),
            (6, 2, "Shop.run()"),
            (6, 2, "Shop.sell()"),
            (7, 1, "class Service"),
            (7, 2, "Service.constructor()"),
            (8, 1, "parse()"),
            (10, 1, "interface Window"),
            (11, 1, "load()"),
        ]


def test_only_tsx_has_markup_and_only_ts_has_casts_in_angle_brackets() -> None:
    assert titles("a.tsx", "const App = () => <Page title='x'><b/></Page>;\nfunction two() {}") == ["App()", "two()"]
    assert titles("a.ts", "const cast = () => <Page>value;\nfunction two() {}") == ["cast()", "two()"]


def test_go_shows_functions_methods_with_their_receivers_and_types() -> None:
    text = """\
        package shop

        type (
            Server[K comparable, V any] struct { x int }
            Store interface { Get(id int) error }
        )
        type Handler = func(int) string

        func (s  *Server[K, V]) Serve(ctx context.Context) error { f := func() {}; return nil }
        func (Server) Größe() {}
        func Map[T, U any](xs []T) []U { return nil }
        """
    assert markers_of("a.go", text) == [
        (4, 1, "type Server"),
        (5, 1, "type Store"),
        (7, 1, "type Handler"),
        (9, 1, "func (s *Server[K, V]) Serve"),
        (10, 1, "func (Server) Größe"),
        (11, 1, "func Map"),
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "class A:\n    def b(self, :\n        x =\n\ndef later():\n    pass\n", ["class A", "later()"]),
        ("a.py", "def a():\n<<<<<<< ours\n    x\n=======\n    y\n>>>>>>> theirs\ndef b(): ...\n", ["a()", "b()"]),
        ("a.js", "function a() {\n  if (x) {\n}\nfunction b() {}\nclass C { m() {} }\n", ["b()", "class C", "C.m()"]),
        ("a.ts", "class A {\n  m(): void {}\n  n(: void {}\n}\nfunction b() {}\n", ["class A", "A.m()", "b()"]),
        ("a.go", "package a\nfunc A( {\n}\n\nfunc B() {}\n", ["func A"]),
    ],
)
def test_readable_parts_of_broken_code_are_outlined(path: str, text: str, expected: list[str]) -> None:
    assert set(expected) <= set(titles(path, text))


@pytest.mark.parametrize(
    "suffix", ["py", "js", "ts", "tsx", "go", "md", "json", "toml", "sql", "sh", "yaml", "", "rst"]
)
@pytest.mark.parametrize("text", ["", "\n", "\r\n", " ", "\0", "\ufeff", "\u2028", "#", "---", "---\n---\n"])
def test_empty_texts_have_no_markers_and_no_purpose(suffix: str, text: str) -> None:
    assert outline.markers(f"a.{suffix}", text) == []
    assert outline.purpose(f"a.{suffix}", text) in ("", "\ufffd")  # Markdown shows \0 so


@pytest.mark.parametrize("suffix", ["py", "js", "ts", "tsx", "go", "md", "json", "toml", "sql", "sh", "yaml"])
@pytest.mark.parametrize("text", ["\ud800", "'", '"""', "/*", "/*/", "#!", "# \ud800", "// \ud800\n"])
def test_truncated_texts_are_outlined_without_an_error(suffix: str, text: str) -> None:
    assert len(outline.markers(f"a.{suffix}", text)) <= 1
    assert len(outline.purpose(f"a.{suffix}", text)) <= len(text)


@pytest.mark.parametrize("path", ["a.rs", "py", "a.json", "a.pyc", "py/a", "a.py.txt", "md"])
def test_files_of_other_kinds_have_no_markers(path: str) -> None:
    assert outline.markers(path, "# Heading\nclass A: ...\n") == []


def test_line_numbers_are_the_same_for_all_line_ends() -> None:
    for path, text in (("a.py", PYTHON), ("a.md", "---\na: b\n---\n\n# One\n\nTwo\n---\n")):
        lf = outline.markers(path, text)
        assert lf
        assert outline.markers(path, text.replace("\n", "\r\n")) == lf
        assert outline.markers(path, "\ufeff" + text) == lf


def test_markdown_shows_headings_of_both_kinds_without_their_markup() -> None:
    text = """\
        ---
        title: Shop
        tags: [a]
        ---

        # *Shop* [guide](https://example.org) with `code` ##
        ```sh
        # a comment
        ```
            # indented code
        > # quoted
        - # in a list

        <!--
        # in a comment
        -->
        #no heading
        Two
        lines
        -----
        ### ![only a badge](x.svg)
        #
        ###### A \\* star &amp; more
        """
    assert markers_of("a.md", text) == [
        (6, 1, "Shop guide with code"),
        (17, 2, "#no heading Two lines"),
        (23, 6, "A * star & more"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: x\n---\n# A\n", [(4, 1, "A")]),
        ("---\ntitle: x\n...\n# A\n", [(4, 1, "A")]),
        ("+++\ntitle = 'x'\n+++\n# A\n", [(4, 1, "A")]),
        ("---\n---\n# A\n", [(3, 1, "A")]),
        ("---\n\n# A\n\n---\n", [(3, 1, "A")]),
        ("# A\n---\ntitle: x\n---\n", [(1, 1, "A"), (3, 2, "title: x")]),
    ],
)
def test_front_matter_and_thematic_breaks_are_not_headings(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert markers_of("a.md", text) == expected


def test_a_title_is_one_short_line_of_printable_text() -> None:
    assert titles("a.md", "# a\x1b[31mb\x07\u202ec\n") == ["a[31mbc"]
    assert titles("a.ts", 'class A { "x\\n  y"() {} }') == ["class A", 'A."x\\n y"()']
    long = titles("a.py", f"def {'x' * 3000}(): ...\n") + titles("a.md", f"# {'x' * 3000}\n")
    assert [len(title) for title in long] == [120, 120]
    assert all(title.endswith("…") for title in long)


def a_long_file(language: str) -> tuple[str, list[str]]:
    """Code of some 60,000 characters, with a class of half that, and the titles of what is in it."""
    text, expected = [], []
    python, script = language == "py", language in ("js", "ts")
    for part in range(3):
        if language == "go":
            text.append(f"type Part{part} struct {{\n\tx int\n}}\n")
            expected.append(f"type Part{part}")
        else:
            text.append(f"class Part{part}{':' if python else ' {'}")
            expected.append(f"class Part{part}")
        for number in range(80):
            name = f"method{part}x{number}"
            if python:
                text.append(
                    f"    def {name}(self):\n        def inner(): ...\n        return [{number}, {part}] * 2000\n"
                )
                text.append("        # " + "padding " * 12)
                expected.append(f"Part{part}.{name}()")
            elif script:
                text.append(
                    f"  {name}(a, b) {{\n    const inner = () => 1;\n    if (a) {{\n      return [{number}];\n    }}"
                )
                text.append("    // " + "padding " * 12 + "\n  }")
                expected.append(f"Part{part}.{name}()")
            else:
                text.append(f"func (p *Part{part}) {name}() int {{\n\t// {'padding ' * 16}\n\treturn {number}\n}}\n")
                expected.append(f"func (p *Part{part}) {name}")
        text.append("}" if script else "")
    return "\n".join(text), expected


@pytest.mark.parametrize("language", ["py", "js", "ts", "go"])
def test_long_files_show_the_same_as_short_ones(language: str) -> None:
    text, expected = a_long_file(language)
    marked = outline.markers(f"a.{language}", text)
    assert len(text) > 40_000
    assert [marker.title for marker in marked] == expected
    lines = text.split("\n")
    assert all(marker.title.rpartition(".")[2].strip("()").split()[-1] in lines[marker.line - 1] for marker in marked)


def test_definition_too_long_to_parse_is_shown_by_its_head() -> None:
    table = "".join(f"    'key{n}': [{n}],\n" for n in range(3000))
    python = f"""\
class A:
    TABLE = {{
{table}    }}
    def b(self): ...

def c():
    x = {{
{table}    }}

def d(): ...
"""
    assert titles("a.py", python) == ["class A", "A.b()", "c()", "d()"]
    script = f"""\
class A {{
  b() {{
    return {{
{table}    }};
  }}
  c() {{}}
}}
function d() {{}}
"""
    assert titles("a.js", script) == ["class A", "A.b()", "A.c()", "d()"]


def test_generated_lines_are_skipped() -> None:
    text = f"function a() {{}}\nvar x = '{'y' * 9000}';\nfunction b() {{}}\n"
    assert markers_of("a.js", text) == [(1, 1, "a()"), (3, 1, "b()")]


@pytest.mark.parametrize("suffix", ["py", "js", "ts", "tsx", "go", "md", "package.json"])
@pytest.mark.parametrize("unit", ["(", "[", "{\n", "> ", "- ", "`${"])
def test_hundred_thousand_brackets_are_outlined_without_an_error(suffix: str, unit: str) -> None:
    assert outline.markers(f"a.{suffix}", unit * 100_000) == []
    assert len(outline.purpose(f"a.{suffix}", unit * 100_000)) <= 120


@pytest.mark.parametrize("suffix", ["py", "js", "tsx", "go"])
@pytest.mark.parametrize("unit", ["<a>\n", "x=>\n", "if x:\n ", "class A{\n", "func a(){\n", "a?b:\n"])
def test_very_deep_nesting_is_outlined_without_an_error(suffix: str, unit: str) -> None:
    assert len(outline.markers(f"a.{suffix}", unit * 5_000)) <= 2000


@pytest.mark.parametrize(
    ("suffix", "unit"),
    [("py", "->await "), *slow(("py", "<await -"), ("js", "[&1"), ("ts", "a<b,"), ("go", ",a["), ("go", "*<{/"))],
)
def test_parser_stops_before_it_takes_gigabytes(suffix: str, unit: str) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outline.markers(f"a.{suffix}", "a=" + unit * 2000)
    outline.markers(f"a.{suffix}", "a=" + (unit * 100 + "\n") * 200)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kilobytes


def test_deeply_nested_classes_are_listed_up_to_the_limit() -> None:
    assert titles("a.py", "".join(f"{' ' * n}class C{n}:\n" for n in range(100)) + " " * 100 + "pass\n")[:2] == [
        "class C0",
        "class C0.C1",
    ]
    assert len(titles("a.py", "".join(f"{' ' * n}class C{n}:\n" for n in range(1000)))) >= 10


def test_arbitrary_text_is_never_an_error() -> None:
    chance = random.Random(7)
    pieces = [
        "class A",
        "def f(",
        "{",
        "}",
        "(",
        ")",
        "=>",
        "\n",
        "\n  ",
        "'",
        '"""',
        "`",
        "/*",
        "# ",
        "---\n",
        "é",
        "\0",
    ]
    for suffix in ("py", "js", "ts", "tsx", "go", "md", "sql", "yaml", "json", "toml"):
        for _ in range(20):
            text = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 3000)))
            lines = text.count("\n") + 1
            assert all(1 <= marker.line <= lines for marker in outline.markers(f"a.{suffix}", text))
            assert len(outline.purpose(f"a.{suffix}", text)) <= 120


LICENCE = """Copyright (c) 2020 The Shop Authors.

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software, to deal in it without restriction.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND."""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", '"""Keeps stock: reserve, release. More."""\n', "Keeps stock: reserve, release."),
        ("a.py", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\nr'''\\\nUses\n  it.\n\nMore.'''\n", "Uses it."),
        ("bin/run", "#!/usr/bin/env python3\n'Runs it.'\n", "Runs it."),
        ("src/shop/app.py", '"""\nshop.app\n~~~~~~~~\n\nThe shop.\n"""\n', "The shop."),
        ("a.py", '"""Broken docstring, e.g. this\n', "Broken docstring, e.g. this"),
        ("a.py", "# pylint: disable=all\n# Keeps stock.\nimport os\n", "Keeps stock."),
        ("a.py", "import os\n'''No docstring.'''\n", ""),
        ("a.py", "x = 'no docstring'\n", ""),
        ("a.js", "#!/usr/bin/env node\n'use strict';\n// eslint-disable\n\n/**\n * Signs\n * it.\n */\n", "Signs it."),
        ("a.ts", "/// <reference types='x' />\n/**\n * @fileoverview Signs it.\n * @author Ada\n */\n", "Signs it."),
        ("lib/a.js", "// lib/a.js\n// -------\n// Signs tokens\n", "Signs tokens"),
        ("a.tsx", "import x from 'x';\n// Signs tokens.\n", ""),
        ("a.mjs", f"/*\n{LICENCE}\n*/\n\n// Signs tokens.\n", "Signs tokens."),
        ("a.go", "// Copyright 2009 The Go Authors. All rights reserved.\n// Use is governed.\n\n//go:build linux\n\n"
         "// Package shop sells\n// things. Well.\npackage shop\n", "Package shop sells things."),
        ("a.sh", "#!/bin/sh\n#\n# SPDX-License-Identifier: MIT\n#\n# Deploys the shop.\nset -e\n", "Deploys the shop."),
        ("Makefile", "# `make demo` needs Git.\nall:\n", "`make demo` needs Git."),
        ("a.yaml", "# yaml-language-server: $schema=x\n---\n# Runs the tests.\non: push\n", "Runs the tests."),
        ("a.toml", "# Settings of the shop.\n[x]\n", "Settings of the shop."),
        ("a.sql", "-- Licensed under MIT.\n\n/* Adds carts. */\nCREATE TABLE cart;\n", "Adds carts."),
        ("a.md", "---\ntitle: x\n---\n[![CI](x)](y)\n\n# The *shop*\n\nText.\n", "The shop"),
        ("a.md", "Sells [things](x). More.\n\n# Later\n", "Sells things."),
        ("a.rst", "Shop\n====\n\nText.\n", "Shop"),
        ("web/package.json", '{"name": "x", "description": "Sells\\n things"}', "Sells things"),
        ("package.json", '{"description": 5}', ""),
        ("package.json", '{"description": "x"', ""),
        ("package.json", "[" * 200_000, ""),
        ("package.json", '{"a": ' * 100_000, ""),
        ("pyproject.toml", "[x]\ndescription = 'n'\n[project] #x\ndescription = \"Sells \\\"it\\\"\"\n", 'Sells "it"'),
        ("pyproject.toml", "# Settings.\n[tool.poetry]\ndescription='Sells'\n", "Sells"),
        ("pyproject.toml", "# Settings.\n[build-system]\n", "Settings."),
        ("Cargo.toml", "[package]\nname = 'x'\ndescription = 'Sells'\n", "Sells"),
        ("setup.cfg", "[metadata]\nname = x\ndescription = Sells it\n", "Sells it"),
        ("composer.json", '{"description": "Sells"}', "Sells"),
        ("a.py", "def load():\n    'Loads.'\n\n\nclass Cart(Base):\n    'Holds items.'\n", "Cart: Holds items."),
        ("a.py", "class _Hidden:\n    'No.'\n\n\ndef load(): ...\n\n\nclass Cart: ...\n", "load(), Cart"),
        ("a.ts", "import x from 'x';\n\n/** Pays. */\nexport function pay(): void {}\n", "pay(): Pays."),
        ("a.go", "package shop\n\n// Cart holds items.\ntype Cart struct {}\n", "Cart: Cart holds items."),
        ("a.c", "/***\n *   _   _ ____\n * Project ___| | | |  _ \\| |\n *\n * Reads it.\n ***/\n", "Reads it."),
        ("a.c", "/* $OpenBSD: a.c,v 1.596 2023/01/18 01:50:21 millert Exp $ */\n/* Reads keys. */\n", "Reads keys."),
        ("a.c", "/*\n * Author: Ada <ada@a.org>\n *\n * Reads keys.\n */\n", "Reads keys."),
        ("data.json", '{"description": "x"}', ""),
        ("a.bin", "# x\n", ""),
    ],
)  # fmt: skip
def test_a_files_purpose_comes_from_its_beginning_or_its_definitions(path: str, text: str, expected: str) -> None:
    assert outline.purpose(path, text) == expected
    assert outline.purpose(path, text.replace("\n", "\r\n")) == expected


def test_a_purpose_is_one_short_line_of_printable_text() -> None:
    said = outline.purpose("a.py", f'"""Keeps\t\x1b[1mstock\u202e {"very " * 1000}long."""')
    assert said.startswith("Keeps [1mstock very very")
    assert len(said) <= 120
    assert said.endswith("…")


def test_markers_with_equal_fields_are_equal() -> None:
    assert outline.markers("a.md", "# A\n") == [Marker(1, 1, "A")]
