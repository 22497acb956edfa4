"""What a template makes is bounded: what would be too large is refused before it is made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest

from memctl.pages.sandbox import MAX_VALUE, Sandbox, TooLarge, weigh

GROWING = "{%% set ns = namespace(a=%s) %%}{%% for i in range(60) %%}{%% set ns.a = %s %%}{%% endfor %%}{{ %s }}"
TOO_LARGE = {
    "a product": "{{ 'a' * 10**9 }}",
    "a product, the number first": "{{ 10**9 * 'a' }}",
    "a product of a list": "{{ [0] * 10**9 }}",
    "a product of a tuple in a variable": "{% set x = (1, 2) * 100000000 %}",
    "a power": "{{ 9**(9**9) }}",
    "squares": GROWING % ("3", "ns.a * ns.a", "ns.a"),
    "a wide field": "{{ '%1000000000d' % 1 }}",
    "a wide precision": "{{ '%.1000000000f' % 1 }}",
    "a width that is a value": "{{ '%*d' % (1000000000, 1) }}",
    "many fields": "{{ ('%(a)s' * 100000) % {'a': 'a' * 100000} }}",
    "a sum that doubles": GROWING % ("'aaaaaaaa'", "ns.a + ns.a", "ns.a"),
    "lists that double": GROWING % ("[1]", "ns.a + ns.a", "ns.a"),
    "texts joined twice": GROWING % ("'aaaaaaaa'", "ns.a ~ ns.a", "ns.a"),
    "lists in lists, printed": GROWING % ("[1.5]", "[ns.a, ns.a]", "ns.a"),
    "lists in lists, compared": GROWING % ("[1.5]", "[ns.a, ns.a]", "ns.a == [1]"),
    "tuples in tuples": GROWING % ("(1, 2)", "(ns.a, ns.a)", "1"),
    "mappings in mappings": GROWING % ("{}", "{'a': ns.a, 'b': ns.a}", "1"),
    "arguments in arguments": "{% macro m() %}{{ m(varargs, varargs) }}{% endmacro %}{{ m(1) }}",
    "a capture that doubles": "{% set ns = namespace(a='aaaaaaaa') %}{% for i in range(60) %}"
    "{% set x %}{{ ns.a }}{{ ns.a }}{% endset %}{% set ns.a = x %}{% endfor %}",
    "a macro that doubles": "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{% set ns = namespace(a='aaaaaaaa') %}"
    "{% for i in range(60) %}{% set ns.a = m(ns.a) %}{% endfor %}",
    "center": "{{ 'a'|center(2000000000) }}",
    "center on a variable": "{% for x in ['a'] %}{{ x|center(2000000000) }}{% endfor %}",
    "indent": "{{ ('a\n' * 1000)|indent(1000000) }}",
    "indent by text": "{{ ('a\n' * 100000)|indent('a' * 100000) }}",
    "replace": "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
    "join": "{{ range(100000)|join('a' * 100000) }}",
    "join of an iterator": "{{ range(100000)|map('string')|join('a' * 100000) }}",
    "wordwrap": "{{ ('a ' * 100000)|wordwrap(1, wrapstring='a' * 10000) }}",
    "tojson": "{{ [[[[1]]]]|tojson(100000000) }}",
    "slice": "{{ []|slice(1000000000)|list }}",
    "format": "{{ '%1000000000d'|format(1) }}",
    "map": "{{ range(100000)|map('center', 100000)|list }}",
    "a method of a text": "{{ 'a'.ljust(1000000000) }}",
    "a method that joins": "{{ ('a' * 100000).join(range(100000)|map('string')) }}",
    "a method that replaces": "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "a method that formats": "{{ '{:1000000000}'.format(1) }}",
    "a method with a width that is a value": "{{ '{:{}}'.format(1, 1000000000) }}",
    "a method that fills a mapping in": "{{ '{a:1000000000}'.format_map({'a': 1}) }}",
    "a method of a number": "{{ (1).to_bytes(1000000000, 'big') }}",
    "tabs": "{{ ('\t' * 1000).expandtabs(10000000) }}",
    "slices that are kept": "{% set ns = namespace(a=[]) %}{% set x = [1] * 100000 %}"
    "{% for i in range(100000) %}{% set ns.a = [ns.a, x[1:]] %}{% endfor %}",
    "output": "{% for i in range(99999) %}" + "a" * 1000 + "{% endfor %}",
    "output of nothing": "{% for i in range(99999) %}{% for j in range(99999) %}a{% endfor %}{% endfor %}",
    "captured output": "{% set x %}{% for i in range(99999) %}{% for j in range(99999) %}a{% endfor %}{% endfor %}"
    "{% endset %}",
    "captured text": "{% set x %}{% for i in range(99999) %}" + "a" * 1000 + "{% endfor %}{% endset %}",
    "a filtered block": "{% filter upper %}{% for i in range(99999) %}" + "a" * 1000 + "{% endfor %}{% endfilter %}",
    "a call": "{% macro m() %}{{ caller() * 1000000 }}{% endmacro %}{% call m() %}aaaaaaaa{% endcall %}",
}
NEVER_ENDS = {
    "macros": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "loops": "{% set x = 'a' * 100000 %}{% for i in x %}{% for j in x %}{% endfor %}{% endfor %}",
}
USUAL = [
    ("{{ '%02d' % 7 }} {{ '%s of %s'|format(1, 2) }} {{ '{:>4}'.format(1) }}", "07 1 of 2    1"),
    ("{{ 'a' ~ 1 ~ [1] }} {{ 'ab' * 2 }} {{ 2 * 3 }} {{ 2 ** 10 }} {{ 7 % 4 }}", "a1[1] abab 6 1024 3"),
    ("{{ ['b', 'a']|sort|join(', ') }} {{ [1, 2, 3]|batch(2)|list }}", "a, b [[1, 2], [3]]"),
    ("{{ 'a\nb'|indent(2) }} {{ 'ab'|center(6) }} {{ 'a b'|replace(' ', '') }}", "a\n  b   ab   ab"),
    ("{% macro m(x) %}<{{ x }}{{ caller() }}>{% endmacro %}{% call m(1) %}2{% endcall %}", "<12>"),
    ("{% set x %}a{{ 1 }}{% endset %}{{ x }}{{ {'a': (1, 2)}.a }}{{ 'abc'[1:] }}", "a1(1, 2)bc"),
    ("{% for a, b in {'x': 1}.items() %}{{ loop.index }}{{ a }}{{ b }}{% endfor %}", "1x1"),
    ("{% set a, b = 1, 2 %}{{ b }}", "2"),
    ("{% for x in [1, [2]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}", "12"),
    ("{{ 1.5 * 2 }} {{ [1, 2]|sum }} {{ 2.345|round(1) }} {{ 'a b'|wordcount }} {{ range(3)|map('string')|list }}",
     "3.0 3 2.3 2 ['0', '1', '2']"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), USUAL)
def test_small_template_is_rendered(text: str, expected: str) -> None:
    environment = Sandbox()
    environment.begin()
    assert environment.from_string(text).render() == expected


def test_a_document_may_be_as_large_as_a_file() -> None:
    environment = Sandbox()
    environment.begin()
    assert len(environment.from_string("{{ page }}").render(page="a" * MAX_VALUE)) == MAX_VALUE
    with pytest.raises(TooLarge):
        environment.from_string("{{ page }}a").render(page="a" * MAX_VALUE)


@pytest.mark.parametrize("text", ["{{ x }}", "{{ ''.__class__ }}", "{{ [].append(1) }}", "{{ lipsum() }}"])
def test_template_cannot_reach_foreign_values(text: str) -> None:
    with pytest.raises(jinja2.TemplateError):
        Sandbox().from_string(text).render()


def test_value_shared_by_lists_is_weighed_at_each_occurrence() -> None:
    value: Any = ["aaaa"]
    for _ in range(60):
        value = [value, value]
    assert weigh(value) > 2**60


_PROGRAM = """
import json, re, sys, time
from pathlib import Path
from memctl.pages.sandbox import deadline
from memctl.pages.sandbox import Sandbox
for name, text in json.load(sys.stdin).items():
    environment, begin = Sandbox(), time.process_time()
    environment.begin()
    try:
        with deadline(1):
            environment.from_string(text).render()
        error = ""
    except Exception as found:
        error = type(found).__name__
    memory = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024  # of no parent's
    print(json.dumps([name, error, time.process_time() - begin, memory]))
"""


def run_templates(texts: dict[str, str]) -> dict[str, tuple[str, float, int]]:
    """What templates come to in a process of their own: the error, the seconds, the megabytes used until then."""
    process = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=json.dumps(texts), capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr
    return {
        name: (error, seconds, memory) for name, error, seconds, memory in map(json.loads, process.stdout.splitlines())
    }


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say there what memory is used")
def test_too_large_template_is_refused_before_it_is_rendered() -> None:
    found = run_templates(TOO_LARGE)
    assert {name: error for name, (error, _, _) in found.items() if error != "TooLarge"} == {}
    assert {name: seconds for name, (_, seconds, _) in found.items() if seconds > 2} == {}
    assert max(memory for _, _, memory in found.values()) < 200


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say there what memory is used")
def test_endless_template_is_stopped() -> None:
    found = run_templates(NEVER_ENDS)
    assert {name: error for name, (error, _, _) in found.items()} == {
        "macros": "RecursionError",
        "loops": "TimeoutError",
    }
    assert max(memory for _, _, memory in found.values()) < 200
