"""The level of Pod Security of tenants' namespaces, with settings and with what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from gpushare_policies.rule import NotJudgedError
from gpushare_policies.rules.tenancy.tenant_namespaces import (
    TENANT_NAMESPACES_ENFORCE_POD_SECURITY as RULE,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sdk_internals

NAMESPACE = "kubernetes:core/v1:Namespace"
TENANT, LEVEL = "eks-gpushare.io/tenant", "pod-security.kubernetes.io/enforce"


def named(labels: Any) -> dict[str, Any]:
    return {"metadata": {"name": "gpu", "labels": labels}}


@pytest.fixture
def said(resource: Any, stack_violations: Any) -> Callable[..., list[tuple[str, str]]]:
    """What the rule says of a namespace with labels, and of a patch with others."""

    def run(labels: Any, patched: Any = None, **config: str) -> list[tuple[str, str]]:
        made = [resource(NAMESPACE, "gpu", named(labels))]
        if patched is not None:
            made.append(resource(f"{NAMESPACE}Patch", "patch", named(patched)))
        return list(stack_violations(RULE, made, config or None))

    return run


def test_a_tenant_enforces_a_level_of_two(said: Callable[..., list[tuple[str, str]]]) -> None:
    ((_, none),) = said({TENANT: "a"})
    ((_, weak),) = said({TENANT: "a", LEVEL: "privileged"})

    assert "enforces no level" in none
    assert "enforces the level privileged" in weak
    assert said({TENANT: "a", LEVEL: "baseline"}) == []
    assert said({"team": "ml"}) == said(None) == []
    assert len(said({"team": "vision"}, tenantLabel="team")) == 1


def test_a_patch_is_told_for_what_it_leaves(said: Callable[..., list[tuple[str, str]]]) -> None:
    ((whose, message),) = said({TENANT: "a", LEVEL: "baseline"}, {LEVEL: "privileged"})

    assert whose == "patch"
    assert message.startswith("The Namespace gpu, as NamespacePatch patch leaves it, belongs")


@pytest.mark.parametrize(
    ("labels", "patched"),
    [
        (UNKNOWN_STRING_VALUE, None),
        ({TENANT: "a", LEVEL: UNKNOWN_STRING_VALUE}, None),
        ({TENANT: "a", LEVEL: "baseline"}, {LEVEL: UNKNOWN_STRING_VALUE}),
    ],
)
def test_what_is_not_known_is_not_judged(
    said: Callable[..., list[tuple[str, str]]], labels: Any, patched: Any
) -> None:
    with pytest.raises(NotJudgedError) as error:
        said(labels, patched)

    assert "label" in error.value.message
