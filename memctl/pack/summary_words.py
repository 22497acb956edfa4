"""The words by which a summary's rules tell sentences apart. A sentence has single spaces and straight quotes."""

from __future__ import annotations

import re


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_HELPERS = "have|had|has|am|was|then|also|first|next|just|now|did|started|began|went"
_WHO = rf"(?:i|we)(?:'(?:ve|ll|d|m|re))?(?: (?:{_HELPERS}))*"
_BEFORE = "ok|okay|so|then|next|first|firstly|second|secondly|finally|also|now|after that|initially|afterwards"
_LEAD = rf"^(?:(?:{_BEFORE})[,:]? )*"
_LOOKED = (
    "looked|look|checked|check|opened|read|examined|reviewed|scanned|explored|went|started|began|tried|analy[sz]ed"
    "|inspected|browsed|considered|thought|think|wonder(?:ed)?|listed|viewed|traced|followed|dug|wanted to"
    "|needed to|investigated|wasn't sure|compared|skimmed|walked"
)
_LOOKING = (
    "analy[sz]ing|looking|reading|checking|examining|reviewing|searching|exploring|going|thinking|considering"
    "|investigating"
)
_FINDERS = "git grep|e?grep|rg|ripgrep|find|ag|ack|fd|glob"

SEARCH = _words(
    rf"{_LEAD}(?:{_WHO} )?(?:(?:ran|used|tried) [`'\"$ ]*(?:{_FINDERS})\b|searched|search(?:ing)? (?:for|the|in)"
    rf"|grepped|grepping|globbed|queried)\b",
    rf"\b(?:i|we) (?:\w+ )?(?:ran|used|tried) (?:\w+ )?[`'\"]?(?:{_FINDERS})\b",
    r"^[`$ ]*(?:git grep|e?grep|rg|ag|ack|fd) (?:-{1,2}\w|['\"/])|^[`$ ]*find [./~]",
    r"^(?:search )?(?:quer(?:y|ies)|search terms?|search(?:es)?|grep patterns?|pattern searched) ?:",
)
STEP = _words(
    rf"{_LEAD}{_WHO} (?:{_LOOKED})\b|{_LEAD}i(?:'ll| will|'m going to| am going to| want to)\b",
    rf"{_LEAD}let(?:'s| me| us)\b|^(?:hmm+|wait|actually|okay|ok|alright|well)\b[,.!: ]",
    rf"^(?:after|before|while|upon|by) (?:\w+ )?(?:{_LOOKING})\b",
    r"^(?:looking|going|digging) (?:at|into|through|for|deeper)\b",
)
ASIDE = _words(
    r"\bbut (?:that|this|it|those|these|they)(?:'(?:s|re)| (?:is|are|was|were))"
    r" (?:just|only|merely|irrelevant|unrelated|not relevant|documentation|a test|tests?\b|generated|dead|old)",
    r"\b(?:not relevant|irrelevant|unrelated|nothing (?:of interest|useful|relevant))\b",
    r"^there (?:was|were) (?:also )?(?:a |some )?mentions? of\b",
)
CONTENTS = _words(
    r"\b(?:contains|has|is|spans) (?:about |some )?\d+ lines\b",
    r"^(?:here (?:is|are)|below is|this is) the (?:full |whole |complete )?(?:content|code|source|file)",
    r"^(?:the )?(?:full )?(?:file )?contents?(?: of \S+)? ?:",
)
_FAULT = (
    r"(?:errors?|exceptions?|failures?|bugs?|warnings?|crash(?:es)?|traceback|\w+(?:Error|Exception)|failing tests?"
    r"|test failures?)"
)
RESOLVED = _words(
    # Of the first fault alone: what does not follow it follows no later one.
    rf"^(?=(?P<fault>.*?\b{_FAULT}\b))(?P=fault).*\b(?:no longer|went away|disappeared|does not occur any ?more"
    r"|(?:was|were|is|are|has been|have been|got|gets|now) (?:(?:now|already|since|then) )*"
    r"(?:resolved|fixed|solved|gone|corrected|cleared))\b",
    rf"^(?:{_WHO} )?(?:fixed|resolved|solved|got rid of) (?:the|this|that|a|an) .*\b{_FAULT}\b",
    rf"^(?=.*\b{_FAULT}\b).*[(\[,;\u2014\u2013-] ?(?:now |since |already |later )?(?:resolved|fixed|solved"
    rf"|worked around|gone)\b",
)
UNRESOLVED = _words(
    r"\b(?:not|never|yet to be|still|un(?:resolved|fixed)|until|unless|partly|partially|only if|must|should)\b|n't\b"
)
# What is not taken, where nobody speaks of themselves: `statements` knows what people say they rejected.
ALTERNATIVE = _words(
    r"\b(?:was|were|is|been) (?:considered (?:and|but) )?(?:rejected|ruled out|discarded|dismissed|not chosen)\b",
    r"\b(?:but|and|so|then) (?:we |i |it was |was )?(?:rejected|ruled out|discarded|dismissed|dropped|abandoned"
    r"|decided against)\b",
    r"^(?:an(?:other)?|one|the other) (?:alternative|option|approach|possibility) (?:is|was|would|could|might)\b",
    r"^(?:alternatively|instead),? (?:we|one|it|you) (?:could|might)\b",
    r"\b(?:could|might) (?:also |instead )?(?:have )?(?:use|used|chosen|choose|gone|go with)\b",
)
# What makes a search or a step worth keeping all the same.
BINDING = _words(
    r"\b(?:must|cannot|never|required|requires|forbidden|mandatory|constraint|breaking|blocked|decided (?:to|on|that)"
    r"|(?:think|believe) (?:we|you) should|recommend)\b"
)
DECISION = _words(r"\b(?-i:PROCEED|STOP|CLARIFY)\b|\bdecision\b|\b(?:chosen|approved|adopt(?:ed)?|go(?:ing)? with)\b")
CONSTRAINT = _words(
    r"\b(?:must|cannot|can't|can not|never|always|required|requires?|do not|don't|avoid|constraints?|constrained"
    r"|at most|at least|no more than|breaking|backwards?[- ]compatib\w+|depends? on|deadline|limit(?:ed)? (?:to|of)"
    r"|forbidden|mandatory|only if|unless|has to|have to)\b"
)
PROBLEM = _words(
    rf"\b(?:{_FAULT}|fails?|failed|failing|broken|blocked|blocker|blocks|conflicts?|vulnerab\w+|risks?|regression"
    r"|flaky|missing|unclear|race condition|deadlock|leaks?|open question)\b|\?$"
)
NO_PROBLEM = _words(r"^(?:there (?:are|were|is|was) )?(?:no|zero|without|none of)\b")
_VERBS = (
    "add|extend|use|update|fix|change|remove|delete|create|write|implement|move|rename|replace|refactor|test|run|review"
    "|migrate|keep|make|ensure|check|verify|reuse|split|merge|document|configure|install|call|handle|validate|wrap"
    "|start|expose|introduce|drop|set|put|ask|clarify|wait|stop|deploy|bump|pin|upgrade|generate|register|export|import"
    "|apply"
)
ACTION = _words(
    rf"^(?:(?:recommend\w*|next(?: steps?)?|todo|action|please|then|also|and|first|finally)\b[,:]? ?)*(?:{_VERBS})\b",
    r"\b(?:recommend\w*|suggest\w*|should|needs? to|next steps?|todo|follow-up|remains? to|ought to)\b",
)
PATTERN = _words(r"\b(?:patterns?|conventions?|idioms?|follow(?:s|ing)?|same way as|modell?ed on|style of|as in)\b")
# How a sentence begins that is understood only after the one before it.
LEANING = _words(
    r"^(?:it|its|this|that|these|those|they|their|both|such|the (?:latter|former|same|file|module|class|function))\b"
)

