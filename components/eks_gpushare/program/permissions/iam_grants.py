"""What a grant is, and the kinds of grants that the tables of actions are written with."""

from __future__ import annotations

from typing import NamedTuple


class Grant(NamedTuple):
    """Actions that a type of resource needs.

    Attributes:
        actions: IAM actions.
        resources: ARNs with placeholders. `{partition}`, `{region}` and `{account}` are the
            stack's; any other is an input of the resource, by name: its text, or a pattern where
            the provider makes it up. Without a resource that IAM could tell apart it is `*`.
        named: the tag `Name` has to be the resource's, or to begin as those of the stack's network
            do: "new" for what the call makes, "own" for what is there already, "" for neither.
            With an input, as in `own vpcId`, it is the name of the resource that the input is of.
        condition: operator, key, and value with placeholders as above.
        given: an input without which nothing of this is needed; "" if it always is. With a value,
            as in `capacityType=SPOT`, the input has to have it.
        bounded: only on a role that has the permissions boundary which the program gives it.
        shared: a kind of EC2 resource, and the input with its ids. Ids that the program writes may
            be of an account that shares them by AWS RAM: they are named, whatever the account, in
            place of `resources`.

    """

    actions: tuple[str, ...]
    resources: tuple[str, ...] = ("*",)
    named: str = ""
    condition: tuple[str, str, str] | None = None
    given: str = ""
    bounded: bool = False
    shared: tuple[str, str] | None = None


def of(service: str, names: str) -> tuple[str, ...]:
    """Actions of one service, by their names with spaces between."""
    return tuple(f"{service}:{name}" for name in names.split())


def ec2(*kinds: str) -> tuple[str, ...]:
    """ARNs of all EC2 resources of these kinds, in the region and account."""
    return tuple(f"arn:{{partition}}:ec2:{{region}}:{{account}}:{kind}/*" for kind in kinds)


def eks(path: str) -> tuple[str, ...]:
    """The ARN of something of EKS."""
    return (f"arn:{{partition}}:eks:{{region}}:{{account}}:{path}",)


def look(*actions: str) -> Grant:
    """Actions that read and that EC2 tells no resources apart for."""
    return Grant(tuple(f"ec2:{action}" for action in actions))


def tagging(kind: str, create: str) -> tuple[Grant, ...]:
    """EC2's tags: given at creation, and changed later on what carries the stack's name."""
    at_creation = ("StringEquals", "ec2:CreateAction", create)
    return (
        Grant(("ec2:CreateTags",), ec2(kind), condition=at_creation),
        Grant(("ec2:CreateTags", "ec2:DeleteTags"), ec2(kind), named="own"),
    )


def new(action: str, kind: str) -> Grant:
    """Making something that the call itself tags with a name of the stack."""
    return Grant((f"ec2:{action}",), ec2(kind), named="new")


def own(kinds: tuple[str, ...], *actions: str) -> Grant:
    """Acting on what carries a name of the stack."""
    return Grant(tuple(f"ec2:{action}" for action in actions), ec2(*kinds), named="own")


def in_vpc(action: str) -> Grant:
    """Making something in a VPC: the stack's by its name, and another by its id."""
    return Grant((f"ec2:{action}",), ec2("vpc"), named="own vpcId", shared=("vpc", "vpcId"))


def service_role(service: str, name: str) -> Grant:
    """The role that a service makes for itself in an account that has not used it yet."""
    arn = f"arn:{{partition}}:iam::{{account}}:role/aws-service-role/{service}/{name}"
    condition = ("StringEquals", "iam:AWSServiceName", service)
    return Grant(("iam:CreateServiceLinkedRole",), (arn,), condition=condition)


def passing(role: str, service: str) -> tuple[Grant, ...]:
    """Handing a role, which an input names by its ARN, to a service."""
    condition = ("StringEquals", "iam:PassedToService", service)
    return (Grant(("iam:PassRole",), (role,), condition=condition),)
