"""What files import, read by parsers from whole texts."""

from __future__ import annotations

import pytest

from memctl.sources import imports

PYTHON = '''"""An example: import nothing.

    from docstring import example
"""
from __future__ import annotations
import os, a.b as c
from .near import (
    one,
    two as second,  # import three
)
from . import beside
from ... import far
from pkg.sub import *
if True:
    import conditional


def work():
    from late import Loaded
    text = "import quoted"
'''
SCRIPT = """// import "./comment"
import React, { useState } from "react";
import "./side.css";
export * from "./again";
export { one } from './one';
const fs = require("fs"), other = nothing("./x");
const lazy = () => import("./lazy");
const text = 'import "./quoted"';
"""


def found(suffix: str, text: str) -> list[str]:
    return list(imports.in_code(suffix, text))


def test_python_imports_include_the_names_imported_from_a_module() -> None:
    assert found("py", PYTHON) == [
        *("os", "a.b", ".near|one", ".near|two", ".|beside", "...|far", "pkg.sub|*", "conditional", "late|Loaded")
    ]


@pytest.mark.parametrize("suffix", ["js", "jsx", "ts", "tsx"])
def test_imports_exports_requires_and_dynamic_imports_of_scripts_are_found(suffix: str) -> None:
    expected = ["react", "./side.css", "./again", "./one", "fs", "./lazy"]
    assert found(suffix, SCRIPT) == expected


def test_import_require_of_typescript_is_found() -> None:
    assert found("ts", 'import legacy = require("./legacy");\nimport type { T } from "./types";\n') == [
        *("./legacy", "./types")
    ]


def test_single_and_grouped_imports_of_go_are_found() -> None:
    text = 'package main\n\nimport "fmt"\nimport (\n\tx "example.org/shop/cart"\n\t. `example.org/dot`\n\t_ "side"\n)\n'
    assert found("go", text) == ["fmt", "example.org/shop/cart", "example.org/dot", "side"]


def test_imports_far_down_in_a_long_file_are_found() -> None:
    filler = "\n\n".join(f"def f{number}():\n    return {number}" for number in range(2_000))
    assert found("py", f"import first\n\n{filler}\n\n\ndef last():\n    import deep\n") == ["first", "deep"]


@pytest.mark.parametrize(
    "text",
    ["import (" * 5_000, "from . import " + "(" * 3_000, "import " + "a." * 60_000 + "b", "\0\0import a", "import"],
)
def test_broken_code_gives_no_imports_or_few_and_no_error(text: str) -> None:
    assert all(len(each) <= 200 for suffix in ("py", "js", "ts", "go") for each in found(suffix, text))
