"""The command `memctl context window fidelity`: measure how much of a context is still there after a compression."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec
from click.core import ParameterSource

from memctl.cli import memory_access, output, transcript_input
from memctl.cli import window_messages as messages
from memctl.cli.command import command, json_option
from memctl.cli.text_input import lines, read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.providers.provider import Provider, ProviderFailed
from memctl.text.phrases import quantity
from memctl.window import Contents, Entry, Fidelity, Question, checklist, fidelity

_NOT_ALL = 0.99  # the score at most, if something on the list is missing


@command(
    "fidelity",
    (
        "memctl context window fidelity session.jsonl summary.md",
        "Measure how much of a session is still in its summary; exit with 1 below 0.85.",
    ),
    (
        "memctl context window fidelity before.json after.json --questions q.yaml --min 0.9",
        "Measure by questions of your own; exit with 1 below 0.9.",
    ),
    ("memctl context window fidelity before.txt after.txt --json", "Print every question, and what was lost, as JSON."),
)
@click.argument("original", metavar="ORIGINAL")
@click.argument("compressed", metavar="COMPRESSED")
@click.option(
    "--questions",
    "asked",
    metavar="FILE",
    help="A YAML file with a list `questions`. [default: questions made from ORIGINAL]",
)
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0, 1),
    default=fidelity.TARGET,
    show_default=True,
    help="The lowest score that passes.",
)
@transcript_input.no_llm
@json_option
def fidelity_command(
    ctx: click.Context, /, original: str, compressed: str, asked: str | None, least: float, no_llm: bool, as_json: bool
) -> None:
    """Measure how much of ORIGINAL is still in COMPRESSED, by questions whose answers are looked for in both.

    Both are transcripts, messages as JSON, or texts; of a transcript the last window is read, as `window compact` reads
    it. A question in a file is a text, which only a model can judge, or has `ask` with `facts`, which must occur
    literally, or with `said`, a sentence that may be worded differently. Without a file, questions are made about the
    task, what the user said, insisted on and agreed to, decisions, open issues, paths, numbers and errors, at most ten
    of each kind. Ten more are about tools' results, spread over the session: lines with a name or figure that came up
    there and was used later. Nothing else of the results is asked about. A score of fewer than 10 questions comes with
    a note that it says little.

    A separate list is checked, too: lines with a label, short messages of the user, names in what they agreed to,
    edited paths, errors of the last ten results. Whatever is missing is named; the score is below 1.00 then, and the
    exit code 1 unless --min is given.

    If you have set up a language model (`git config --global memctl.llm.provider`; MEMCTL_LLM_PROVIDER outside a
    memory), it judges: it answers each question from both, and says whether the answers agree. Credentials are
    redacted.
    """
    if original == compressed == "-":
        raise MemctlError("ORIGINAL and COMPRESSED can't both be standard input", "give a file for one of them", USAGE)
    before, after = _contents(original), _contents(compressed)
    questions = fidelity.parse_questions(read(asked), asked) if asked else fidelity.generate_questions(before.session)
    provider = transcript_input.provider_if_any(memory_access.memory_if_any(ctx), no_llm=no_llm)
    result = _judged(before.text, after.text, questions, provider)
    listed = before.entries if not asked else ()
    missed = checklist.missing(listed, after.text)
    if result.score is None and not listed:
        raise MemctlError(
            f"{original} answers none of the questions, so there is nothing to measure",
            "give questions about facts of this text: --questions FILE",
        )
    score = min(1.0 if result.score is None else result.score, _NOT_ALL if missed else 1.0)
    has_chosen = ctx.get_parameter_source("least") is ParameterSource.COMMANDLINE
    passed = score >= least and (not missed or has_chosen)
    if as_json:
        data = {"original": original, "compressed": compressed, "min": least, "passed": passed}
        data |= {"counted": result.counted, "fewest_questions": fidelity.FEWEST_QUESTIONS}
        data |= {"original_since": before.since, "compressed_since": after.since}
        data |= {"checked": len(listed), "missing": [msgspec.to_builtins(entry) for entry in missed]}
        output.json("window_fidelity", {**data, **msgspec.to_builtins(result), "score": score})
    else:
        _print(result, score, least, missed)
    ctx.exit(OK if passed else REFUSED)


def _judged(before: str, after: str, questions: Sequence[Question], provider: Provider | None) -> Fidelity:
    if provider is not None:
        try:
            return fidelity.evaluate(before, after, questions, fidelity.judge_by(provider))
        except ProviderFailed as error:
            output.note(f"warning: the language model failed, so only exact facts count as answers: {error.with_hint}")
    return fidelity.evaluate(before, after, questions)


def _contents(source: str) -> Contents:
    with lines(source) as stream:
        contents = fidelity.read_contents("".join(stream).encode(), source)
    if not contents.session.events and contents.session.form != "text":
        raise MemctlError(f"{source} has no text to read", "give a transcript, messages as JSON, or a text")
    messages.warn_of_broken(contents.session.broken, source)
    messages.note_window(source, contents.since)
    return contents


def _print(result: Fidelity, score: float, least: float, missed: Sequence[Entry]) -> None:
    lost = [answer for answer in result.answers if answer.kept is False]
    aside = [answer for answer in result.answers if answer.kept is None]
    is_telling = result.counted >= fidelity.FEWEST_QUESTIONS
    verdict = "enough" if is_telling else "but from too few questions"
    if missed or score < least:
        verdict = "too little" if score < least else "but something is missing"
    output.text(
        f"fidelity {score:.2f}, {verdict} (at least {least:.2f}): "
        f"{result.counted - len(lost)} of {quantity(result.counted, 'question')} still answered"
    )
    of_results = [answer for answer in result.answers if answer.question.category == fidelity.OF_RESULT]
    if of_results:
        output.text(
            f"of tools' results: {sum(answer.kept is True for answer in of_results)} of"
            f" {quantity(len(of_results), 'line')} that were used later"
        )
    if not is_telling:
        wanted = "10 to 20 questions are better: --questions FILE asks your own"
        output.note(f"a score from {quantity(result.counted, 'question')} says little, {wanted}")
    if lost:
        output.text()
        facts = [", ".join(answer.lost) or f"{answer.question.ask} ({answer.note})" for answer in lost]
        categories = [answer.question.category or "-" for answer in lost]
        output.columns([("lost", *row) for row in zip(categories, facts, strict=True)])
    if missed:
        output.text()
        output.columns([("missing", entry.kind, entry.text) for entry in missed])
    for answer in aside:
        output.note(f"this question is not counted: {answer.question.ask} ({answer.note})")
