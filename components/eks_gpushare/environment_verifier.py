"""What looks at an environment's cluster, apart since most stacks have none."""

import json
from typing import Any

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import EnvironmentSpec, ShareVerifierSpec
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.config.verifier import Verifier
from eks_gpushare.inputs.component import props
from eks_gpushare.share_verifier import ShareVerifier

_OF_ACCOUNT = ("iam", "network", "tags", "verifier")
"""Blocks of which nothing is to be seen in a cluster."""


def register_verifier(
    name: str,
    spec: EnvironmentSpec,
    block: Verifier,
    refs: ClusterRefs,
    nodes: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> ShareVerifier:
    """Register what looks at the cluster.

    Args:
        name: Name of the environment.
        spec: The environment.
        block: How it looks.
        refs: Its cluster.
        nodes: The nodes without GPUs, on which it runs.
        opts: Options that name the parent.
    """
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=nodes)
    return ShareVerifier._from_spec(
        f"{name}-verifier",
        converted(ShareVerifierSpec, block),
        declared(spec),
        pulumi.ResourceOptions.merge(opts, wired),
    )


def declared(spec: EnvironmentSpec) -> str:
    """The environment as a stack file, as far as it is seen in a cluster.

    Values that are outputs are left out: none decides what nodes advertise, and a secret among the
    values of a chart would stand in a ConfigMap.
    """
    fields = {*Environment.model_fields}.difference(_OF_ACCOUNT)
    environment = _plain(props(spec, only=fields))
    region = {"aws:region": spec.region} if spec.region is not None else {}
    return json.dumps({"config": {**region, ENVIRONMENT_KEY: environment}}, indent=2)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _plain(inner)
            for key, inner in value.items()
            if not isinstance(inner, pulumi.Output)
        }
    if isinstance(value, list):
        return [_plain(inner) for inner in value if not isinstance(inner, pulumi.Output)]
    return value
