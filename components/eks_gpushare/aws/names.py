"""Names in AWS where logical ones are too long for it, and logical ones of what AWS names."""

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


def principal_name(arn: str) -> str:
    """A name for an access entry, of its own for every ARN: `111122223333-role/Platform`."""
    account, _, principal = arn.split(":", 4)[4].partition(":")
    return f"{account}-{principal}"
