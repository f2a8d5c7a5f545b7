"""Which service accounts the trust policies of roles let in, as far as their makers say it.

Sources: https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html and
https://docs.aws.amazon.com/eks/latest/eksctl/iamserviceaccounts.html, November 2026.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import ACCOUNT_USER, ADDRESS, ROLE_TRUST, Pointer
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.lint.hcl.registry_roles import TRUSTED
from eks_gpushare.lint.hcl.registry_user_data import POLICY_DOCUMENT
from eks_gpushare.lint.hcl.values import GAP
from eks_gpushare.lint.terraform_configuration import INDEX, module_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
    from eks_gpushare.manifests.document import Document

KIND: Final = "aws_iam_role"
_POLICY: Final = "assume_role_policy"
_ACTIONS: Final = ("sts:assumerolewithwebidentity", "sts:*", "*")
_FURTHER: Final = ("source_policy_documents", "override_policy_documents")
_IS_SUBJECT: Final = ":sub"


def role_trusts(
    resources: Iterable[tuple[Source, str, Any]], configuration: TerraformConfiguration
) -> Iterator[Pointer]:
    """The roles among some resources that let in by a token.

    Args:
        resources: Each with its source, its type and its values.
        configuration: What they refer to.
    """
    resources = list(resources)
    documents = {
        INDEX.sub("", source.name): given
        for source, kind, given in resources
        if kind == POLICY_DOCUMENT
    }
    for source, kind, given in resources:
        if kind != KIND:
            continue
        statements = at(given, TRUSTED)
        if statements is None:
            told = at(given, _POLICY)
            if not isinstance(told, str):
                told = _referred(source.name, configuration, documents)
            statements = _statements(told)
        if statements is UNKNOWN or statements:
            name = at(given, "name")
            named = name if isinstance(name, str) else UNKNOWN
            yield _trust(source, named, statements, INDEX.sub("", source.name))


def _trust(source: Source, name: Any, statements: Any, address: str | None = None) -> Pointer:
    known = UNKNOWN if has_unknown(statements) else statements
    spec = {"statements": known} if address is None else {"statements": known, ADDRESS: address}
    return Pointer(source=source, kind=ROLE_TRUST, name=name, namespace="", spec=spec)


def _referred(
    address: str, configuration: TerraformConfiguration, documents: Mapping[str, Any]
) -> Any:
    """The policy document that a role refers to, where it is one."""
    above = INDEX.sub("", module_of(address))
    named = {
        ".".join(INDEX.sub("", each).split(".")[:3])
        for each in configuration.references(address, _POLICY)
    }
    found = [documents[key] for key in (f"{above}{each}" for each in named) if key in documents]
    return found[0] if len(named) == 1 and found else UNKNOWN


def _statements(told: Any) -> Any:
    """Those that let in by a token, each as its conditions on the subject."""
    if isinstance(told, str):
        try:
            return _of_policy(json.loads(told))
        except ValueError:
            return UNKNOWN
    if told is UNKNOWN or any(at(told, key) is not None for key in _FURTHER):
        return UNKNOWN
    listed = at(told, "statement")
    if UNKNOWN in (listed, *items(listed)):
        return UNKNOWN
    return [[*_of_blocks(each)] for each in items(listed) if _lets_in(each, "actions", "effect")]


def _of_policy(policy: Any) -> Any:
    listed = at(policy, "Statement")
    every = [listed] if isinstance(listed, dict) else items(listed)
    if UNKNOWN in (listed, *every):
        return UNKNOWN
    return [[*_written(each)] for each in every if _lets_in(each, "Action", "Effect")]


def _lets_in(statement: Any, actions: str, effect: str) -> bool:
    told = at(statement, actions)
    named = [str(each).lower() for each in ([told] if isinstance(told, str) else items(told))]
    unseen = not named or UNKNOWN in (told, *items(told))
    is_open = unseen or any(each in _ACTIONS or GAP in each for each in named)
    return is_open and str(at(statement, effect) or "Allow").lower() == "allow"


def _written(statement: Any) -> Iterator[Any]:
    for operator, keys in pairs(at(statement, "Condition")):
        for key, values in pairs(keys):
            yield from _condition(operator, key, values)


def _of_blocks(statement: Any) -> Iterator[Any]:
    """Terraform puts values of blocks of one operator and one key together."""
    listed = at(statement, "condition")
    found: dict[tuple[str, str], list[Any]] = {}
    for each in [UNKNOWN] if listed is UNKNOWN else items(listed):
        operator, key, values = (at(each, name) for name in ("test", "variable", "values"))
        if not isinstance(key, str) or values is UNKNOWN:
            yield UNKNOWN
            return
        found.setdefault((str(operator), key), []).extend(items(values))
    for (operator, key), values in found.items():
        yield from _condition(operator, key, values)


def _condition(operator: Any, key: Any, values: Any) -> Iterator[Any]:
    """What a condition asks of the subject; nothing of another, which can but keep more out."""
    if not str(key).endswith(_IS_SUBJECT):
        return
    listed = [values] if isinstance(values, str) else items(values)
    is_known = bool(listed) and not any(each is UNKNOWN or "${" in str(each) for each in listed)
    yield {"test": operator, "values": listed} if is_known else UNKNOWN


def of_cloudformation(source: Source, given: Any) -> Iterator[Pointer]:
    """A role that has a name in a template, by its properties."""
    name, told = at(given, "RoleName"), at(given, "AssumeRolePolicyDocument")
    statements = _statements(told) if isinstance(told, str) else _of_policy(told)
    if isinstance(name, str) and (statements is UNKNOWN or statements):
        yield _trust(source, name, statements)


def of_eksctl(document: Document) -> Iterator[Pointer]:
    """Roles that eksctl makes by a name for the account that they stand beside."""
    place = ("iam", "serviceAccounts")
    for index, each in enumerate(items(at(document.value, *place))):
        account = text(at(each, "metadata", "name"))
        space = text(at(each, "metadata", "namespace")) or "default"
        name = at(each, "roleName")
        if isinstance(name, str) and UNKNOWN not in (account, space):
            subject = f"{ACCOUNT_USER}{space}:{account}"
            statements = [[{"test": "StringEquals", "values": [subject]}]]
            source = Source(f"the role {name} of eksctl", document, (*place, index))
            yield _trust(source, name, statements)
