"""What lines alone tell of code, beside what a parser tells."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from memctl.pages import code_lines, definitions

ROOT = Path(__file__).parents[2]
SCRIPT = """\
/* function gone() {} */
export abstract class Shop<T> extends Base {
  static limit = 5;
  private readonly run = async (x) => x;
  constructor(private store: Store) {
    if (store) {
      this.open();
    }
  }
  async *sell<K>(item: K): void {
    const inner = () => 1;
  }
}
export interface Store { get(): T }
export const enum Level { Low, High }
namespace A.B {
  export const go = (x: T) => x;
}
export type Handler = (x: string) => void;
function parse(x: any) {
  function inner() {}
}
const one = () => 1;
const three = 3, four = call(() => 1);
exports.foo = function () {};
module.exports = class Zed {
  run() {}
};
export default function () {}
"""
GO = """\
package shop

type (
	Server[K comparable] struct { x int }
	Store interface { Get(id int) error }
)
type Handler = func(int) string

func (s *Server) Serve(ctx context.Context) error {
	return nil
}
func Map[T any](xs []T) []T { return nil }
"""


def test_typescript_read_by_lines_equals_the_parsed_result() -> None:
    found = list(code_lines.definitions("ts", SCRIPT))
    assert [title for _, _, title in found] == [
        *("class Shop", "Shop.run()", "Shop.constructor()", "Shop.sell()", "interface Store", "enum Level"),
        *("namespace A.B", "A.B.go()", "type Handler", "parse()", "one()", "foo()", "class Zed", "Zed.run()"),
        "default()",
    ]
    assert found == list(definitions.in_code("ts", SCRIPT))


def test_go_read_by_lines_equals_the_parsed_result() -> None:
    found = list(code_lines.definitions("go", GO))
    assert found == [(line, level, " ".join(title.split())) for line, level, title in definitions.in_code("go", GO)]
    assert len(found) == 5


def test_line_reader_finds_the_definitions_that_ast_finds_in_memctl() -> None:
    def defined(body: list[ast.stmt], owner: str) -> list[tuple[int, str]]:
        found = []
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((node.lineno, f"{owner}{node.name}()"))
            elif isinstance(node, ast.ClassDef):
                found.append((node.lineno, f"class {owner}{node.name}"))
                found += defined(node.body, f"{owner}{node.name}.")
            elif isinstance(node, ast.If | ast.Try | ast.With):
                found += defined([*node.body, *getattr(node, "orelse", ())], owner)
        return found

    for path in (ROOT / "memctl").rglob("*.py"):
        text = path.read_text()
        found = [(line, title) for line, _, title in code_lines.definitions("py", text)]
        assert found == defined(ast.parse(text).body, ""), path


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        ("c", '#include <stdio.h>\n# include "shop/cart.h"\n// #include "gone.h"\n', ["stdio.h", "shop/cart.h"]),
        ("java", "import a.b.Cart;\nimport static a.b.Money.of;\nimport a.c.*;\n", ["a.b.Cart", "a.b.Money", "a.c.*"]),
        (
            "rs",
            "mod cart;\npub(crate) mod item;\nmod inline {}\nuse crate::{a::B, c::{self, d as e}};\nuse super::f;\n",
            ["mod cart", "mod item", "crate::a::B", "crate::c::self", "crate::c::d", "super::f"],
        ),
        ("go", 'import "fmt"\nimport (\n\tx "a/b"\n\t"c"\n)\n', ["fmt", "a/b", "c"]),
        (
            "ts",
            'import {\n  a,\n} from "./a";\nimport "./b";\nexport * from \'./c\';\nrequire("d");\n',
            ["./a", "./b", "./c", "d"],
        ),
        (
            "py",
            "import a.b as c, d\nfrom . import (\n    e,  # f\n    g as h,\n)\n'''\nimport i\n'''\n",
            ["a.b", "d", ".|e", ".|g"],
        ),
    ],
)
def test_imports_are_read_from_lines(suffix: str, text: str, expected: list[str]) -> None:
    assert list(code_lines.imports(suffix, text)) == expected


@pytest.mark.parametrize("suffix", ["py", "ts", "go", "c", "java", "rs"])
@pytest.mark.parametrize(
    "unit", ["import ", "import\n", "from . import (", '"""', "'", "`", "/*", "use {", "class A{\n", "a=", "\\"]
)
def test_long_texts_of_one_pattern_are_read(suffix: str, unit: str) -> None:
    text = unit * 50_000
    assert len(list(code_lines.definitions(suffix, text))) <= 50_000
    assert len(list(code_lines.imports(suffix, text))) <= 50_000
