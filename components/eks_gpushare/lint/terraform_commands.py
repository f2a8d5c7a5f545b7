"""Commands that Terraform runs where it runs itself: `provisioner "local-exec"` of a resource.

https://developer.hashicorp.com/terraform/language/resources/provisioners/local-exec
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.rules.shell import BY_HAND
from eks_gpushare.lint.shell.reading import read_commands, read_of, too_large
from eks_gpushare.manifests.charts import within_values
from eks_gpushare.manifests.document import Document, Read
from eks_gpushare.manifests.plain import items
from eks_gpushare.manifests.shell.said import Said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Source

_SHELL: Final = re.compile(r"(?:\S*/)?(?:ba|da|z|k)?sh")


def commands_of(document: Document, place: FieldPath, given: Any) -> Iterator[Read]:
    """What the commands of a resource install, label and apply.

    Args:
        document: The document that the resource is, or stands in.
        place: The place of its values there.
        given: These.
    """
    for index, block in enumerate(items(at(given, "provisioner"))):
        command = at(block, "command")
        if not isinstance(command, str) or not _is_run(block):
            continue
        path = (*place, "provisioner", index, "command")
        file, begins = document.where(path)
        if document.origin is not None:
            begins = document.origin.first_line(path) or begins
        if (large := too_large(file, command)) is not None:
            yield large
            continue
        said = Said(file)
        read_commands(command, said, begins.line, begins.column)
        said.inner += [each for values in said.values for each in within_values(values)]
        yield _of_resource(_repeated(read_of(said, command)), document)


def _is_run(block: Any) -> bool:
    """Whether a shell runs it, and when the resource is made: `when` tells of its end."""
    interpreter = at(block, "interpreter")
    first = "sh" if interpreter is None else at(block, "interpreter", 0)
    return at(block, "when") is None and bool(_SHELL.fullmatch(str(first)))


def _repeated(read: Read) -> Read:
    """What is put on nodes as a note: with new nodes Terraform may make the resource anew."""
    judgements = [
        replace(each, severity="info")
        if isinstance(each, Problem) and each.rule is BY_HAND
        else each
        for each in read.judgements
    ]
    return read._replace(judgements=judgements)


def _of_resource(read: Read, of: Document) -> Read:
    """What was read as a part of the root module that makes the resource."""
    made: dict[int, Document] = {}

    def placed(document: Document) -> Document:
        if id(document) not in made:
            is_optional = document.is_optional or of.is_optional
            made[id(document)] = replace(document, build=of.build, is_optional=is_optional)
        return made[id(document)]

    def of_it(source: Source) -> Source:
        return replace(source, document=placed(source.document))

    return Read(
        [replace(each, source=of_it(each.source)) for each in read.items],
        [replace(each, source=of_it(each.source)) for each in read.judgements],
        [*map(placed, read.inner)],
    )
