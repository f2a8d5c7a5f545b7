"""YAML that was copied from a page, with what the page added and lost."""

from __future__ import annotations

import yaml
from lint_corpus import found_in

from eks_gpushare.lint.copied import as_meant

PAGE = """\
kind: ConfigMap
\u25bc metadata:
  name: sharing
\u25bc data:
  config.json: |
  {
    "sharing": {
      "timeSlicing": {"resources": []}
    }
  }
  other: |
    {kept}
"""


def test_arrows_go_and_a_text_gets_its_indentation_back() -> None:
    meant = as_meant(PAGE)
    assert meant.count("\n") == PAGE.count("\n")
    read = yaml.safe_load(meant)
    assert read["metadata"] == {"name": "sharing"}
    assert yaml.safe_load(read["data"]["config.json"]) == {
        "sharing": {"timeSlicing": {"resources": []}}
    }
    assert read["data"]["other"] == "{kept}\n"


def test_right_yaml_stays_as_it_is() -> None:
    for text in ("a: |\n  {x}\n", "a: b\n", "a: |\n  text\nb: {c: d}\n", "", "a: |", "a: |\n"):
        assert as_meant(text) == text


def test_brackets_that_never_close_end_with_the_text() -> None:
    assert as_meant("a: |\n{\n{\n") == "a: |\n  {\n  {\n  "


def test_what_is_wrong_in_it_is_found_at_its_line() -> None:
    guide = (
        "```yaml\napiVersion: v1\nkind: ConfigMap\n\u25bc metadata:\n  name: p\n\u25bc data:\n"
        "  config.json: |\n  {\n"
        '    "sharing": {"timeSlicing": {"resources": [{"name": "gpu", "replicas": 2}]}}\n'
        "  }\n```\n"
    )
    assert [(each.line, each.code) for each in found_in({"guide.md": guide})] == [(8, "GPU1024")]
