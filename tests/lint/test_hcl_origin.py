"""Where values that expressions have made are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.lint.hcl.origin import HclOrigin, hcl_document
from eks_gpushare.lint.hcl.values import HclList, HclObject, Place, Text

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath

RESOURCE = Place("main.tf", 1, 1)
LISTED = Place("main.tf", 9, 5)
WRITTEN = "config:\n  map: {}\n"


def in_template(line: int, column: int) -> Place:
    """What it begins with is of a template, and what follows of the file that it is for."""
    is_first = (line, column) == (1, 1)
    return Place("values.tftpl" if is_first else "main.tf", line + 10, column + 2)


VALUE = HclObject(
    {
        "listed": HclList(["a"], [LISTED]),
        "plain": "{a: 1}",
        "template": Text(WRITTEN, in_template),
        "here": Text(WRITTEN, lambda line, column: Place("main.tf", line + 3, column + 4)),
        "json": Text('{"a": 1}', encoded=HclObject({"a": 1}, {"a": LISTED})),
        "base64": Text("YTogMQ==", encoded="a: 1"),
    }
)
ORIGIN = HclOrigin(VALUE, RESOURCE, "live")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("listed", 0), LISTED),
        (("listed", 1), RESOURCE),
        (("gone", "below"), RESOURCE),
        (("template", "config", "map"), Place("main.tf", 12, 5)),
        (("json", "a"), LISTED),
        (("base64", "a"), RESOURCE),
    ],
)
def test_what_is_not_there_stands_where_the_nearest_above_it_does(
    path: FieldPath, place: Place
) -> None:
    assert ORIGIN.where(path) == (place.file, Position(place.line, place.column))


@pytest.mark.parametrize(
    ("path", "value", "file", "line"),
    [
        (("plain",), {"a": 1}, "main.tf", 1),
        (("template",), {"config": {"map": {}}}, "values.tftpl", 11),
        (("json",), {"a": 1}, "main.tf", 1),
        (("base64",), "YTogMQ==", "main.tf", 1),
    ],
)
def test_a_text_is_read_and_never_written_back(
    path: FieldPath, value: Any, file: str, line: int
) -> None:
    texts = ORIGIN.texts(path)

    assert texts is not None
    (document,) = texts.documents
    assert (document.value, document.file, document.build) == (value, file, "live")
    assert document.position(()).line == line
    assert not document.editable


@pytest.mark.parametrize("path", [(), ("listed",), ("gone",), ("template", "config")])
def test_what_is_no_text_has_no_documents(path: FieldPath) -> None:
    assert ORIGIN.texts(path) is None


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("here",), Position(4, 5)),
        (("template",), None),
        (("plain",), None),
        (("json",), None),
        (("here", "config"), None),
    ],
)
def test_the_first_line_is_known_where_it_stands_in_the_same_file(
    path: FieldPath, place: Position | None
) -> None:
    assert ORIGIN.first_line(path) == place


@pytest.mark.parametrize(("address", "above"), [("aws_eks_cluster.a", 1), ("", 0)])
def test_a_resource_is_a_document_at_its_address(address: str, above: int) -> None:
    document = hcl_document(address, VALUE, RESOURCE, "live")

    assert document.at == (address,) * above
    assert not document.editable
