"""Which service accounts EKS Pod Identity gives roles of AWS, as Terraform and others declare it.

Sources: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-association.html and
https://docs.aws.amazon.com/eks/latest/eksctl/pod-identity-associations.html, November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import POD_IDENTITY, Pointer
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.manifests.document import Document

OF_TERRAFORM: Final = "aws_eks_pod_identity_association"
OF_CLOUDFORMATION: Final = "AWS::EKS::PodIdentityAssociation"
_PLACE: Final = ("iam", "podIdentityAssociations")


def association(source: Source, space: Any, account: Any) -> Pointer:
    """One association; what is no text is not known.

    Args:
        source: Where it is declared.
        space: The namespace that it is for.
        account: The ServiceAccount there.
    """
    name, namespace = (each if isinstance(each, str) else UNKNOWN for each in (account, space))
    return Pointer(source=source, kind=POD_IDENTITY, name=name, namespace=namespace, spec={})


def of_eksctl(document: Document) -> Iterator[Pointer]:
    """Those that eksctl makes with a cluster."""
    for index, each in enumerate(items(at(document.value, *_PLACE))):
        source = Source("the Pod Identity association", document, (*_PLACE, index))
        yield association(source, at(each, "namespace"), at(each, "serviceAccountName"))
