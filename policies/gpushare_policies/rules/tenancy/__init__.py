"""Rules on what keeps tenants apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.tenancy.limit_ranges_give_no_gpu import LIMIT_RANGES_GIVE_NO_GPU
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
from gpushare_policies.rules.tenancy.tenants_share_no_gpu import TENANTS_SHARE_NO_GPU
from gpushare_policies.rules.tenancy.visible_devices_leak_closed import VISIBLE_DEVICES_LEAK_CLOSED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    SERVICE_ACCOUNTS_NOT_ADMIN,
    ROLES_WITHOUT_WILDCARDS,
    TENANT_NAMESPACES_ENFORCE_POD_SECURITY,
    TENANT_NAMESPACES_WITH_QUOTA,
    TENANT_NAMESPACES_DENY_TRAFFIC,
    TENANTS_SHARE_NO_GPU,
    VISIBLE_DEVICES_LEAK_CLOSED,
    ROLES_NOT_FOR_EVERYBODY,
    LIMIT_RANGES_GIVE_NO_GPU,
)
"""The rules of this theme, a module each."""
