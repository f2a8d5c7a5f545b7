"""Lines of templates that decide whether others are there, and what stands in their place."""

from __future__ import annotations

import pytest

from eks_gpushare.manifests.control_lines import Uncontrolled, without_control_lines
from eks_gpushare.manifests.placeholders import GAP, LONGEST, with_gaps


def made(text: str) -> str | None:
    """The text with `+` for what is not known, and nothing at the ends of lines."""
    found = without_control_lines(text)
    if found is None:
        return None
    assert len(found.text) == len(text)
    plain = found.text.replace(GAP, "+")
    lines = [line.rstrip(" ") for line in plain.split("\n")]
    return ("?" if found.is_all_enclosed else "") + "\n".join(line for line in lines if line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Keys and items, by what they are indented.
        ("a: 1\n{{ if x }}\nb: 2\n{{ end }}\nc: 3", "a: 1\n+++++++++:\nc: 3"),
        ("a:\n  {{- if x }}\n  b: 2\n  {{- end }}\n  c: 3", "a:\n  ++++++++++:\n  c: 3"),
        ("a:\n{{- if x }}\n    b: 2\n{{- end }}\n    c: 3", "a:\n    ++++++:\n    c: 3"),
        ("a:\n{{- if x }}\n  - b\n{{- end }}\n  - c", "a:\n  - +++++++\n  - c"),
        ("a:\n{{- if x }}\n  -\n    b: 1\n{{- end }}\n  - c", "a:\n  - +++++++\n  - c"),
        ("a: 1\n{{if x}}\n'b': 2\n\"c\":3\n{{end}}", "a: 1\n+++++++:"),
        # The line that opens is too short for how far they are indented.
        (
            "a:\n  b:\n    c:\n{{if x}}\n        d: 1\n{{end}}\n        e: 2",
            "a:\n  b:\n    c:\n        +++:\n        e: 2",
        ),
        ("a:\n  b:\n{{if x}}\n      d: 1\n{{end}}", "a:\n  b:\n      +:"),
        ("a:\n  b:\n{{if x}}\n     - d\n{{end}}", "a:\n  b:\n     - +"),
        # Which of several holds, and what is within another.
        ("a: 1\n{% if x %}\nb: 2\n{% else %}\nb: 3\n{% endif %}", "a: 1\n+++++++++:"),
        ("a: 1\n{% if x %}\n{% for y in z %}\nb: 2\n{% endfor %}\n{% endif %}", "a: 1\n+++++++++:"),
        (
            "a: 1\n{% if x %}\nb: 2\n{% endif %}\nc: 3\n{% if y %}\nd: 2\n{% endif %}\ne: 3",
            "a: 1\n+++++++++:\nc: 3\n+++++++++:\ne: 3",
        ),
        # Of values that a program brings.
        (
            "a:\n  {{- with x }}\n  {{- toYaml . | nindent 2 }}\n  {{- end }}\nb: 1",
            "a:\n  +++++++++++++\nb: 1",
        ),
        ("a:\n  {{- with x }}\n  {{- toYaml . | nindent 2 }}\n  {{- end }}", "a:\n  +++++++++++++"),
        (
            "a:\n  {{- with x }}\n  {{- toYaml . | nindent 2 }}\n  {{- end }}\n  b: 1",
            "a:\n  ++++++++++++:\n  b: 1",
        ),
        (
            "a:\n  c: 2\n  {{- with x }}\n  {{- toYaml . }}\n  {{- end }}\nb: 1",
            "a:\n  c: 2\n  ++++++++++++:\nb: 1",
        ),
        (
            "a:\n{{- with x }}\n{{ toYaml . | indent 4 }}\n{{- end }}\nb: 1",
            "a:\n    +++++++++\nb: 1",
        ),
        (
            "a:\n  {{- with x }}\n  b:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}",
            "a:\n  ++++++++++++:",
        ),
        # A condition within one line, and one that holds nothing.
        ("a: 1\n{% if x %}b: 2{% endif %}\nc: 3", "a: 1\n++++++++++++++++++++++++:\nc: 3"),
        ("a: 1\nb: {% if x %}2{% endif %}\nc: 3", "a: 1\nb: {% if x %}2{% endif %}\nc: 3"),
        ("a: 1\n{% if x %}{% endif %}\nc: 3", "a: 1\nc: 3"),
        ("a: 1\n{{ if x }}\n# b: 2\n{{ end }}\nc: 3", "a: 1\nc: 3"),
        # What says nothing of others.
        ("a: 1\n{{- $x := 1 }}\n{% set y = 1 %}\n{{ fail }}\n{{! b }}\nc: 3", "a: 1\nc: 3"),
        ("a: 1\n{{- /* b\n  c */ -}}\n{# d\n e #}\n{{!-- f --}}\ng: 3", "a: 1\ng: 3"),
        ("a: 1\n{# b", "a: 1\n{# b"),
        ("a: 1\n{{/* b }}", "a: 1\n{{/* b }}"),
        ("a: 1\n{{/* b */", "a: 1\n{{/* b */"),
        ("{#a#}\nb: 1", "b: 1"),
        ("a: 1\n# {{ if x }}\nb: 2", "a: 1\n# {{ if x }}\nb: 2"),
        ("a: {{ x }}\nb: 2", "a: {{ x }}\nb: 2"),
        ("a: 1\n{{ x }}\nb: 2", "a: 1\n{{ x }}\nb: 2"),
        # All of a document.
        ("{{ if x }}\na: 1\nb: 2\n{{ end }}", "?a: 1\nb: 2"),
        ("---\n# c\n{{ if x }}\na: 1\n{{ end }}\n# d\n", "?---\n# c\na: 1\n# d"),
        ("{{ if x }}\na: 1\n", "?a: 1"),
        ("a: 1\n{{ end }}\n", "?a: 1"),
        ("a: 1\n{{ else }}\n", "?a: 1"),
        ("{{ else }}\na: 1\n", "?a: 1"),
        ("{{ if x }}\n{{ if y }}\na: 1\n{{ end }}\n{{ end }}", "?a: 1"),
        (
            "{{ if x }}\na: 1\n{{ if y }}\nb: 1\n{{ end }}\nc: 1\n{{ end }}",
            "?a: 1\n+++++++++:\nc: 1",
        ),
        ("{{ define x }}\na: 1\n{{ end }}", "+++++++++++++:"),
        ("{{ if x }}\na: 1\n{{ end }}\nb: 2", "+++++++++:\nb: 2"),
        ("a: 1\n{{ if x }}\nb: 1\n{{ end }}", "a: 1\n+++++++++:"),
        # Neither keys nor items, or not whole.
        ("a: 1\n{{ end }}\nb: 2", None),
        ("a: 1\n{{ else }}\nb: 2", None),
        ("a: 1\n{{ if x }}\nb: 2\n", None),
        ("a: 1\n{{ if x }}\n  b: 2\nc: 2\n{{ end }}", None),
        ("a: 1\n{{ if x }}\nb: 2\n- c\n{{ end }}", None),
        ("a: 1\n{{ if x }}\ntext\n{{ end }}", None),
        ("a: 1\nb: {{ if x }}\nc: 2\n{{ end }}", None),
        ("a: 1\n{{ if x }} b: 2\nc: 2\n{{ end }}", None),
        ("a: 1\n{{if x}}\n        - d\n{{end}}\n", "a: 1\n        - +"),
        ("a: 1\n{{if x}}\n            -\n{{end}}\n", None),
    ],
)
def test_what_stands_in_their_place(text: str, expected: str | None) -> None:
    assert made(text) == expected
    if expected is not None:
        windows = without_control_lines(text.replace("\n", "\r\n"))
        plain = without_control_lines(text)
        assert windows is not None
        assert plain is not None
        assert windows.text.replace("\r\n", "\n") == plain.text


def test_what_is_larger_than_a_template_is_left_as_it_is() -> None:
    text = "{{ if x }}\n" + "a: 1\n".ljust(LONGEST, "#")

    assert without_control_lines(text) == Uncontrolled(text, is_all_enclosed=False)
    assert with_gaps(text) is None
    assert without_control_lines(text[:LONGEST]) != Uncontrolled(
        text[:LONGEST], is_all_enclosed=False
    )
