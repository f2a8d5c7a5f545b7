"""`eks-gpushare policy --list`: the rules of a pack, and each whole that is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.text import wrapped
from eks_gpushare.program_verbs.policy_judge import PolicyUsageError
from eks_gpushare.program_verbs.policy_report import columns
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.program.policies.packs import Pack


def list_rules(
    pack: Pack, names: Sequence[str], config: Mapping[str, Any], *, as_json: bool
) -> None:
    """Print the rules of a pack in its order; those that are named with all that they say.

    Args:
        pack: The pack.
        names: Rules by their names; none for all.
        config: Levels and settings by name, as `--config` and `--preset` give them.
        as_json: One document in place of text.

    Raises:
        PolicyUsageError: If there is no rule of a name.
    """
    rules = [_said(pack, policy, config) for policy in pack.policies]
    known = [rule["policy"] for rule in rules]
    for name in names:
        if name not in known:
            meant = similar(name, known)
            hint = f"; did you mean {meant}?" if meant else ""
            raise PolicyUsageError(f"there is no rule {name}{hint}")
    chosen = [rule for rule in rules if not names or rule["policy"] in names]
    if as_json:
        print_json({"pack": pack.name, "policies": chosen})
        return
    for rule in chosen:
        head = f"{rule['policy']}, {rule['level']}, severity {rule['severity']}"
        said = [rule["description"]]
        if names:
            unseen, steps = rule["notSeen"], rule["remediationSteps"]
            said += [f"To comply: {steps}"] if steps else []
            said += [f"Does not see: {unseen}"] if unseen else []
        print(head)
        for text in said:
            print("\n".join(wrapped(text, columns(), first="  ")))
    print(f"{len(chosen)} rule{'' if len(chosen) == 1 else 's'} of the pack {pack.name}.")


def _said(pack: Pack, policy: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    own = policy.enforcement_level or pack.level
    level = own.value
    for given in (config.get("all"), config.get(policy.name)):
        told = given.get("enforcementLevel") if isinstance(given, dict) else given
        level = told or level
    return {
        "policy": policy.name,
        "level": level,
        "severity": "unspecified" if policy.severity is None else policy.severity.value,
        "description": policy.description,
        "remediationSteps": policy.remediation_steps or "",
        "notSeen": getattr(policy, "unseen", ""),
        "settings": sorted((policy.config_schema.properties or {}) if policy.config_schema else {}),
    }
