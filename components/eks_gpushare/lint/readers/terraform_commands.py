"""Commands that Terraform runs where it runs itself: `provisioner "local-exec"` of a resource.

https://developer.hashicorp.com/terraform/language/resources/provisioners/local-exec
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.origin import HclOrigin
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.rules.shell import BY_HAND
from eks_gpushare.manifests.document import Document, Read
from eks_gpushare.manifests.plain import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.inventory.source import Source

_SHELL: Final = re.compile(r"(?:\S*/)?(?:ba|da|z|k)?sh")
_OF_SOME_CLUSTER: Final = re.compile(
    r"--kube-?config\b|--kube-context\b|--context\b|\buse-context\b|\bKUBECONFIG\b"
)
"""How commands choose among clusters."""


def commands_of(
    document: Document, place: FieldPath, given: Any, *, of_several: bool
) -> Iterator[Read]:
    """What the commands of a resource install, label and apply.

    Args:
        document: The document that the resource is, or stands in.
        place: The place of its values there.
        given: These.
        of_several: Whether there are several clusters that it may be for.
    """
    for index, block in enumerate(items(at(given, "provisioner"))):
        command, origin = at(block, "command"), document.origin
        if not isinstance(command, str) or not isinstance(origin, HclOrigin) or not _is_run(block):
            continue
        file, position = origin.within((*place, "provisioner", index, "command"))
        chooses = _OF_SOME_CLUSTER.search(f"{command} {at(block, 'environment')}") is not None
        is_optional = document.is_optional or of_several or chooses
        placed = _Placed(document.build, position, is_optional=is_optional)
        yield placed.read(_repeated(ShellReader().read(file, command)))


def _is_run(block: Any) -> bool:
    """Whether a shell runs it, and when the resource is made: `when` tells of its end."""
    interpreter = [str(word) for word in items(at(block, "interpreter"))] or ["sh"]
    if interpreter[0].endswith("/env"):
        del interpreter[0]
    is_shell = _SHELL.fullmatch(interpreter[0] if interpreter else "") is not None
    return at(block, "when") is None and at(block, "interpreter") is not UNKNOWN and is_shell


def _repeated(read: Read) -> Read:
    """What is put on nodes as a note: with new nodes Terraform may make the resource anew."""
    judgements = [
        replace(each, severity="info")
        if isinstance(each, Problem) and each.rule is BY_HAND
        else each
        for each in read.judgements
    ]
    return read._replace(judgements=judgements)


class _Placed:
    """Documents of commands as parts of the root module that runs these.

    Args:
        build: The root module.
        position: Gives the place of a place in the commands.
        is_optional: Whether they need not be there, or be of its one cluster.
    """

    def __init__(
        self, build: str, position: Callable[[Position], Position], *, is_optional: bool
    ) -> None:
        self._build, self._is_optional, self._position = build, is_optional, position
        self._made: dict[int, Document] = {}

    def read(self, read: Read) -> Read:
        """The same with documents that are so placed."""
        return Read(
            [replace(each, source=self._source(each.source)) for each in read.items],
            [replace(each, source=self._source(each.source)) for each in read.judgements],
            [*map(self._document, read.inner)],
        )

    def _source(self, source: Source) -> Source:
        return replace(source, document=self._document(source.document))

    def _document(self, document: Document) -> Document:
        if id(document) not in self._made:
            inner = document.position
            self._made[id(document)] = replace(
                document,
                build=self._build,
                is_optional=document.is_optional or self._is_optional,
                position=lambda path: self._position(inner(path)),
            )
        return self._made[id(document)]
