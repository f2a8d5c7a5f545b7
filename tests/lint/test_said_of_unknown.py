"""What is not known has no name in a message, and two things that are not known are not the same.

The property: a placeholder in place of all that has one value in a wrong file. What is said then,
be it that or something else, names nothing that is yet to be filled in.
"""

from __future__ import annotations

import re

import lint_pages
import pytest
from tests.conftest import sampled

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

_VALUE = re.compile(r"(?<=[:\-,\[{] )[\"']?([A-Za-z0-9][A-Za-z0-9_./:=-]*)[\"']?(?=[ ]*[,}\]\n])")
_ARGUMENT = re.compile(r"= *\"([^\"$\n]+)\"")
_OF_A_PLAN = "aws_eks_cluster.gpu"
"""An address, which Terraform writes and nobody fills in."""


def unknown_in(text: str, value: str, sign: str) -> str:
    return re.sub(rf"(?<![\w./-]){re.escape(value)}(?![\w/-])", sign, text)


@pytest.mark.parametrize("code", sampled(lint_pages.codes(), 14))
def test_messages_name_nothing_that_is_not_known(code: str) -> None:
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in lint_pages.files_of(code, "bad")
    }
    is_terraform = any(name.endswith(".tf") for name in texts)
    sign, found = ("${var.it}", _ARGUMENT) if is_terraform else ("${IT}", _VALUE)
    values = {each for text in texts.values() for each in found.findall(text)} - {_OF_A_PLAN}
    for value in sorted(values):
        given = [GivenFile(name, unknown_in(text, value, sign)) for name, text in texts.items()]
        said = [f"{each.message} {each.fix}" for one in lint_files(given) for each in one.findings]

        # A key of it is told in parts.
        assert not any(type(UNKNOWN).__name__ in each for each in said), value


@pytest.mark.parametrize(("switch", "told"), [("true", False), ("${ON}", False), ("false", True)])
def test_a_switch_that_is_yet_to_be_filled_in_may_be_on(switch: str, told: bool) -> None:
    (path,) = lint_pages.files_of("GPU1073", "good")
    text = path.read_text(encoding="utf-8").replace("ASGTags: true", f"ASGTags: {switch}")
    (report,) = lint_files([GivenFile("cluster.yaml", text)])

    assert ("GPU1073" in {each.code for each in report.findings}) is told
