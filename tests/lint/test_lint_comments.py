"""Files that are mostly comments."""

from __future__ import annotations

import pytest

from eks_gpushare.manifests.texts import read_texts

HEAD = "# #### one # two ## three # four ###\n" * 200


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (HEAD, []),
        (f"{HEAD}---\n{HEAD}", []),
        (f"{HEAD}kind: Pod\n", [{"kind": "Pod"}]),
        (f"{HEAD}---\nkind: Pod\n---\n{HEAD}", [{"kind": "Pod"}]),
        ("%YAML 1.2\n---\n# # #\n...\n", []),
        ("---\r\n# a # b\r\n---\r\nkind: Pod\r\n", [{"kind": "Pod"}]),
        ("--- # a # b\nkind: Pod\n", [{"kind": "Pod"}]),
        (" \n\t\n# a", []),
        ("", []),
    ],
)
def test_comments_take_no_time(text: str, values: list[object]) -> None:
    """Each line with several # doubled the time once: two hundred would never end."""
    assert [each.value for each in read_texts(text, "f.yaml").documents] == values
