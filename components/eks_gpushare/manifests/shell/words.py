"""Splitting shell text into commands, with the place of each word.

This is no shell: nothing is run, and what only running would tell (variables that are not set in
the text, substitutions, placeholders such as `<node>`) is a gap in the word.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.placeholders import GAP, is_placeholder, kept_if_short
from eks_gpushare.manifests.shell.blocks import BEFORE_COMMAND, Blocks
from eks_gpushare.manifests.shell.chains import LEAVING, Chains
from eks_gpushare.manifests.shell.command import Command, Heredoc, Word
from eks_gpushare.manifests.shell.functions import DEFINES, Functions, ways_of
from eks_gpushare.manifests.shell.own_folder import folder_asked_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping

    from eks_gpushare.manifests.shell.blocks import Arm

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)\+?=(?P<value>.*)", re.DOTALL)
_IF_UNSET: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*):?=(?P<value>.*)", re.DOTALL)
_PLACEHOLDER: Final = re.compile(r"<[A-Za-z][A-Za-z0-9_. /'-]{0,60}>(?![<>])")
_HEREDOC: Final = re.compile(
    r"<<(?P<dash>-?)[ \t]*(?P<word>'[^'\n]*'|\"[^\"\n]*\"|\\?[A-Za-z0-9_.-]+)"
)
_BLANK: Final = re.compile(r"[ \t\r]+")
_ORDINARY: Final = re.compile(r"(?:[^ \t\r\n;&|()<>\\'\"$`{]|\{(?![{%]))+|\{")
_QUOTED: Final = re.compile(r"[^\"\\$`]+")
_SINGLE: Final = re.compile(r"'[^']*'?")
_BACKTICKS: Final = re.compile(r"`(?:\\.|[^`\\])*`?", re.DOTALL)
_ANSI: Final = re.compile(r"\$'(?:\\.|[^'\\])*'?", re.DOTALL)
_ARITHMETIC: Final = re.compile(r"\(\([^\n]*?\)\)")
_BOTH: Final = re.compile(r"&>>?[ \t]*")
_APART: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
"""What brackets do not count in."""
_ENDS_ARM: Final = re.compile(r";;(?!&)")
_COMMENT: Final = re.compile(r"#[^\n]*")
_LINE: Final = re.compile(r"[^\n]*\n?")
_OUTPUT: Final = re.compile(r"[0-9]?>>?(&[0-9-]|\|)?[ \t]*")
_REDIRECTS: Final = "<>0123456789"
_PARTS: Final = re.compile(r"[^=,\n]+")
_TEMPLATE: Final = re.compile(r"\{\{[^\n]{0,300}?\}\}|\{%[^\n]{0,300}?%\}|<%[^\n]{0,300}?%>")
_EMPTY: Final = re.compile(r"\([ \t]*\)")
_CONFIG: Final = "KUBECONFIG"
_JOINING: Final = ("&&", "||")
_LONGEST_TEST: Final = 1_000
_APPENDED: Final = re.compile(r">>[ \t]*([^\s;&|<>()]+)[^\n]*\n?([^\n]*)", re.ASCII)
_MOST_COMMANDS: Final = 20_000


@kept_if_short
def _gapped(text: str) -> str:
    """A word with a gap for each part of it that is yet to be filled in."""

    def part(found: re.Match[str]) -> str:
        is_list = found[0].startswith("{")  # of --set
        word = found[0]
        filled = is_list or GAP in word or "$" in word  # which the shell has seen to
        return word if filled or not is_placeholder(word) else GAP

    return text if text.startswith("-") and "=" not in text else _PARTS.sub(part, text)


def commands(
    text: str, variables: MutableMapping[str, str], line: int = 1, column: int = 1
) -> Iterator[Command]:
    """The commands of a text.

    Args:
        text: Shell text.
        variables: Values of variables that are known; those that the text sets are added.
        line: Line of the file at which the text begins.
        column: Column of the file at which its first line begins.
    """
    ways: dict[str, tuple[Arm, ...]] = {}
    if DEFINES.search(text):
        ways = ways_of(list(_Scanner(text, dict(variables), line, column, {}).run()), line)
    found = _Scanner(text, variables, line, column, ways).run()
    for command in islice(found, _MOST_COMMANDS):
        if command.words or command.heredoc:
            yield command


def _take_assignments(command: Command, blocks: Blocks) -> None:
    """Remember `NAME=value` before a command, or of `export`, and drop what is no command."""
    words = command.words
    while words and words[0].text in BEFORE_COMMAND:
        del words[0]
    if words and words[0].text in {"export", "local", "readonly", "declare"}:
        del words[0]
        for word in words:
            if matched := _ASSIGNMENT.fullmatch(word.text):
                blocks.give(matched["name"], matched["value"])
        words.clear()
        return
    own: dict[str, str] = {}
    while words and (matched := _ASSIGNMENT.fullmatch(words[0].text)):
        own[matched["name"]] = matched["value"]
        del words[0]
    if _CONFIG in own and words:  # for this command alone
        command.kubeconfig = own.pop(_CONFIG)
    for name, value in own.items():
        blocks.give(name, value)


class _Scanner:
    """Goes through a text once."""

    def __init__(
        self,
        text: str,
        variables: MutableMapping[str, str],
        line: int,
        column: int,
        ways: Mapping[str, tuple[Arm, ...]],
    ) -> None:
        self._text, self._variables = text, variables
        self._at, self._line, self._column = 0, line, column
        self._command = Command()
        self._waiting: list[tuple[Command, str, bool, bool]] = []
        self._blocks = Blocks(variables)
        self._functions = Functions(self._blocks)
        self._chains = Chains(self._blocks)
        self._began = 0
        self._ways = ways
        self._hangs_on = False
        """Whether the command before decides whether the next one runs."""

    def run(self) -> Iterator[Command]:
        """The commands, those of a line once what follows the line is read."""
        line: list[Command] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "\n":
                self._skip(1)
                line.append(self._finish(char))
                self._read_heredocs()
                yield from line
                line.clear()
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in {"\n", "\r"}:
                self._skip(3 if self._text[self._at + 1 : self._at + 3] == "\r\n" else 2)
            elif char in " \t\r":
                self._run(_BLANK)
            elif char == "#":
                self._run(_COMMENT)
            elif char == "(" and _ARITHMETIC.match(self._text, self._at):
                self._run(_ARITHMETIC)
            elif char == "&" and _BOTH.match(self._text, self._at):
                self._run(_BOTH)
                self._text_of_word()
            elif char in ";&|()":
                line.append(self._operator(char))
            elif char not in _REDIRECTS or not self._redirection():
                self._word()
        line.append(self._finish(""))
        self._read_heredocs()
        yield from line

    def _operator(self, char: str) -> Command:
        """Take a sign that ends a command; of two of them the second ends one without words."""
        self._command.is_piped = char == "|" != self._text[self._at + 1 : self._at + 2]
        ends_arm = _ENDS_ARM.match(self._text, self._at) is not None
        words, signs = self._command.words, self._text[self._at : self._at + 2]
        if char == "(" and _EMPTY.match(self._text, self._at) and self._functions.define(words):
            words.clear()
        behind = [word.text for word in words[-1:]]
        first = [word for word in words if word.text not in BEFORE_COMMAND][:1]
        written = self._text[self._began : self._at]
        self._skip(1)
        ended = self._finish(signs if signs in _JOINING else char)
        if first and signs in _JOINING:
            self._chains.join(signs, first[0], written)
        self._blocks.pass_bracket(char, behind)
        self._hangs_on |= char == "|" or signs == "&&"
        if ends_arm:
            self._blocks.next_arm("case")
        return ended

    def _finish(self, by: str) -> Command:
        """End a command.

        Args:
            by: The sign that ends it; empty at the end of the text.
        """
        done, self._command = self._command, Command()
        self._blocks.end_command()
        done.function = self._functions.current
        ways = self._ways.get(done.function, ())
        done.arms = (*ways, *self._blocks.arms, *self._chains.arms)
        if done.words:
            is_exit = done.words[0].text == "exit" and done.words[0].position.column == 1
            if self._leaves(done) and by in "\n;":
                self._blocks.leave()
            is_run = self._blocks.is_outside and not self._hangs_on
            done.ends = is_exit and is_run and by in "\n;"
            self._hangs_on = False
            if by in ("\n", ";", "&", ""):
                self._chains.end(done.words)
        if done.words and done.words[0].text == "read":
            self._blocks.ask()
        _take_assignments(done, self._blocks)
        done.kubeconfig = done.kubeconfig or self._variables.get(_CONFIG, "")
        return done

    def _leaves(self, command: Command) -> bool:
        """Whether nothing of its function, or of the text, runs behind a command."""
        first = next((w.text for w in command.words if w.text not in BEFORE_COMMAND), "")
        return first in LEAVING and not self._hangs_on

    def _skip(self, count: int) -> None:
        last = self._text.rfind("\n", self._at, self._at + count)
        if last < 0:
            self._column += count
        else:
            self._line += self._text.count("\n", self._at, self._at + count)
            self._column = self._at + count - last
        self._at += count

    def _run(self, pattern: re.Pattern[str]) -> str:
        """Take all characters of a kind, at least one."""
        matched = pattern.match(self._text, self._at)
        run = matched[0] if matched else self._text[self._at]
        self._skip(len(run))
        return run

    def _redirection(self) -> bool:
        """Take a redirection if one stands here."""
        if matched := _HEREDOC.match(self._text, self._at):
            word = matched["word"]
            literal = word[0] in "'\"\\"
            delimiter = word.strip("'\"").lstrip("\\")
            self._waiting.append((self._command, delimiter, bool(matched["dash"]), literal))
            self._skip(len(matched[0]))
            return True
        if self._text.startswith("<<<", self._at):
            self._skip(3)
            return True
        if self._text[self._at] == "<":
            if any(sign.match(self._text, self._at) for sign in (_PLACEHOLDER, _TEMPLATE)):
                return False
            self._skip(1)
            return True
        if matched := _OUTPUT.match(self._text, self._at):
            self._skip(len(matched[0]))
            if not matched[1]:
                start = self._at
                target = self._text_of_word()
                if matched[0][0] == ">" and GAP not in target:
                    self._command.writes = target
                if matched[0].strip() == ">":
                    self._command.goes_on = self._adds_to(self._text[start : self._at])
            return True
        return False

    def _adds_to(self, file: str) -> bool:
        """Whether what follows adds to a file that is begun here, other than whole documents."""
        return self._added.get(file, -1) >= self._at

    @cached_property
    def _added(self) -> dict[str, int]:
        """Where the text adds last to each file by what is no whole document."""
        return {
            found[1]: found.start()
            for found in _APPENDED.finditer(self._text)
            if found[2].lstrip(" \t")[:3] != "---"
        }

    def _word(self) -> None:
        start, groups = Position(self._line, self._column), self._blocks.groups
        if not self._command.words:
            self._began = self._at
        word = Word(_gapped(self._text_of_word()), start)
        self._command.words.append(word)
        self._blocks.pass_word(*word)
        if word.text in {"if", "elif"}:
            rest = self._text[self._at : self._at + _LONGEST_TEST]
            asked = rest.partition("\n")[0].partition("then")[0]
            self._blocks.hold(self._chains.asked(asked))
        elif self._blocks.groups > groups:
            self._chains.enter()
        elif self._blocks.groups < groups:
            self._chains.leave()
        if self._functions.pass_word(self._command.words):
            self._command.words.clear()

    def _text_of_word(self) -> str:  # noqa: C901, PLR0912  (one a character)
        made: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\n;&|()":
                break
            if char in "{<" and (matched := _TEMPLATE.match(self._text, self._at)):
                made.append(GAP)
                self._skip(matched.end() - self._at)
            elif char == "<":
                matched = _PLACEHOLDER.match(self._text, self._at)
                if matched is None:
                    break
                made.append(GAP)
                self._skip(matched.end() - self._at)
            elif char == ">":
                break
            elif char == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                if following not in {"\n", "\r"}:
                    made.append(following)
                    self._skip(2)
                else:
                    break
            elif char == "'":
                made.append(self._run(_SINGLE)[1:].removesuffix("'"))
            elif char == '"':
                made.append(self._double())
            elif self._text.startswith("$'", self._at):
                made.append(self._run(_ANSI)[2:].removesuffix("'"))
            elif char in "$`":
                made.append(self._expansion())
            else:
                made.append(self._run(_ORDINARY))
        return "".join(made)

    def _double(self) -> str:
        self._skip(1)
        made: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._skip(1)
                break
            if char == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                if following not in {'"', "\\", "$", "`", "\n"}:
                    made.append("\\")
                made.append("" if following == "\n" else following)
                self._skip(2)
            elif char in "$`":
                made.append(self._expansion())
            else:
                made.append(self._run(_QUOTED))
        return "".join(made)

    def _expansion(self) -> str:
        """What stands for a variable or a substitution: its value if it is known, or a gap."""
        text = self._text
        if text[self._at] == "`":
            return folder_asked_for(self._run(_BACKTICKS).strip("`"), self._variables) or GAP
        following = text[self._at + 1 : self._at + 2]
        if following in {"(", "{"}:
            inner = self._bracketed(following)
            if following == "{" and (matched := _NAME.fullmatch(inner)):
                return self._variables.get(matched[0], GAP)
            matched = _IF_UNSET.fullmatch(inner) if following == "{" else None
            if matched and self._variables.get(matched["name"], "") != matched["value"]:
                # The text does not hold it for certain that it has a value.
                self._blocks.give(matched["name"], GAP)
            folder = folder_asked_for(inner, self._variables) if following == "(" else None
            return folder or GAP
        matched = _NAME.match(text, self._at + 1)
        if matched is None:
            self._skip(2 if following and following in "0123456789@#?*!$-" else 1)
            return GAP if following and following in "0123456789@#?*!-" else "$"
        self._skip(matched.end() - self._at)
        return self._variables.get(matched[0], GAP)

    def _bracketed(self, opening: str) -> str:
        closing = {"(": ")", "{": "}"}[opening]
        depth, at = 0, self._at + 1
        while at < len(self._text):
            if opening == "(" and (quoted := _APART.match(self._text, at)):
                at = quoted.end()
                continue
            depth += (self._text[at] == opening) - (self._text[at] == closing)
            if not depth:
                break
            at += 1
        inner = self._text[self._at + 2 : at]
        self._skip(min(at + 1, len(self._text)) - self._at)
        return inner

    def _read_heredocs(self) -> None:
        for command, delimiter, dashed, literal in self._waiting:
            begins, lines = self._line, []
            while self._at < len(self._text):
                line = self._run(_LINE).rstrip("\r\n")
                bare = line.lstrip("\t") if dashed else line
                # Documentation often indents the delimiter, which a shell would not take.
                if bare.strip() == delimiter:
                    break
                lines.append(bare)
            command.heredoc = Heredoc("\n".join([*lines, ""]), begins, literal)
        self._waiting.clear()
