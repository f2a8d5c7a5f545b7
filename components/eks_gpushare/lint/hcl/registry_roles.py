"""Modules of the registry that make roles for service accounts, as the roles that they make.

Sources: main.tf of modules/iam-role-for-service-accounts of terraform-aws-modules/terraform-aws-iam
6.5.0, and of iam-role-for-service-accounts-eks, iam-eks-role and iam-assumable-role-with-oidc of
its last release before 6.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import ACCOUNT_USER
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.values import HclList, HclObject, has_gaps, is_open

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare.lint.hcl.blocks import MadeResource

TRUSTED: Final = "trusted_service_accounts"
"""The argument of a role that a module makes: statements, each a list of operators and subjects."""
ROLE_OF_MODULE: Final = "aws_iam_role.this"
"""Where a module has the role that it makes."""


def _named(call: MadeResource, name: Any, statements: Any) -> MadeResource:
    values = HclObject()
    values.put("name", name, call.place)
    values.put(TRUSTED, statements, call.place)
    address = f"{call.address}.{ROLE_OF_MODULE}[0]"
    return replace(call, address=address, kind="aws_iam_role", values=values, references={})


def _statements(operator: Any, listed: Any) -> Any:
    """A statement for each list of accounts; `UNKNOWN` where they are not all seen."""
    if is_open(listed) or not isinstance(listed, dict) or not isinstance(operator, str):
        return UNKNOWN
    return HclList(HclList([_condition(operator, each)]) for each in listed.values())


def _condition(operator: str, accounts: Any, before: str = ACCOUNT_USER) -> Any:
    if not isinstance(accounts, list) or any(not _is_seen(each) for each in accounts):
        return UNKNOWN
    made = HclList(f"{before}{each}" for each in accounts)
    return HclObject({"test": operator, "values": made})


def _is_seen(account: Any) -> bool:
    return isinstance(account, str) and not has_gaps(account)


def _of_providers(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """Up to version 5 `role_name`, since then `name`, to which a suffix is added unless told."""
    given = call.values
    is_older = call.source.partition("?")[0].partition("@")[0].endswith("-eks")
    if is_older:
        is_made, name = given.get("create_role", True), given.get("role_name")
        is_whole = given.get("role_name_prefix") is None
        operator = given.get("assume_role_condition_test", "StringEquals")
    else:
        is_made, name = given.get("create", True), given.get("name")
        is_whole = given.get("use_name_prefix") is False
        operator = given.get("trust_condition_test", "StringEquals")
    providers = given.get("oidc_providers")
    listed = providers
    if isinstance(providers, dict) and not is_open(providers):
        accounts = (at(each, "namespace_service_accounts") for each in providers.values())
        listed = dict(zip(providers, accounts, strict=True))
    if is_made is True:
        yield _named(call, name if is_whole else UNKNOWN, _statements(operator, listed))


def _of_clusters(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    given = call.values
    if given.get("create_role", True) is True:
        operator = given.get("assume_role_condition_test", "StringEquals")
        statements = _statements(operator, given.get("cluster_service_accounts"))
        yield _named(call, _name(given), statements)


def _of_subjects(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    given = call.values
    if given.get("create_role") is not True:
        return
    lists = (
        ("StringEquals", given.get("oidc_fully_qualified_subjects")),
        ("StringLike", given.get("oidc_subjects_with_wildcards")),
    )
    told = HclList(_condition(test, each, "") for test, each in lists if each not in (None, []))
    is_all = given.get("provider_trust_policy_conditions") is None
    yield _named(call, _name(given), HclList([told]) if is_all else UNKNOWN)


def identities(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """An association for each of a module's `associations`, or one of nobody that is known.

    https://github.com/terraform-aws-modules/terraform-aws-eks-pod-identity (2cbd87e), main.tf.
    """
    listed, defaults = call.values.get("associations"), call.values.get("association_defaults")
    every = listed.items() if isinstance(listed, dict) else []
    if is_open(listed) or listed is UNKNOWN:
        every = [("", UNKNOWN)]
    for key, each in every if call.values.get("create", True) is True else []:
        values = HclObject()
        for name in ("namespace", "service_account"):
            own = at(each, name)
            values.put(name, at(defaults, name) if own is None else own, call.place)
        address = f'{call.address}.aws_eks_pod_identity_association.this["{key}"]'
        kind = "aws_eks_pod_identity_association"
        yield replace(call, address=address, kind=kind, values=values, references={})


def _name(given: HclObject) -> Any:
    return given.get("role_name") if given.get("role_name_prefix") is None else UNKNOWN


def makes_role(source: str) -> bool:
    """Whether a module is one of these."""
    plain = plain_source(source)
    return any(re.fullmatch(each, plain) for each in ROLE_MODULES)


def plain_source(source: str) -> str:
    """The source of a module without what says how it is fetched."""
    return re.sub(r"^git::|^https?://|\.git(?=//|\?|$)|\?.*$", "", source)


def _modules(names: Iterable[str]) -> str:
    source = r"(?:.*github\.com/)?terraform-aws-modules/(?:terraform-aws-iam|iam/aws)"
    return f"{source}//modules/(?:{'|'.join(names)})"


ROLE_MODULES: Final[Mapping[str, Callable[[MadeResource, int | None], Iterator[MadeResource]]]] = {
    _modules(("iam-role-for-service-accounts(?:-eks)?",)): _of_providers,
    _modules(("iam-eks-role",)): _of_clusters,
    _modules(("iam-assumable-role-with-oidc",)): _of_subjects,
}
"""By their sources."""
IDENTITIES: Final = (
    r"(?:.*github\.com/)?terraform-aws-modules/(?:terraform-aws-)?eks-pod-identity(?:/aws)?"
)
"""The source of the module that makes associations of EKS Pod Identity with their role."""
