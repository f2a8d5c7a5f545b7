"""What the lab says when it cannot go on."""

from __future__ import annotations

NO_CRYPTOGRAPHY = (
    "the lab makes its certificates with the package cryptography, which is not installed: "
    "pip install 'eks-gpushare[lab]'"
)

NO_MOTO = (
    "the lab answers Karpenter in place of AWS with the package moto, which is not installed: "
    "pip install 'eks-gpushare[lab]'"
)


class LabError(Exception):
    """The lab cannot be built, started or reached.

    The text is for the user: what happened, what was wanted, and what to do about it.
    """


class NoGoError(LabError):
    """No Go toolchain is there, and none can be installed."""


class AlreadyUpError(LabError):
    """A lab of that name is up, or starting."""


class NoEngineError(LabError):
    """The Pulumi engine, or a plugin of it, is not installed."""
