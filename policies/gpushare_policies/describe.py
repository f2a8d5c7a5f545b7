"""The documentation of the rules, written from the rules themselves.

`python -m gpushare_policies.describe > docs/policies.md`, with `policies` as the working
directory's import path, writes the page anew.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from gpushare_policies.registry import POLICIES
from gpushare_policies.rule import AnyRule, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTRODUCTION = """\
# Policies

The pack in `policies/` checks what a stack would create, whether it is made from a stack file, from
this project's components or from raw resources of `pulumi_aws`, `pulumi_eks` and
`pulumi_kubernetes`. This page is written from the rules; a test holds the two together.

## Running it

```sh
eks-gpushare policy prod                            # in one Python process, without AWS
pulumi preview --stack prod --policy-pack policies  # with the Pulumi engine
```

A mandatory rule that is violated fails the command; an advisory one is reported. What a preview
cannot know yet is no violation: Pulumi says that the rule could not run, and `pulumi up` runs it
with the values known. `examples/ci/pull-request.yml` is a GitHub workflow that runs both on every
pull request.

## Configuring it

`pulumi preview --policy-pack policies --policy-pack-config policies.json` takes levels and settings
by the rule's name. A level is `advisory`, `mandatory` or `disabled`; `all` sets every rule's.

```json
{
  "deletion-protection": {"stacks": ["prod-*", "shared"]},
  "time-slicing-replicas": {"enforcementLevel": "mandatory", "maximumReplicas": 4},
  "node-repair-on": "disabled"
}
```

## Programs of your own

The pack needs no component of this project. A cluster or node group is judged as AWS gets it, below
whatever component it comes from, so each fact is said once. How to comply is in the words of what
was written: keys of the stack file below this project's components, properties of `pulumi_eks`
below `eks.*`, those of `pulumi_aws` and `pulumi_kubernetes` elsewhere.

| written as | is judged at | by the engine | by `eks-gpushare policy` |
|---|---|---|---|
| `eks.Cluster`, with its default nodes | `aws.eks.Cluster`, launch template | yes | yes |
| `eks.ManagedNodeGroup` | `aws.eks.NodeGroup`, launch template | yes | yes |
| `eks.NodeGroupV2`, `eks.NodeGroup` | launch template, component | without taints | yes |
| `aws.eks.*`, `aws.ec2.LaunchTemplate`, `aws.ebs.Volume` | itself | yes | yes |
| `helm.v3.Release` | itself | once the cluster is there | yes |
| `helm.v4.Chart` | itself | no | its arguments |
| `helm.v3.Chart` | its objects | its objects | no, and said |
| `ConfigFile`, `ConfigGroup` | their objects | yes | but of addresses, and said |
| `kustomize.v2.Directory` | its objects | yes | no, and said |

What a plugin would make or a look-up would find, `eks-gpushare policy` makes up; `assumed:` lines
say what, and which objects the rules did not see. A look-up or component that nobody stands in for
stops with the YAML to [answer it with](commands.md#answers).

What the rules do not see:

* A cluster that is only referred to by name or by kubeconfig is no resource of the stack.
* Under the engine, `helm.v4.Chart` and the components of `pulumi_eks` have no arguments:
  `chart-versions-pinned` and `gpu-stack-tolerates-taints` know such a chart in
  `eks-gpushare policy` only, and `sharing-config-exists` counts Releases only.
* Values in files (`valueYamlFiles`), labels and taints in user data.
* Pods of a Deployment are not looked at; for those there are packs for Kubernetes workloads.
"""


def _level(rule: AnyRule) -> str:
    return "advisory" if rule.enforcement_level is None else rule.enforcement_level.value


def _severity(rule: AnyRule) -> str:
    return "" if rule.severity is None else rule.severity.value


def _references(rule: AnyRule) -> str:
    named: list[str] = []
    if (framework := rule.framework) is not None:
        parts = (framework.name, framework.version, framework.reference)
        named.append(" ".join(part for part in parts if part))
    named.extend(rule.tags or ())
    return ", ".join(named)


def _section(rule: AnyRule) -> Iterator[str]:
    yield f"### {rule.name}"
    yield ""
    yield rule.description
    yield ""
    scope = "Looks at" if isinstance(rule, Rule) else "Looks at the whole stack:"
    yield f"* {scope} {', '.join(f'`{token}`' for token in rule.applies_to)}."
    yield f"* {_level(rule).capitalize()}, severity {_severity(rule)}."
    if references := _references(rule):
        yield f"* References: {references}."
    for setting in rule.settings:
        schema = setting.json_schema()
        yield (
            f"* Setting `{setting.name}` ({schema['type']}, default "
            f"`{json.dumps(schema['default'])}`): {setting.description}"
        )
    if rule.unseen:
        yield f"* Does not see: {rule.unseen}"
    yield f"* To comply: {rule.remediation_steps}"
    yield ""


def markdown() -> str:
    """The documentation page of all rules."""
    lines = [_INTRODUCTION, "## The rules", "", "| rule | level | severity | references |"]
    lines.append("|---|---|---|---|")
    for rule in POLICIES:
        link = f"[{rule.name}](#{rule.name})"
        lines.append(f"| {link} | {_level(rule)} | {_severity(rule)} | {_references(rule)} |")
    lines.append("")
    for rule in POLICIES:
        lines.extend(_section(rule))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(markdown())
