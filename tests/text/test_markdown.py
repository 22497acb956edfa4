"""Texts inside other Markdown, as a Markdown parser reads what comes out."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memctl.text import fit, markdown

PARSER = MarkdownIt("commonmark").enable("table")
HOSTILE = (
    "[click](https://evil.example)", "![image](x.png)", "[ref][other]", "text](https://evil.example)", "[", "]", "](",
    "<b>bold</b>", "<!-- open", "a --> b", "&amp; &#65; & b", "*a* **b** _c_ __d__", "__init__ is called", "a_b_c _d",
    "~~gone~~", "a | b", "\\", "\\[a](b)", "back\\", "`", "``", "a ` b", "![", "https://evil.example", "C #", "#",
    "# heading", "## heading ##", "- item", "+ item", "1. item", "1) item", "> quote", "---", "===", "- - -", "~~~",
    "§2.1 and DEC-2025-11-04-001", "مرحبا بالعالم", "日本語の題名", "x" * 100, "two\nlines", "  spaced   out  ", "!",
)  # fmt: skip
BODIES = (
    "<!-- never closed", "text\n<div>\nmore", "<script>alert(1)</script>", "  <pre>", "```\nopen", "~~~ x\nopen",
    "- ```\n  open", "> ```\n> open", "  ```\n  indented", "```\nx\n ```\ny", "# One\n## Two\n### Three",
    " # Indented",
    "Title\n===", "Title\n---", "#", "##\tTab", "- list\n\n    code\n\n<!--", "1. a\n2. b",
    "ends with a paragraph", "\\", "text  ", "> quote", "    code", "&", "```\n# code\n```\ntext", "a\n\n***\n\nb",
    "| a | b |\n|---|---|\n| c |", "`` ` ``", "``` `\nx", "<https://auto.example>", "[a]: https://evil.example",
    "[^1]: note",
)  # fmt: skip


FRAMES = (
    "- {} [id](to)",
    "- {}: note",
    "- [§2.1 {}](to)",
    "- Need: {} → [§2.1](to)",
    "# 2.1 {}",
    "### {}",
    "**Goal**: {}",
)


def text_of(inline: Token) -> str:
    """What a reader sees of a line of text."""
    return "".join(child.content for child in inline.children or [])


def links_in(inline: Token) -> list[str]:
    return [str(child.attrs["href"]) for child in inline.children or [] if child.type == "link_open"]


def code_in(markup: str) -> list[str]:
    (inline,) = PARSER.parseInline(markup)
    return [child.content for child in inline.children or [] if child.type == "code_inline"]


@pytest.mark.parametrize("text", HOSTILE)
def test_inline_text_is_shown_literally_within_its_line(text: str) -> None:
    """Whatever the line is: an item of a list, a heading, the label of a link."""
    opened = {
        "#": ["heading_open"],
        "-": ["bullet_list_open", "list_item_open", "paragraph_open"],
        "*": ["paragraph_open"],
    }
    for frame in FRAMES:
        tokens = PARSER.parse(frame.format(markdown.inline(text)) + "\n\nafter\n")
        line, after = [token for token in tokens if token.type == "inline"]
        harmless = next(token for token in PARSER.parse(frame.format("harmless")) if token.type == "inline")
        assert text_of(line) == text_of(harmless).replace("harmless", markdown.one_line(text)), frame
        assert links_in(line) == links_in(harmless), frame
        assert text_of(after) == "after"
        assert [token.type for token in tokens if token.nesting == 1] == [*opened[frame[0]], "paragraph_open"], frame


@pytest.mark.parametrize("text", ["Use `a | b` here", "`[x](y)`", "``a ` b``", "`<b>` and `\\`", "call `f()` _now_"])
def test_inline_code_is_unchanged(text: str) -> None:
    assert code_in(markdown.inline(text)) == code_in(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_in_a_table_adds_no_cells(text: str) -> None:
    tokens = PARSER.parse(f"| a | b |\n|---|---|\n| {markdown.inline(text)} | last |\n")
    cells = [text_of(token) for token in tokens if token.type == "inline"]
    assert cells == ["a", "b", markdown.one_line(text), "last"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Because. It is good.", "Because."),
        ("Is it? Yes.", "Is it?"),
        ("Version 1.2 e.g. the new one. Then more.", "Version 1.2 e.g. the new one."),
        ("- a point.\n- another", "a point."),
        ("\n\nFirst block\nof two lines\n\nsecond", "First block of two lines"),
        ("no end", "no end"),
        ("", ""),
        ("word " * 50, ("word " * 31).strip() + " …"),
    ],
)
def test_first_sentence_of_a_long_text_is_returned(text: str, sentence: str) -> None:
    assert fit.first_sentence(text) == sentence


@pytest.mark.parametrize("text", ["word " * 500, "x" * 5_000, "日本語" * 500, "a.b" * 500])
def test_a_sentence_without_end_is_cut(text: str) -> None:
    assert 1 < len(fit.first_sentence(text)) <= 162


@pytest.mark.parametrize(
    "path", ["a b.py", "100%.md", "f(x).py", "größe/日本.py", "a&b.py", "[x].py", "<a>.py", 'q".py']
)
def test_link_target_leads_to_its_path(path: str) -> None:
    (inline,) = PARSER.parseInline(f"[x]({markdown.target('../' + path)})")
    assert [unquote(link) for link in links_in(inline)] == ["../" + path]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("3.1.1 Service Communication Pattern", "311-service-communication-pattern"),
        ("3.1.2 What, why & how?", "312-what-why--how"),
        ("Größe der Tabelle", "größe-der-tabelle"),
        ("snake_case and-dashes", "snake_case-and-dashes"),
        # What a heading looks like counts, not how it is written.
        ("`code` and *stress*", "code-and-stress"),
        ("See [the page](https://a.example/x)", "see-the-page"),
    ],
)
def test_anchors_agree_with_those_of_hosting_sites(heading: str, anchor: str) -> None:
    assert markdown.slug(heading) == anchor


def test_anchor_of_a_literal_heading_keeps_text_that_looks_like_a_link() -> None:
    assert markdown.slug("2.2 T [x](y) z", literal=True) == "22-t-xy-z"
    assert markdown.visible("# T \\[x\\](y) z\n") == "# T \\[x\\](y) z\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[§2.1](2.1-a.md) and [`x`](../../x%20y.py#L3)", "[§2.1] and [`x`]"),
        ("no link (here) [at] all", "no link (here) [at] all"),
        ("[a](b c)", "[a](b c)"),
        # What looks like a link in code is code: a model that is shown it must see what was written.
        ("`handlers[name](event)`", "`handlers[name](event)`"),
        ("```\nhandlers[name](event)\n```", "```\nhandlers[name](event)\n```"),
    ],
)
def test_visible_removes_only_the_targets_of_links(text: str, left: str) -> None:
    assert markdown.visible(text) == left


@pytest.mark.parametrize("body", BODIES)
def test_embedded_body_does_not_affect_the_text_around_it(body: str) -> None:
    text = f"## Before\n\n{markdown.embed(body)}\n\n## After\n\n[link](to) and [a] and [^1]\n"
    tokens = PARSER.parse(text)
    top = [n for n, token in enumerate(tokens) if token.type == "heading_open" and not token.level]
    high = [(tokens[n].tag, tokens[n + 1].content) for n in top if tokens[n].tag in ("h1", "h2", "h3")]
    assert high == [("h2", "Before"), ("h2", "After")]
    last = [token for token in tokens if token.type == "inline"][-1]
    assert (text_of(last), links_in(last)) == ("link and [a] and [^1]", ["to"])
    assert not any(token.type == "html_block" and not token.level for token in tokens)


def test_embedded_text_keeps_its_meaning() -> None:
    body = "# Title\n\nText with **stress**.\n\n```py\n# no heading\n```\n\n- a\n- b"
    assert markdown.embed(body) == body.replace("# Title", "#### Title")
    assert markdown.embed("### Deep\n##### Deeper") == "##### Deep\n###### Deeper"
    quoted = markdown.embed("<b>\n\ntext\n")
    assert quoted == "> <b>\n>\n> text\n>"


@pytest.mark.parametrize(
    "text", ["[redacted: GitHub token]", "a_b *c* <d> \\ `x[0] \\*` e", "1. f", "a ` b `` c", "# g ~h~ &amp; | i"]
)
def test_without_escapes_reverses_inline(text: str) -> None:
    assert markdown.without_escapes(markdown.inline(text)) == text


def test_link_before_a_colon_at_the_start_of_a_line_loses_its_brackets() -> None:
    assert markdown.visible("- [§2.4 Sessions](2.4.md): 80 %\n- [§2.5](2.5.md) done") == (
        "- §2.4 Sessions: 80 %\n- [§2.5] done"
    )
    assert markdown.visible("- Use it [DEC-1](d.md): why") == "- Use it [DEC-1]: why"
    assert markdown.visible("`[a](b):` and [a](b): c") == "`[a](b):` and [a]: c"


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("Takes *money* and **cards**", "Takes _money_ and **cards**"),
        ("2 * 3 * 4, a*b*c, \\*x\\*, `*x*` and *a_b*", "2 * 3 * 4, a*b*c, \\*x\\*, `*x*` and *a_b*"),
        ("* one\n* *two*\n  + three", "- one\n- _two_\n  - three"),
        ("* * *", "* * *"),
        ("Fix \\#3 of \\[data\\], 2 \\< 3", "Fix #3 of [data], 2 < 3"),
        ("\\# 3, \\[x\\](y), a \\<b>, - \\[x\\] done", "\\# 3, \\[x\\](y), a \\<b>, - \\[x\\] done"),
        ("# T\n\n\n\ntext\n", "# T\n\ntext\n"),
        ("```\n*x*\n\n\n* y\n```\n", "```\n*x*\n\n\n* y\n```\n"),
    ],
)
def test_formatted_text_has_the_form_of_formatters(text: str, formatted: str) -> None:
    assert markdown.formatted(text) == formatted
    assert markdown.formatted(formatted) == formatted
    assert markdown.words(text) == markdown.words(formatted)


def test_words_of_a_table_do_not_depend_on_its_padding() -> None:
    narrow, wide = "|a|b|\n|--|-:|\n|long text|c|\n", "| a         |   b |\n| --------- | --: |\n| long text |   c |\n"
    assert markdown.words(narrow) == markdown.words(wide) == ["a", "b", "long", "text", "c"]
    assert markdown.words("1. one\n2. two") == markdown.words("1. one\n1. two")
    assert markdown.words("not a - b") != markdown.words("a - b")
