"""Where parts of texts and of collections are written, and what texts are made of."""

from __future__ import annotations

import pytest
from terraform_locals import locals_of

from eks_gpushare.lint.hcl.values import Place, place_in

WRITTEN = r"""
locals { first = "a${1}" }
locals {
  lines = <<-EOT
    a: ${local.value} b
    é: $${b} c
  EOT
  quoted = "a\nb $${c} d${1}"
  value  = "${1} b"
  keys   = {
    one = 2
  }
  file   = templatefile("t.tpl", { name = "N", xs = ["x"], b = true })
  values = templatefile("both.tpl", { x = 1, y = 2 })
  gaps   = templatefile("both.tpl", { x = 1, y = var.it })
}
"""
OF_JSON = """\
{
  "locals": {
    "json": "${1}\\na: $${b}",
    "inner": {"a": ["${1}"]},
    "mixed": "a ${1}"
  }
}
"""


@pytest.mark.parametrize(
    ("name", "at", "place"),
    [
        *(("first", (1, 1), ("main.tf", 2, 19)), ("lines", (1, 1), ("main.tf", 5, 5))),
        ("lines", (1, 4), ("main.tf", 5, 5)),  # the value of another is of no place of its own
        ("lines", (1, 8), ("main.tf", 5, 23)),
        *(("lines", (2, 1), ("main.tf", 6, 5)), ("lines", (2, 4), ("main.tf", 6, 8))),
        *(("lines", (2, 9), ("main.tf", 6, 14)), ("lines", (9, 1), ("main.tf", 6, 16))),
        *(("quoted", (1, 1), ("main.tf", 8, 13)), ("quoted", (1, 2), ("main.tf", 8, 14))),
        *(("quoted", (2, 1), ("main.tf", 8, 16)), ("quoted", (2, 8), ("main.tf", 8, 24))),
        *(("value", (1, 1), ("main.tf", 9, 17)), ("value", (1, 3), ("main.tf", 9, 18))),
        *(("file", (1, 4), ("t.tpl", 1, 1)), ("file", (2, 1), ("t.tpl", 3, 1))),
        ("values", (1, 2), ("both.tpl", 1, 2)),
        ("mixed", (1, 2), ("more.tf.json", 5, 5)),
        *(("json", (1, 1), ("more.tf.json", 3, 5)), ("json", (2, 4), ("more.tf.json", 3, 5))),
    ],
)
def test_where_a_part_of_a_text_is_written(
    name: str, at: tuple[int, int], place: tuple[str, int, int]
) -> None:
    """What one character is escaped by is counted too."""
    text = locals_of({"main.tf": WRITTEN, "more.tf.json": OF_JSON}).get(name)

    assert text.at(*at) == Place(*place)


def test_a_text_tells_what_it_is_made_of() -> None:
    local = locals_of({"main.tf": WRITTEN, "more.tf.json": OF_JSON})
    values, gaps, inner = (local.get(name) for name in ("values", "gaps", "inner"))

    assert (values, values.gaps, values.files) == ("12", False, {"both.tpl"})
    assert (gaps, gaps.gaps) == ("1${unknown}", True)
    assert place_in(local.get("keys"), "one") == Place("main.tf", 11, 5)
    assert place_in(inner, "a") == Place("more.tf.json", 4, 15)
    assert place_in(inner["a"], 0) == Place("more.tf.json", 4, 21)
