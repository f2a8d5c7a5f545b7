"""How to comply, in the words of what somebody wrote: a stack file, `pulumi_eks` or raw resources.

A cluster or node group stands in the state as what AWS gets, whoever wrote it, and is judged there:
one fact is said once. Of which component it comes tells the chain of types in its URN.
"""

from __future__ import annotations

from dataclasses import dataclass

_OURS = "eks-gpushare:index:"
_EKS = "eks:index:"
_EKS_CLUSTER_SUFFIX = "-eksCluster"

OWN_TEMPLATE = "A ManagedNodeGroup needs a launch template of yours for it (`launchTemplate`)."
"""Of what the component gives EKS no word about."""
BY_TRANSFORM = "by `transforms` in its options, since pulumi_eks has no property for it"
"""How what a component makes gets what the component has no property for."""
ALWAYS = (
    "Nodes made from a stack file always have it: remove what takes it away, such as a transform."
)
"""Of what a stack file cannot take away."""


def _types(urn: str) -> list[str]:
    """The types of a resource and of what is above it, out of `<stack>::<project>::<types>::`."""
    types = urn.split("::")[2:]
    return types[0].split("$") if types else []


def is_ours(urn: str) -> bool:
    """Whether a resource is made by a component of this project, or is one."""
    return any(type_.startswith(_OURS) for type_ in _types(urn))


def is_of_pulumi_eks(urn: str) -> bool:
    """Whether a resource is made by a component of `pulumi_eks`, and by none of this project."""
    return not is_ours(urn) and any(type_.startswith(_EKS) for type_ in _types(urn))


def name_of(urn: str) -> str:
    """The name by which somebody wrote a resource, which its component may have added to."""
    name = urn.split("::", 3)[-1]
    below = any(type_.startswith(_EKS) for type_ in _types(urn)[:-1])
    return name.removesuffix(_EKS_CLUSTER_SUFFIX) if below else name


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to comply, three times."""

    stack_file: str
    """For a stack file, and so for this project's components."""
    eks: str
    """For a component of `pulumi_eks`."""
    raw: str
    """For a resource of `pulumi_aws` or `pulumi_kubernetes`."""

    def of(self, urn: str) -> str:
        """The words for one resource."""
        if is_ours(urn):
            return self.stack_file
        return self.eks if is_of_pulumi_eks(urn) else self.raw

    def steps(self) -> str:
        """All of them, for documentation."""
        if self.eks == self.raw:
            return f"{self.stack_file} With raw resources: {self.raw}"
        return f"{self.stack_file} With pulumi_eks: {self.eks} With raw resources: {self.raw}"
