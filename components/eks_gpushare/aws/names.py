"""Names in AWS that the provider makes of logical names, where those may be too long."""

_HASH = len("-1234567")
_AFTER_PREFIX = 26
"""The provider adds so many characters to a prefix, and here comes a hyphen before them."""


def prefix_of(name: str, longest: int) -> str | None:
    """The `namePrefix` of a resource whose logical name is too long; None leaves it to Pulumi.

    Args:
        name: Its logical name, of which Pulumi makes one with a random end.
        longest: Characters that AWS takes.
    """
    if len(name) + _HASH <= longest:
        return None
    return f"{name[: longest - _AFTER_PREFIX - 1]}-"
