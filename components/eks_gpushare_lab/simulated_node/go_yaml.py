"""YAML as sigs.k8s.io/yaml reads it, which all of NVIDIA's programs use."""

from __future__ import annotations

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """PyYAML with the numbers that Go's YAML package knows: 1e1 is one, and 12:30 is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":int", ":float"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in (
    ("int", r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
):
    _whole = re.compile(rf"(?:{_pattern})\Z")
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _whole, list("-+0123456789."))


def first_document(text: str) -> Any:
    """The first document of a text, None if there is none.

    Raises:
        yaml.YAMLError: If it is no YAML.
    """
    return next(yaml.load_all(text, Loader=_Loader), None)
