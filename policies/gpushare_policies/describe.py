"""The documentation of the rules, written from the rules themselves.

`python tools/docs/make_pages.py` writes the pages: one with what all rules have in common, and one
for each rule, at which its violations point.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gpushare_policies.registry import POLICIES, THEMES
from gpushare_policies.rule import AnyRule, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INTRODUCTION = """\
# Policies

The pack in `policies/` checks what a stack would create, whether it is made from a stack file, from
this project's components or from raw resources of `pulumi_aws`, `pulumi_eks` and
`pulumi_kubernetes`. This page and those of the rules are written from the rules; a test holds them
together.

## Running it

```sh
eks-gpushare policy prod                            # in one Python process, without AWS
eks-gpushare policy --state prod.json               # what `pulumi stack export` wrote
pulumi preview --stack prod --policy-pack policies  # with the Pulumi engine
```

A mandatory rule that is violated fails the command; an advisory one is reported. What a preview
cannot know yet is never passed in silence: each way names the rule and the value, as `not judged`
or in Pulumi's words `can't run policy`, and `pulumi up` runs it with the values known.
`examples/ci/pull-request.yml` is a GitHub workflow that runs them on every pull request.

Tests hold the verdicts of all ways side by side, on every stack of this repository and on sixty
programs of raw resources. What differs does so by its nature:

* Of a state, `pulumi policy analyze --file` shows rules the text `[secret]` for values that are
  encrypted in it; `eks-gpushare policy --state` does not judge what depends on them, and says so.
* Of objects in a cluster that is yet to be made, the engine knows less in a preview than
  `eks-gpushare policy` does, and so leaves more unjudged.
* A rule that tells of one of several like resources may tell of another one under the engine, which
  registers them in any order.

## A state

`eks-gpushare policy --state FILE` judges the state of a stack that is there, without its program,
AWS or a backend: `pulumi stack export --stack prod --file prod.json` writes it, of format 3 or 4.
Rules on resources see their inputs, rules on stacks their outputs. What is about to be deleted is
left out, and operations that are pending are named. Encrypted values stay unknown; an export with
`--show-secrets` has them in plain text, so handle it as a secret.

## What it prints

| `--output` | is |
|---|---|
| `text` | for people; the default |
| `json` | one document, the same as `--json` ([its keys](commands.md#policy)) |
| `sarif` | SARIF 2.1.0, for GitHub code scanning and other viewers |
| `junit` | a test report: a case for each rule that passed and for each violation |
| `github` | annotations of GitHub Actions at lines of the pull request |

A violation is shown at the line of the stack file that declares the pool or block it comes from; of
other programs, at the line that registered the resource or the component that it is part of; of a
state, at the line of its URN. Where no line is known it is the stack's file.
Several outputs of one run: `--output github --output sarif=policy.sarif`. Whatever is printed, only
mandatory violations make the exit code 1. In SARIF a violation keeps its fingerprint as long as
rule and resource stay, wherever its line moves.

## Configuring it

`pulumi preview --policy-pack policies --policy-pack-config policies.json` takes levels and settings
by the rule's name, and so does `eks-gpushare policy --config policies.json`. A level is `advisory`,
`mandatory`, `remediate` or `disabled`; `all` sets every rule's, and a rule's own wins over it.

```json
{
  "deletion-protection": {"stacks": ["prod-*", "shared"]},
  "time-slicing-replicas": {"enforcementLevel": "mandatory", "maximumReplicas": 4},
  "node-repair-on": "disabled"
}
```

At the level `remediate`, a rule that can repair a resource does so before it is created, and says
what it did; what it could not repair counts as mandatory. Which rules can is on their pages.

## Exemptions

A resource that has to break a rule for a while is exempted from it, with a reason and a last day.
All three are required:

```json
{
  "volumes-encrypted": {
    "exemptions": [
      {"resource": "scratch-*", "reason": "Replaced with the upgrade.", "until": "2027-03-31"}
    ]
  }
}
```

`resource` is the logical name of the resource or its URN, in which `*` stands for anything, or a
list of those. `"finding": "GPU1057"` beside it lets only be what the rule says of that one finding.
The exemption holds through `until`, in UTC; then the violation counts again by itself. The rule
[exemptions-in-force](policies/exemptions-in-force.md) lists what is exempted in every run, with
what the rule would have said, and those that have ended or that nothing needs. In SARIF the
violation is there as suppressed. With `"all": "mandatory"`, give `"exemptions-in-force":
"advisory"` beside it, or the list itself fails the run.

What `check` or `lint` says too has codes, and `eks-gpushare policy --config` takes these as well:
`"GPU1057": {"exemptions": [...]}` lets be what any rule says of it. A level is a rule's, and stands
under its name. The engine passes over codes; for it, use `finding`.

A [comment in a stack file](lint.md#let-a-finding-be) lets be what `check` finds under any name, and
in `eks-gpushare policy STACK` what rules say of the same, at the resources of the pool or block in
which it stands, and at what all pools share once comments let all of it be. It may name a rule that
`check` does not know, too. It is told as an exemption, with the comment's line. The engine does not
read comments.

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
  rules on charts know such a chart in `eks-gpushare policy` only.
* Files of values (`valueYamlFiles`) and charts in folders or archives are read where the pack runs;
  of those that are not there, rules say that they could not judge. What an address holds is not
  fetched: a chart is known by the name in it.
* Labels and taints that nodes get by user data alone.

Objects of Kubernetes are judged in whatever resource they stand: of any version of their group,
as a patch (`DeploymentPatch`), in a list (`DeploymentList`, `List`), as a `CustomResource`, or in
what makes pods of a kind that somebody else defined (`RayCluster`, `Notebook`). Of a patch only
what it says is judged. Objects belong together where they reach the same cluster: by the kubeconfig
that is made of it or that names it.
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


def _theme(name: str) -> str:
    return {"mig": "MIG", "supply_chain": "Supply chain"}.get(name, name.capitalize())


def _table(rules: tuple[AnyRule, ...]) -> Iterator[str]:
    yield "| rule | what | level | severity |"
    yield "|---|---|---|---|"
    for rule in rules:
        link = f"[{rule.name}](policies/{rule.name}.md)"
        yield f"| {link} | {rule.description} | {_level(rule)} | {_severity(rule)} |"
    yield ""


def _page(rule: AnyRule, theme: str) -> str:
    scope = "Looks at" if isinstance(rule, Rule) else "Looks at the whole stack, of it at"
    lines = [
        f"# {rule.name}",
        "",
        rule.description,
        "",
        f"* Theme: {theme}. {_level(rule).capitalize()}, severity {_severity(rule)}.",
        f"* {scope} {', '.join(f'`{token}`' for token in rule.applies_to)}.",
    ]
    if references := _references(rule):
        lines.append(f"* References: {references}.")
    if isinstance(rule, Rule) and rule.repairs:
        repaired = ", ".join(f"`{token}`" for token in rule.repairs)
        lines.append(f"* At the level `remediate` it repairs {repaired}.")
    if rule.unseen:
        lines.append(f"* Does not see: {rule.unseen}")
    lines += ["", "## To comply", "", rule.remediation_steps or "", ""]
    lines += ["## Configuring it", "", *_settings(rule)]
    return "\n".join(lines)


def _settings(rule: AnyRule) -> Iterator[str]:
    shown = {setting.name: setting.json_schema()["default"] for setting in rule.settings}
    level = _level(rule)
    yield "```json"
    yield json.dumps({rule.name: {"enforcementLevel": level, **shown}}, indent=2)
    yield "```"
    yield ""
    for setting in rule.settings:
        kind = setting.json_schema()["type"]
        default = json.dumps(setting.json_schema()["default"])
        yield f"* `{setting.name}` ({kind}, default `{default}`): {setting.description}"
    yield "* `exemptions`: [resources that may break it](../policies.md#exemptions) until a day."
    yield ""
    yield "All rules: [policies](../policies.md)."
    yield ""


def pages() -> Mapping[str, str]:
    """All pages, by their paths below `docs`."""
    index = [_INTRODUCTION, "## The rules", ""]
    made: dict[str, str] = {}
    for name, rules in THEMES.items():
        index += [f"### {_theme(name)}", "", *_table(rules)]
        made |= {f"policies/{rule.name}.md": _page(rule, _theme(name)) for rule in rules}
    index += ["```{toctree}", ":hidden:", "", *(f"policies/{r.name}" for r in POLICIES), "```", ""]
    return {"policies.md": "\n".join(index), **made}
