"""Words of commands that make clusters, nodes or objects of clusters."""

from __future__ import annotations

import re

CALLS = re.compile(
    r"(?i:\bService[\"'\s\\:]+(?:eks|ec2|autoscaling|cloudformation|cloudcontrol)[\"'\s\\,n]+Api[\"'\s\\:]+)"
    r"(?:Create|Update|Run|Start)[A-Za-z]+"
    r"|\b(?:eks|ec2|autoscaling|cloudformation|cloudcontrol):(?:[cC]reate|[rR]un)(?!Tags|Job)[A-Z][A-Za-z]*"
    r"|\bAWS-CreateEKS[A-Za-z]+|\baws:createStack\b",
)
"""What a service calls without a command: `arn:aws:states:::eks:createCluster`, or of Systems
Manager `Service: eks`, `Api: CreateNodegroup`; runbooks of AWS that make clusters, and stacks."""
OF_PODS = re.compile(
    r"\b(?:eksctl\s+(?:create|scale)|(?:terraform|tofu)\s+(?:\S+\s+)*?apply|pulumi\s+(?:\S+\s+)*?up"
    r"|aws\s+(?:\S+\s+)*?(?:eks\s+create|ec2\s+(?:create-fleet|create-launch|run|request-spot)"
    r"|autoscaling\s+create-(?!or-)|cloudformation\s+(?:create|deploy))[a-z-]*)\b"
)
"""What a pod runs that makes clusters or nodes, with the name of its image before the words."""
_ASKS = {
    "kubectl": "get|describe|wait|logs|version|cluster-info|api-resources|api-versions|explain|top|"
    r"diff|config|auth\s+can-i|rollout",
    "helm": "list|ls|status|get|history|show|search|repo|lint|template|version|env|pull",
    "eksctl": r"get|version|info|utils\s+write-kubeconfig",
    "(?:terraform|tofu)": "init|plan|validate|fmt|output|show|version|providers",
    "pulumi": r"preview|version|about|whoami|stack\s+output|config",
}
"""What a tool is told only to ask or to show something; options before that have a value each."""
_MAKES = "|".join(
    rf"{tool}(?!(?:\s+--?[A-Za-z][A-Za-z-]*(?:=\S+|\s+\S+))*\s+(?:{asks})\b)"
    for tool, asks in _ASKS.items()
)
TOOLS = re.compile(
    rf"(?<![A-Za-z0-9_./-])(?:[A-Za-z0-9_./-]*/)?(?:{_MAKES}|"
    r"helmfile|kustomize|cdk|argocd|flux|ansible(?:-playbook)?|aws\s+(?:\S+\s+)*?(?:eks|ec2|autoscaling|cloudformation|"
    r"cloudcontrol|batch)(?!\s+(?:(?:describe|list|get)-|wait\b|update-kubeconfig\b)))"
    r"(?![A-Za-z0-9_.-])|\.(?:sh|py|rb|js)\b|(?:curl|wget)\b.*\|\s*[A-Za-z0-9_]*sh\b|\bmake\b"
    r"|\bboto3\b|\bbase64\b|\beval\b"
)
"""What in a command makes clusters, nodes or objects, or runs what cannot be seen."""
BY_NAME = re.compile(rf"(?<![A-Za-z0-9_./-])(?:{_MAKES})\s+[a-z-]|{OF_PODS.pattern}")
"""The same where a service runs scripts of its own: a tool by its name alone."""
