"""What stands for a value that somebody, or some tool, is yet to fill in: unknown, never a value.

Tools have no common sign for it. Those here are of Helm, Go templates, Jinja, Argo, Liquid, ERB,
Terraform's templatefile, envsubst, kustomize's vars, sed scripts, Azure's token replacement,
Gen3's `NAME|-default-|`, printf, batch files, and what authors of guides write.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

GAP: Final = "\ue000"
"""Stands in a text for what is not known."""
_ANYWHERE: Final = re.compile(
    r"""
    \{\{.{0,200}?\}\}                 # {{ .Values.x }}, ${{ x }}
    | \ue000
    | \$\{[A-Za-z_][^{}\n]{0,200}\}         # ${X}, ${X:-1}, ${var.x}
    | \{%.{0,200}?%\} | %\{.{0,200}?\} | <%.{0,200}?%>  # Jinja, Terraform, ERB
    | \[\[.{0,200}?\]\] | \#\{[^{}\n]{1,200}\}    # other delimiters; ${{ }} of Azure's
    | @@[A-Za-z0-9_][A-Za-z0-9_.-]*@@ | %%[A-Za-z0-9_][A-Za-z0-9_.-]*%%
    | (?<![A-Za-z0-9_@])@[A-Z][A-Z0-9_]+@     # of autoconf and sed
    | (?<![A-Za-z0-9_])__[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*__(?![A-Za-z0-9_])
    | <[A-Za-z$][^<>\n]{0,200}>             # <name of the node>
    | \{replaced?[ ](?:with|by)[ ][^{}\n]{1,200}\}   # of MLflow's template of a Job
    | (?<=[A-Z0-9_])\|-[^\n]{1,200}?-\|   # NAME|-default-|
    """,
    re.VERBOSE,
)
_IN_A_WORD: Final = re.compile(
    r"\$[A-Za-z_][A-Za-z0-9_]*|\$\([A-Za-z_][A-Za-z0-9_.]*\)|(?<![A-Za-z0-9_{$])\{[A-Za-z_][A-Za-z0-9_.-]*\}|%[A-Z][A-Z0-9_]*%"
)
"""Of shells, kustomize and batch files. A sentence or a command has them too, and is kept."""
_WHOLE: Final = re.compile(
    r"""
    \.{2,} | … | \?+ | \*{2,} | [xX]{3,} | -{2,} | _{2,}
    | %[sdv]
    | \S+(?:[ ]\|[ ]\S+)+             # spot | on-demand
    | [A-Za-z0-9_./-]+(?:\|[A-Za-z0-9_./-]+)+
    | (?i:todo|tbd|fixme|changeme|replaceme|placeholder|n/a)
    | \S*\.\.\.                       # ami-0123..., Provisioner ...
    | \S+[ ](?:\.\.\.|…)
    """,
    re.VERBOSE,
)
_WORDS: Final = re.compile(
    r"""
    (?:^|[^A-Za-z0-9])
    (?: PLACE_?HOLDER | REPLACE(?:_?ME|_WITH|_THIS)? | CHANGE_?ME | CHANGE_THIS | YOUR | INSERT
      | TODO | TBD | FIXME | FILL_?ME | FILL_IN | SET_?ME | HERE )
    (?:$|[^A-Za-z0-9])
    | (?i: (?:^|[^a-z0-9])(?: your[-_][a-z] | (?:replace|change)[-_]?me(?![a-z])
      | (?<!gpu-)(?<!node-)(?<!user-)(?<!capacity-)placeholder(?![a-z])
      | (?:replace|insert|enter|put|fill)[-_](?:with|your|this|in|here) | [-_]here$ ) )
    """,
    re.VERBOSE,
)
_ALONE: Final = re.compile(r"\{{1,2}[ ]?[A-Za-z_.][A-Za-z0-9_.-]*[ ]?\}{1,2}")
_SIGN: Final = re.compile(r"[{$<%@\[#\ue000]|__|\|-")
"""What each of those has one of that may stand anywhere, so that one look tells most texts."""
_LONGEST_VALUE: Final = 4096
"""Characters; what is longer is no value that somebody would fill in."""
_SHORT: Final = 64
"""Characters of a text whose answer is kept, which bounds what all of them take."""
_WHOLE_SIGN: Final = re.compile(
    r"[|…]|\.\.|^[?*xX_%-]|^(?i:todo|tbd|fixme|change|replace|place|n/)"
)
_WORD_SIGN: Final = re.compile(
    r"(?i:place|repl|change|your|insert|enter|put|todo|tbd|fixme|fill|set_?me|here)"
)


_DEFAULT: Final = re.compile(r"(?<=[A-Z0-9_-])\|-[a-zA-Z]")
"""Begins `NAME|-key: value-|`, which YAML takes for a key of that name.

A script puts whole lines in its place (`g3k_kv_filter` of gen3/lib/g3k_manifest.sh in
uc-cdis/cloud-automation).
"""


def is_placeholder(text: str) -> bool:
    """Whether a text, or a part of it, is yet to be filled in.

    Of several lines it is kept: what it holds, such as a script, is full of signs of its own.
    """
    bare = text.strip()
    if not bare or "\n" in bare or len(bare) > _LONGEST_VALUE:
        return False
    return _is_sign(bare)


def kept_if_short(answer: Callable[[str], T]) -> Callable[[str], T]:
    """The same, with the answers about short texts kept: most of these stand in many places.

    A large repository asks a million times of a tenth as many texts.

    Args:
        answer: What is asked of a text, and hangs on nothing else.
    """
    kept = lru_cache(maxsize=16_384)(answer)
    return lambda text: kept(text) if len(text) <= _SHORT else answer(text)


@kept_if_short
def _is_sign(bare: str) -> bool:
    signed = _SIGN.search(bare) is not None
    if signed and _ANYWHERE.search(bare) is not None:
        return True
    if _WHOLE_SIGN.search(bare) is not None and _WHOLE.fullmatch(bare) is not None:
        return True
    if " " in bare or "\t" in bare:
        return False
    if signed and _IN_A_WORD.search(bare) is not None:
        return True
    return is_word(bare)


def is_key_alone(text: str) -> bool:
    """Whether a mapping of YAML is a sign such as `{user}`, which it takes for a key."""
    return _ALONE.fullmatch(text) is not None


def is_key_to_come(key: str) -> bool:
    """Whether a key of a mapping is yet to be filled in, so that there may be any others."""
    return GAP in key or "${" in key or "{{" in key or _DEFAULT.search(key) is not None


def is_word(text: str) -> bool:
    """Whether a text without blanks says of itself that it is yet to be filled in."""
    return _WORD_SIGN.search(text) is not None and _WORDS.search(text) is not None


_UNREADABLE: Final = re.compile(
    r"""
    (?P<before>(?:^|(?<=[\s,\[]))[ ]{0,80}|(?<=[:=-][ ]))
    (?P<sign>[A-Za-z0-9_./-]{0,80}
      (?:\{\{[^\n]{0,200}?\}\} | \{%[^\n]{0,200}?%\} | %\{[^\n]{0,200}?\} | <%[^\n]{0,200}?%>
      | \{[A-Za-z_][A-Za-z0-9_.-]{0,80}\} | \$\{[^{}\n]{1,200}\} | <[A-Za-z][^<>\n]{0,200}>
      | @@[A-Za-z0-9_][A-Za-z0-9_.-]*@@ | @[A-Za-z0-9_][A-Za-z0-9_.-]*@
      | %%[A-Za-z0-9_][A-Za-z0-9_.-]*%% | %[A-Za-z0-9_]+% | %[sdv]\b
      | (?<=[A-Z0-9_])\|-[^\n]{1,200}?-\|)
      | (?<=[ ])[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*_[A-Z0-9_-]*(?=[ \t]*\r?$)
    )
    (?P<rest>(?:[^\s,\]}\#:]|:(?=\S))*)
    """,
    re.VERBOSE | re.MULTILINE,
)
_LINE: Final = re.compile(
    r"^[ \t]*(?:\{\{-?[ ]*(?:/\*|if|else|end|range|with|define|template|block|fail|\$)"
    r"|\{%|\{\#|%\{|<%)",
    re.MULTILINE,
)
_MARKS: Final = re.compile(
    r"\{\{|\{%|%\{|<%|\$\{|\$[A-Z_]{2}|@@[A-Za-z0-9_]|@[A-Z][A-Z0-9_]+@|%[sdv]\b|%%?[A-Z][A-Za-z0-9_]*%"
    r"|(?<![A-Za-z0-9_$])\{[A-Za-z_][A-Za-z0-9_.-]*\}|<[A-Za-z][A-Za-z0-9_ .-]*>"
)
_NO_SCALAR: Final = re.compile(
    r"(?:^\s*(?:- )?|:\s+)(?:%\{|%[A-Za-z0-9_]+%|%[sdv]\b|@@?[A-Za-z][A-Za-z0-9_]*@"
    r"|\{[A-Za-z_][A-Za-z0-9_.-]*\}|\[\#)"
    r"|^\s*(?:- )?(?:\$\{|\$[A-Z]|<[A-Za-z%])"
)
"""Signs that begin what YAML takes for something else, and notices only later."""
_NO_VALUE: Final = re.compile(r":\s+(?:\[[A-Za-z][A-Za-z0-9_ -]*\][^\s,\]}\#]|\*{2,}\s*$)")
"""A value, or a part of one, that is yet to be filled in: `[name].example.com`, `*****`."""
_TOKEN: Final = re.compile(
    r"(?:[A-Za-z0-9_]:|[\"']|^\s*)[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*(?:_[A-Z0-9]+)+\s*$"
)
"""A word of a program of one's own, joined to what YAML has: `env:TOKEN_ENV`."""
LONGEST: Final = 256 * 1024
"""Characters of a document that is read as a template."""
_NEAR: Final = 3
"""Lines before that at which a parser notices something."""


_COMMENT: Final = re.compile(r"[ \t]*#[^\n]*|(?:[ \t]*\n)+(?P<indent>[ \t]+)#(?P<said>[^\n]*)")
_YAML: Final = re.compile(r"[ \t]*(?:- |[A-Za-z0-9_./\"'-]+:(?:[ \t]|$))")
"""What a comment has that keeps a part of the document for later."""


def is_comment_for_value(text: str, index: int, column: int) -> bool:
    """Whether a comment stands where a value would be, such as `price: # insert yours`.

    Args:
        text: The text.
        index: Where the value would begin.
        column: Blanks before the line's key.
    """
    found = _COMMENT.match(text, index)
    if found is None:
        return False
    if found["indent"] is None:
        return True
    return len(found["indent"]) > column and _YAML.match(found["said"]) is None


def with_gaps(text: str) -> str | None:
    """The same text with a word for each sign that YAML does not take; None if it has none.

    Every character keeps its place. Where a line decides whether others are there, the whole is not
    known: None as well.
    """
    if len(text) > LONGEST or _LINE.search(text):
        return None

    def gap(found: re.Match[str]) -> str:
        if _NAME.fullmatch(found["sign"]) and not _begins_line(text, found.start("sign")):
            return found[0]  # a value is one that is called so
        length = len(found["sign"]) + len(found["rest"])
        if _is_line(text, found):
            return f"{found['before']}{GAP * (length - 1)}:"  # as a key it keeps its neighbours
        return found["before"] + GAP * length

    made = _UNREADABLE.sub(gap, text)
    return None if made == text else made


_MORE: Final = re.compile(f"^[ ]*(?:{GAP}+:|- {GAP}+)[ \t]*\r?$", re.MULTILINE)


def has_more(text: str) -> bool:
    """Whether a text with gaps may have further keys or items in the place of one."""
    return _MORE.search(text) is not None


def indent_of(line: str) -> int:
    """How far a line is indented, in spaces."""
    return len(line) - len(line.lstrip(" "))


_KEY: Final = re.compile(r"[ ]*[A-Za-z0-9_./\"'-]+:(?:[ \t]|$)")
_INDENT: Final = re.compile(r"\bn?indent[ (]+([0-9]+)")
"""How far Helm and Jinja indent what they bring."""


_NAME: Final = re.compile(r"[A-Z0-9_-]+")
_OF_LINES: Final = re.compile(r"\$\{|\{\{|[A-Z][A-Z0-9_-]*(?:\|-[A-Za-z]|$)")
"""Begins what may stand for whole lines: `${more}`, `NAME|-key: value-|`, or a name alone."""
_BLOCK: Final = re.compile(r"(?<!-\|)(?<=[|>+-])\s*$")
"""Ends a line below which a text stands, or the rest of an item."""


def _begins_line(text: str, index: int) -> bool:
    """Whether nothing but blanks, or an item's sign, stands before a place in its line."""
    return not text[text.rfind("\n", 0, index) + 1 : index].strip(" -")


def _is_line(text: str, found: re.Match[str]) -> bool:
    """Whether a sign stands for whole lines among the keys of a mapping, as `${more}` may."""
    if found["rest"] or _OF_LINES.match(found["sign"]) is None:
        return False
    begin = text.rfind("\n", 0, found.start("sign")) + 1
    line = text[begin:].partition("\n")[0]
    if line.partition(" #")[0].strip() != found["sign"]:
        return False
    deeper = _INDENT.search(line)
    if deeper and int(deeper[1]) != indent_of(line):
        return False  # its lines are of another mapping than the one that it stands in
    above = text[:begin].rstrip().rpartition("\n")[2]
    below = next((each for each in text[begin:].splitlines()[1:] if each.strip()), "")
    if above.rstrip().endswith(":"):  # or is it the value of that key
        return indent_of(below) == indent_of(line) and _KEY.match(below) is not None
    return _BLOCK.search(above) is None


def has_signs(text: str) -> bool:
    """Whether a text has a sign that its syntax would not take, at any line."""
    return len(text) < LONGEST and (_MARKS.search(text) or _LINE.search(text)) is not None


def without_placeholders(value: Any) -> Any:
    """A plain value with `UNKNOWN` for what is yet to be filled in."""
    if isinstance(value, dict):
        return {key: without_placeholders(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_placeholders(item) for item in value]
    return UNKNOWN if isinstance(value, str) and is_placeholder(value) else value


def is_template(text: str, line: int) -> bool:
    """Whether a text that YAML does not take is a template.

    Args:
        text: The text.
        line: The line at which it is none, from 1.
    """
    if "{{" in text or _LINE.search(text) or _DEFAULT.search(text):
        return True
    lines = text.splitlines()
    here, before = lines[line - 1 : line], lines[max(0, line - 1 - _NEAR) : line - 1]
    return any(
        len(each) < LONGEST
        and (_MARKS.search(each) or _TOKEN.search(each) or _NO_VALUE.search(each))
        for each in here
    ) or any(
        len(each) < LONGEST and (_NO_SCALAR.search(each) or _TOKEN.search(each)) for each in before
    )
