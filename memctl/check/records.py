"""Rules about records: valid files, unique ids, links, unchanged decisions, sizes, useful texts (MEM1xx)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from memctl.check.findings import CheckContext, Finding, unreadable
from memctl.pages import hints
from memctl.pages.links import FOLDER
from memctl.record import handoff, ids
from memctl.record.change import rewords
from memctl.record.kinds import LEARNING, OTHER_END
from memctl.record.mentions import REFERENCE
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.text import characters
from memctl.text.phrases import quantity


def readable(subject: CheckContext) -> Iterator[Finding]:
    """Report each record that can't be read."""
    for fault in (*subject.snapshot.faults, *handoff.read_all(subject.snapshot)[1]):
        yield unreadable(fault, "MEM101")


def identities(subject: CheckContext) -> Iterator[Finding]:
    """Report each `id`, and each UUID in the field `memory_id`, that more than one record has."""
    for code, key in (("MEM104", "id"), ("MEM105", "memory_id")):
        holders: dict[str, list[Record]] = defaultdict(list)
        for record in subject.snapshot.records:
            holders[getattr(record, key)].append(record)
        for value, records in holders.items():
            for record in records[1:]:
                message = f"{key}: {records[0].path} has the same {key}, {value}"
                hint = "`memctl renumber` gives the later record another id" if key == "id" else ""
                yield subject.at_key(code, record.path, key, message, hint)


def authors(subject: CheckContext) -> Iterator[Finding]:
    """Report each record whose author is not the actor that the trailer of its first commit names."""
    signatures = subject.signatures()
    for record in subject.snapshot.records if signatures else ():
        actor = signatures.get(record.path, ("", ""))[0]
        if actor and f",{record.agent_id}," not in f",{actor},":
            message = f"agent_id: the record names {record.agent_id}, but the commit that made it {actor}"
            yield subject.at_key("MEM117", record.path, "agent_id", message)


def links(subject: CheckContext) -> Iterator[Finding]:
    """Report each link to a record that does not exist, and each link without the link back in the linked record.

    For example, a record that another one `supersedes` must name that one in `superseded_by`.
    """
    by_memory_id = {record.memory_id for record in subject.snapshot.records}
    for record in subject.snapshot.records:
        if record.parent_memory_id is None or record.parent_memory_id in by_memory_id:
            continue
        if not subject.snapshot.faults:  # the parent may be a record that can't be read
            message = f"parent_memory_id: there is no record with the memory_id {record.parent_memory_id}"
            yield subject.at_key("MEM106", record.path, "parent_memory_id", message)
    for record in subject.linked:
        for relation, other_end in OTHER_END.items():
            for identifier in getattr(record, relation):
                yield from _link(subject, record, relation, other_end, identifier)


def _link(subject: CheckContext, record: Record, relation: str, other_end: str, identifier: str) -> Iterator[Finding]:
    other = subject.by_id.get(identifier)
    if other is None:
        if not subject.has_id(identifier):
            message, hint = f"{relation}: there is no record {identifier}", subject.near(identifier, subject.by_id)
            yield subject.at_key("MEM106", record.path, relation, message, hint, identifier)
    elif record.id not in getattr(other, other_end) and not set(record.aliases) & set(getattr(other, other_end)):
        message = f"{relation}: the link to {other.id} is one-sided: {other.id} lacks {record.id} under {other_end}"
        hint = "`memctl check --fix` adds the other side of the link"
        if (meant := subject.snapshot.link_target_by_alias(record, identifier, other_end)) is not None:
            hint = (
                f"the link means {meant.id}, which had the id {identifier} before: `memctl renumber` corrects the link"
            )
        yield subject.at_key("MEM107", record.path, relation, message, hint, identifier)


def circles(subject: CheckContext) -> Iterator[Finding]:
    """Report each circle of records that supersede, block or contain each other."""
    by_memory_id = {record.memory_id: record.id for record in subject.snapshot.records}
    graphs: dict[str, dict[str, list[str]]] = {
        "superseded_by": _graph(subject, "superseded_by", "supersedes"),
        "blocked_by": _graph(subject, "blocked_by", "blocks"),
        "parent_memory_id": {
            r.id: [by_memory_id[r.parent_memory_id]]
            for r in subject.snapshot.records
            if r.parent_memory_id in by_memory_id
        },
    }
    for key, graph in graphs.items():
        for circle in circles_in(graph):
            record = subject.by_id[circle[0]]
            message = f"{key}: the links form a circle: {' -> '.join([*circle, circle[0]])}"
            field = key if key not in OTHER_END or getattr(record, key) else OTHER_END[key]  # one end may be missing
            yield subject.at_key("MEM108", record.path, field, message)


