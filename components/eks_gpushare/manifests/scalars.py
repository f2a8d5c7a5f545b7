"""What a YAML scalar means to Kubernetes and Helm.

Both read YAML with sigs.k8s.io/yaml, which has the rules of go-yaml v2: `yes`, `on` and `y` are
true, dates are text, and keys of any kind become text.

Source: `goyaml.v2/resolve.go` of https://github.com/kubernetes-sigs/yaml, July 2025.
"""

from __future__ import annotations

from typing import Any, Final

from eks_gpushare.stack_file import scalars

_BOOLEANS: Final = {
    **{word: True for low in ("y", "yes", "on") for word in (low, low.title(), low.upper())},
    **{word: False for low in ("n", "no", "off") for word in (low, low.title(), low.upper())},
}
_FUNCTIONS: Final = frozenset(
    (
        *("And", "Base64", "Cidr", "Equals", "FindInMap", "GetAZs", "GetAtt", "If", "ImportValue"),
        *("Join", "Length", "Not", "Or", "Select", "Split", "Sub", "ToJsonString", "Transform"),
    )
)
"""https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html"""


def plain_scalar(text: str) -> Any:
    """The value of an unquoted, untagged scalar."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    scalar = scalars.resolve_plain(text)
    return text if scalar.kind == "timestamp" else scalar.value


def key_of_plain(text: str) -> str:
    """The key that an unquoted, untagged scalar is, as JSON has it."""
    value = plain_scalar(text)
    return str(value).lower() if isinstance(value, bool) else text


def tagged_scalar(tag: str, text: str) -> Any:
    """The value of a scalar with a tag; text where the tag is none of YAML's own."""
    name = tag.removeprefix(scalars.TAG_PREFIX)
    if name == "bool" and text in _BOOLEANS:
        return _BOOLEANS[text]
    scalar = scalars.resolve_tagged(name, text) if name in scalars.TAGS else None
    return text if scalar is None else scalar.value


def function_of(tag: str | None) -> str | None:
    """The long name of CloudFormation's function that a tag is short for."""
    name = (tag or "").removeprefix("!")
    if name in {"Ref", "Condition"}:
        return name
    return f"Fn::{name}" if name in _FUNCTIONS else None
