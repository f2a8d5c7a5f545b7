"""Rules on what keeps tenants apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.tenancy.edges import EDGES
from gpushare_policies.rules.tenancy.roles_not_for_everybody import ROLES_NOT_FOR_EVERYBODY
from gpushare_policies.rules.tenancy.roles_without_wildcards import ROLES_WITHOUT_WILDCARDS
from gpushare_policies.rules.tenancy.service_accounts_not_admin import SERVICE_ACCOUNTS_NOT_ADMIN
from gpushare_policies.rules.tenancy.tenant_namespaces_deny_traffic import (
    TENANT_NAMESPACES_DENY_TRAFFIC,
)
from gpushare_policies.rules.tenancy.tenant_namespaces_enforce_pod_security import (
    TENANT_NAMESPACES_ENFORCE_POD_SECURITY,
)
from gpushare_policies.rules.tenancy.tenant_namespaces_with_quota import (
    TENANT_NAMESPACES_WITH_QUOTA,
)

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    *EDGES,
    SERVICE_ACCOUNTS_NOT_ADMIN,
    ROLES_WITHOUT_WILDCARDS,
    TENANT_NAMESPACES_ENFORCE_POD_SECURITY,
    TENANT_NAMESPACES_WITH_QUOTA,
    TENANT_NAMESPACES_DENY_TRAFFIC,
    ROLES_NOT_FOR_EVERYBODY,
)
"""The rules of this theme: those that edges judge, and a module for each of the others."""
