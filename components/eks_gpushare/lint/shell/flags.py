"""Flags of a command line and what is no flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.manifests.shell.command import Word

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Line(NamedTuple):
    """The words behind a command, sorted."""

    plain: tuple[Word, ...]
    """Those that belong to no flag."""
    flags: tuple[tuple[str, Word], ...]
    """Name of each flag without dashes, with its value; of a switch the flag itself."""

    def last(self, *names: str) -> Word | None:
        """The value of a flag, which counts where it is given twice."""
        found = [word for name, word in self.flags if name in names]
        return found[-1] if found else None

    def every(self, *names: str) -> list[tuple[str, Word]]:
        """Each value of a flag that may be given several times."""
        return [(name, word) for name, word in self.flags if name in names]

    def has(self, *names: str) -> bool:
        """Whether a flag is given, and not as false."""
        found = self.last(*names)
        return found is not None and found.text.lower() != "false"


def sorted_words(
    words: Sequence[Word], switches: Collection[str], short: Mapping[str, str]
) -> Line:
    """Sort words into flags with their values, and the rest.

    Args:
        words: What follows the command.
        switches: Flags that take no value unless it is joined by `=`.
        short: Long names of flags with one letter.
    """
    plain: list[Word] = []
    flags: list[tuple[str, Word]] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        text = word.text
        if not text.startswith("-") or text in {"-", "--"}:
            plain.append(word)
            continue
        name, joined, value = text.lstrip("-").partition("=")
        if not text.startswith("--"):
            letter = name[:1]
            if len(name) > 1 and not joined:  # -nkube-system
                name, joined, value = letter, "=", name[1:]
            name = short.get(name, name)
        if joined:
            flags.append((name, Word(value, word.position)))
        elif name in switches or at >= len(words):
            flags.append((name, word))
        else:
            flags.append((name, words[at]))
            at += 1
    return Line(tuple(plain), tuple(flags))