_SUFFIXES = (
    "[cm]?[jt]sx?|pyi?|md|mdx|rst|txt|jsonl?|ya?ml|toml|ini|cfg|sql|sh|go|rs|rb|java|kt|cpp|hpp|php|swift|vue|svelte"
    "|s?css|html?|xml|svg|csv|proto|tf|ipynb"
)
_ALONE = r"(?<![\w/.:@~+-])(?:\.{0,2}/)?"
# With a folder before it any suffix will do; without one, only those that `self.lock` and the like do not have.
PATH = re.compile(
    rf"{_ALONE}(?:[\w.@~+-]+/)+[\w@~+-]*\.\w[\w.]*\b(?!/)|{_ALONE}[\w@~+-][\w.@~+-]*\.(?:{_SUFFIXES})\b(?!/)"
    rf"|{_ALONE}(?:[\w.@~+-]+/){{2,}}(?!\w)|{_ALONE}\.env\b"
)

# Headings that say what stands below them.
BELOW_SEARCHES = _words(r"\b(?:search(?:es)?|quer(?:y|ies)|grep)\b")
BELOW_STEPS = _words(r"\b(?:process|what i did|thinking|thoughts|reasoning|exploration|scratch|my steps|steps taken)\b")
BELOW_RESOLVED = _words(r"\b(?:resolved|fixed) (?:errors?|issues?|bugs?|problems?)\b")