def _graph(subject: CheckContext, relation: str, other_end: str) -> dict[str, list[str]]:
    """A link counts if either end has it."""
    graph: dict[str, list[str]] = {}
    for record in subject.linked:
        for identifier in getattr(record, relation):
            if (other := subject.by_id.get(identifier)) is not None:
                graph.setdefault(record.id, []).append(other.id)
        for identifier in getattr(record, other_end):
            if (other := subject.by_id.get(identifier)) is not None:
                graph.setdefault(other.id, []).append(record.id)
    return {name: list(dict.fromkeys(others)) for name, others in graph.items()}


def circles_in(graph: dict[str, list[str]]) -> list[list[str]]:
    """Return the circles in a directed graph, which maps each node to the nodes that it leads to.

    A circle is a list of nodes that begins with its smallest node. If several circles share a node, some of them may be
    missing.
    """
    circles: dict[tuple[str, ...], None] = {}
    is_open: dict[str, bool] = {}  # visited node -> whether the walk is still below it
    for start in sorted(graph):
        if start in is_open:
            continue
        path, stack = [start], [iter(graph[start])]
        is_open[start] = True
        while stack:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                is_open[path.pop()] = False
            elif is_open.get(node):
                circle = path[path.index(node) :]
                first = circle.index(min(circle))
                circles[tuple(circle[first:] + circle[:first])] = None
            elif node not in is_open:
                is_open[node] = True
                path.append(node)
                stack.append(iter(graph.get(node, ())))
    return [list(circle) for circle in circles]


def accepted_decisions(subject: CheckContext) -> Iterator[Finding]:
    """Report each accepted decision whose title or text was changed."""
    for path in subject.changed:
        record = subject.snapshot.catalogue.find(ids.id_in_path(path) or "")
        before = subject.earlier(path) if record and record.path == path else None
        if record is None or before is None:
            continue
        if rewords(before, _with_former_ids(subject, subject.snapshot.read(path)), path):
            yield _change_finding(subject, record, *parse(before, path))


def _with_former_ids(subject: CheckContext, text: str) -> str:
    """`memctl renumber` may change the references in an accepted decision's text."""
    renamed = [(record.id, record.aliases) for record in subject.snapshot.records]
    renamed += [(page.id, page.aliases) for page in subject.snapshot.outline.pages]
    former_names = {name: aliases[-1] for name, aliases in renamed if aliases}
    return REFERENCE.sub(lambda match: former_names.get(match[0], match[0]), text) if former_names else text


def _change_finding(subject: CheckContext, record: Record, old: Record, old_body: str) -> Finding:
    if old.title != record.title:
        message = f"the title was changed; when the decision was accepted, it was {old.title!r}"
        return subject.at_key("MEM109", record.path, "title", message)
    body = subject.snapshot.body(record)
    before, now = old_body.split("\n"), body.split("\n")
    number = next((n for n, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), len(now) - 1)
    last = subject.snapshot.read(record.path).count("\n") or 1
    line = min(subject.body_line(record.path, body) + number, last)
    heading = next((h for h in reversed(now[: number + 1]) if h.startswith("## ")), "## text")
    message = f"the text below {heading[3:]} was changed after the decision was accepted"
    return Finding("MEM109", record.path, line, message)


def sizes(subject: CheckContext) -> Iterator[Finding]:
    """Report each record with more than 3,000 tokens."""
    for path in subject.snapshot.catalogue.heavy(hints.MIN_WEIGHT):
        tokens = subject.counter.tokens(subject.snapshot.read(path))
        if tokens > hints.MAX_TOKENS:
            yield Finding("MEM111", path, 1, f"the record has {tokens:,} tokens; the limit is {hints.MAX_TOKENS:,}")


def contents(subject: CheckContext) -> Iterator[Finding]:
    """Report each open record whose text is of little use.

    That is a decision without a reason, an accepted decision with words of doubt, or a learning that is only the output
    of a program.
    """
    codes = {hints.NO_REASON: "MEM114", hints.DOUBT: "MEM115", hints.RAW_OUTPUT: "MEM116"}
    for record in subject.snapshot.open_records:
        if record.kind.reason or record.kind is LEARNING:
            for name, message in hints.of_record(record, subject.snapshot.body(record)):
                yield subject.at_key(codes[name], record.path, "title", message)


def hidden_characters(subject: CheckContext) -> Iterator[Finding]:
    """Report each file but rendered ones with a control character or an invisible one: the first line with one."""
    others = (path for path in subject.others if not path.startswith(f"{FOLDER}/"))
    for path in (*subject.snapshot.catalogue.with_hidden_characters(), *others):
        text = subject.snapshot.try_read(path) or ""
        character = characters.first_hidden_character(text)
        if not character:
            continue
        lines = [number for number, line in enumerate(text.split("\n"), 1) if characters.first_hidden_character(line)]
        kind = "control" if character < "\xa0" else "invisible"
        more = f"; so have {quantity(len(lines) - 1, 'more line')}" if len(lines) > 1 else ""
        yield Finding("MEM112", path, lines[0], f"this line has the {kind} character {character!a}{more}")
