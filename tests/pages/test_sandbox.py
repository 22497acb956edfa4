"""What a project's template can reach and print, and when it is stopped."""

from __future__ import annotations

import jinja2
import pytest

from memctl.pages.sandbox import Sandbox, TooLarge, deadline
from memctl.store.files import MAX_BYTES

ENDLESS = "{% set x = 'a' * 100000 %}{% for i in x %}{% for j in x %}{% endfor %}{% endfor %}"


def test_a_document_may_be_as_large_as_a_file() -> None:
    assert len(Sandbox().from_string("{{ page }}").render(page="a" * MAX_BYTES)) == MAX_BYTES
    with pytest.raises(TooLarge):
        Sandbox().from_string("{{ page }}a").render(page="a" * MAX_BYTES)


@pytest.mark.parametrize("text", ["{{ x }}", "{{ ''.__class__ }}", "{{ [].append(1) }}", "{{ lipsum() }}"])
def test_template_cannot_reach_foreign_values(text: str) -> None:
    with pytest.raises(jinja2.TemplateError):
        Sandbox().from_string(text).render()


def test_endless_template_is_stopped() -> None:
    with pytest.raises(TimeoutError), deadline(0.2):
        Sandbox().from_string(ENDLESS).render()
    with pytest.raises(RecursionError):
        Sandbox().from_string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").render()
