"""Rules on the cluster: who reaches it, what it logs, how it authenticates and ages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.cluster.api_authentication import API_AUTHENTICATION
from gpushare_policies.rules.cluster.auto_mode_shares_no_gpu import AUTO_MODE_SHARES_NO_GPU
from gpushare_policies.rules.cluster.control_plane_logs import CONTROL_PLANE_LOGS
from gpushare_policies.rules.cluster.control_plane_logs_kept import CONTROL_PLANE_LOGS_KEPT
from gpushare_policies.rules.cluster.deletion_protection import DELETION_PROTECTION
from gpushare_policies.rules.cluster.keys_rotated import KEYS_ROTATED
from gpushare_policies.rules.cluster.no_human_in_masters import NO_HUMAN_IN_MASTERS
from gpushare_policies.rules.cluster.private_endpoint_on import PRIVATE_ENDPOINT_ON
from gpushare_policies.rules.cluster.public_endpoint_not_open import PUBLIC_ENDPOINT_NOT_OPEN
from gpushare_policies.rules.cluster.roles_bounded import ROLES_BOUNDED
from gpushare_policies.rules.cluster.secrets_encrypted import SECRETS_ENCRYPTED
from gpushare_policies.rules.cluster.standard_upgrade_policy import STANDARD_UPGRADE_POLICY
from gpushare_policies.rules.cluster.version_in_standard_support import VERSION_SUPPORTED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    PUBLIC_ENDPOINT_NOT_OPEN,
    PRIVATE_ENDPOINT_ON,
    CONTROL_PLANE_LOGS,
    SECRETS_ENCRYPTED,
    API_AUTHENTICATION,
    STANDARD_UPGRADE_POLICY,
    VERSION_SUPPORTED,
    DELETION_PROTECTION,
    NO_HUMAN_IN_MASTERS,
    KEYS_ROTATED,
    CONTROL_PLANE_LOGS_KEPT,
    AUTO_MODE_SHARES_NO_GPU,
    ROLES_BOUNDED,
)
"""The rules of this theme, a module each."""
