"""What parsers say of the languages that are read by nothing else; of the others `test_code_lines` compares both."""

from __future__ import annotations

import pytest

from memctl.pages import definitions
from memctl.pages.grammars import GRAMMARS

CODE = {
    "c": (
        "static int\ngrub_x (int a)\n{\n  struct foo bar;\nout:\n  return 1;\n}\ntypedef int (*fn_t)(int);\n"
        "struct foo { int a; };\nstruct later;\n#if 1\nchar *k(void) { return 0; }\n#endif\n",
        ["grub_x()", "type fn_t", "struct foo", "k()"],
    ),
    "cpp": (
        "#ifdef X\nnamespace a {\nclass B : C {\n public:\n  int f() const { return 1; }\n"
        "  template<class T> void g(T t) { }\n};\n}\n#endif\nchar *b::c(int x) { return 0; }\nusing V = int;\n"
        'extern "C" { void h(void) {} }\nenum class E { A };\nclass Later;\n',
        ["namespace a", "class a.B", "a.B.f()", "a.B.g()", "b::c()", "type V", "h()", "enum E"],
    ),
    "rs": (
        "mod inner;\nimpl<T> Trait for S<T> {\n    fn a(&self) {}\n}\nimpl S<u8> {\n    pub async fn b() {}\n}\n"
        "pub struct S<T>(T);\ntrait Q { fn z(); }\nfn main() { fn nested() {} }\n",
        ["impl Trait for S", "S.a()", "impl S", "S.b()", "struct S", "trait Q", "Q.z()", "main()"],
    ),
    "java": (
        "package x;\npublic class A<T> extends B {\n  A() {}\n  @Override public int f() { return 1; }\n"
        "  enum E { X; void m() {} }\n}\ninterface I { void z(); }\n",
        ["class A", "A.A()", "A.f()", "enum A.E", "A.E.m()", "interface I", "I.z()"],
    ),
    "cs": (
        "using A;\nnamespace N.M\n{\n    public class C<T> : D\n    {\n        public C() {}\n        void F() {}\n"
        "    }\n    public enum E { X }\n}\n",
        ["namespace N.M", "class N.M.C", "N.M.C.C()", "N.M.C.F()", "enum N.M.E"],
    ),
    "rb": (
        "module A\n  class B < C\n    def initialize(x) = @x = x\n    def self.make\n      new\n    end\n  end\nend\n"
        "def top; end\n",
        ["module A", "class A.B", "A.B.initialize()", "A.B.make()", "top()"],
    ),
}


def titles(suffix: str, text: str) -> list[str]:
    return [title for _, _, title in definitions.in_code(suffix, text)]


@pytest.mark.parametrize("suffix", CODE)
def test_a_parser_lists_the_definitions_of_code(suffix: str) -> None:
    text, expected = CODE[suffix]
    assert titles(suffix, text) == expected


@pytest.mark.parametrize("suffix", CODE)
def test_a_long_text_is_parsed_in_pieces_and_loses_nothing(suffix: str) -> None:
    text, expected = CODE[suffix]
    found = titles(suffix, text * 100)
    assert {title: found.count(title) for title in expected} == dict.fromkeys(expected, 100)


@pytest.mark.parametrize("suffix", CODE)
def test_definitions_have_the_lines_of_the_text(suffix: str) -> None:
    text = CODE[suffix][0] * 60
    lines = text.split("\n")
    for line, _, title in definitions.in_code(suffix, text):
        name = title.replace("()", "").replace("::", ".").rpartition(" ")[2].rpartition(".")[2]
        assert name in lines[line - 1]


@pytest.mark.parametrize("suffix", CODE)
def test_readable_definitions_of_broken_code_are_listed(suffix: str) -> None:
    text = CODE[suffix][0]
    for end in range(0, len(text), 7):
        titles(suffix, text[:end] + "}{<" + text[end:])


def test_language_without_its_grammar_is_not_outlined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert definitions.is_outlined("rs")
    monkeypatch.setattr(definitions, "find_spec", lambda name: None)
    definitions.has_parser.cache_clear()
    try:
        assert not definitions.is_outlined("rs")
        assert definitions.lacks_parser("rs")
        assert definitions.is_outlined("go")
    finally:
        definitions.has_parser.cache_clear()


def test_every_suffix_has_its_grammar() -> None:
    assert all(definitions.has_parser(suffix) for suffix in GRAMMARS)
