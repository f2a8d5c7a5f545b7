"""What the providers would answer, without providers.

In a preview a provider echoes the inputs and knows little else, so what it would compute stays
unknown. In update mode (``preview=False``) that is made up: plausible, the same in every run, never
true. Nothing here talks to a cloud.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from hashlib import blake2s, sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes import aws_functions, aws_lookups
from eks_gpushare.program.fakes import awsx as awsx_fakes
from eks_gpushare.program.fakes import kubernetes as kubernetes_fakes
from eks_gpushare.program.fakes.asked import example
from eks_gpushare.program.fakes.eks import fakes as eks_fakes
from eks_gpushare.program.fakes.types import ACCOUNT
from eks_gpushare.program.recording import PROVIDER_TYPE_PREFIX, Resource
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, Secret, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.program.fakes.types import Component, Function, Method, Plan


@dataclass(frozen=True)
class Fakes:
    """The answers of one run, by token."""

    components: Mapping[str, Component] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    methods: Mapping[str, Method] = field(default_factory=dict)

    def create(self, plan: Plan, resource: Resource) -> None:
        """Set the id and the outputs of a custom resource, whatever package it is of."""
        _settle_name(resource)
        outputs = {key: _flat(value) for key, value in resource.inputs.items()}
        if resource.type.startswith("aws:"):
            outputs = _completed(_aws_outputs(plan, resource, outputs), outputs)
        elif resource.type.startswith("kubernetes:"):
            outputs |= _kubernetes_outputs(plan, resource, outputs)
        elif resource.type == "eks:index:RandomSuffix" and not plan.preview:
            outputs["output"] = f"{outputs.get('input')}-{digest(resource, 8)}"
        resource.outputs = outputs
        resource.id = UNKNOWN if plan.preview else _id(resource, outputs)

    def read(self, plan: Plan, resource: Resource) -> None:
        """Set the outputs of a resource that exists already: its state is not known here."""
        self.create(plan, replaced := replace(resource))
        if resource.type == "pulumi:pulumi:StackReference":
            known: Any = UNKNOWN
            if not plan.preview:
                # Unknown is no value outside of a preview: the SDK takes it for null and fails.
                plan.assume(f"The outputs of the stack {resource.name} are taken to be none.")
                known = {}
            replaced.outputs |= {"outputs": known, "secretOutputNames": []}
        resource.outputs = replaced.outputs

    def parent_of(self, resource: Resource) -> str:
        """The URN of the parent that the resource gets."""
        component = self.components.get(resource.type) if resource.remote else None
        if component is None or component.parent is None:
            return resource.parent
        return component.parent(resource)

    def construct(self, plan: Plan, resource: Resource) -> Properties:
        """The outputs of a remote component. Raises `PlanError` if it is not prepared."""
        component = self.components.get(resource.type)
        if component is None:
            raise _unprepared(
                "remote component", resource.type, example("components", resource.type)
            )
        try:
            return component.construct(plan, resource)
        except (AttributeError, KeyError, TypeError) as error:
            # The plugin may take what its schema does not say, in its own way.
            example_of = example("components", resource.type)
            raise PlanError(
                f"what {resource.type} makes of the arguments of {resource.name} cannot be known "
                f"without its plugin ({error}). Correct them, or put what it would answer into a "
                f"file and name that with --answers FILE:\n\n{example_of}"
            ) from error

    def invoke(self, plan: Plan, token: str, args: Properties, provider: str) -> Properties:
        """What the function `token` answers. Raises `PlanError` if it is not prepared."""
        function = self.functions.get(token)
        if function is None:
            raise _unprepared("function", token, example("functions", token, args))
        return function(plan, args, provider)

    def call(self, plan: Plan, token: str, args: Properties) -> Properties:
        """What the method `token` answers. Raises `PlanError` if it is not prepared."""
        method = self.methods.get(token)
        if method is None:
            raise _unprepared("method", token, example("methods", token, args))
        return method(plan, args)


def default_fakes() -> Fakes:
    """The fakes for what this project's components and most EKS programs use."""
    return Fakes(
        components={
            **awsx_fakes.COMPONENTS,
            **eks_fakes.COMPONENTS,
            **kubernetes_fakes.COMPONENTS,
        },
        functions={
            **aws_lookups.LOOKUPS,
            **awsx_fakes.FUNCTIONS,
            **aws_functions.FUNCTIONS,
            **kubernetes_fakes.FUNCTIONS,
        },
        methods=eks_fakes.METHODS,
    )


def _unprepared(kind: str, token: str, answer: str) -> PlanError:
    return PlanError(
        f"the {kind} {token!r} has no fake, so its answer cannot be known without its provider. "
        f"Put what it would answer into a file and name that with --answers FILE:\n\n{answer}\n"
        "Leave out what the program does not read. `pulumi preview` asks the provider."
    )


def digest(resource: Resource, length: int = 17) -> str:
    """`length` hexadecimal digits that are the same for this URN in every run."""
    return blake2s(resource.urn.encode()).hexdigest()[:length]


def _flat(value: Any) -> Any:
    if isinstance(value, OutputValue):
        return Secret(_flat(value.value)) if value.secret else _flat(value.value)
    if isinstance(value, dict):
        return {key: _flat(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_flat(item) for item in value]
    return value


# What an id begins with, where programs and people expect it to.
_ID_PREFIXES = {
    "aws:amp/scraper:Scraper": "s",
    "aws:amp/workspace:Workspace": "ws",
    "aws:ec2/eip:Eip": "eipalloc",
    "aws:ec2/internetGateway:InternetGateway": "igw",
    "aws:ec2/launchTemplate:LaunchTemplate": "lt",
    "aws:ec2/natGateway:NatGateway": "nat",
    "aws:ec2/routeTable:RouteTable": "rtb",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "rtbassoc",
    "aws:ec2/securityGroup:SecurityGroup": "sg",
    "aws:ec2/subnet:Subnet": "subnet",
    "aws:ec2/vpc:Vpc": "vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpce",
}
# Resources whose id in AWS is their name.
_ID_IS_NAME = ("aws:iam/", "aws:eks/cluster:", "aws:ec2/placementGroup:")


def _id(resource: Resource, outputs: Properties) -> str:
    token = resource.type
    if token.startswith(PROVIDER_TYPE_PREFIX):
        return digest(resource, 32)
    if token in _ID_PREFIXES:
        return f"{_ID_PREFIXES[token]}-{digest(resource)}"
    if token == "aws:eks/nodeGroup:NodeGroup":  # noqa: S105  (a type token)
        return f"{outputs.get('clusterName')}:{outputs.get('nodeGroupName')}"
    if token.startswith("kubernetes:"):
        metadata = outputs.get("metadata")
        if isinstance(metadata, dict):
            namespace = metadata.get("namespace")
            return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    if token.startswith(_ID_IS_NAME) and isinstance(outputs.get("name"), str):
        return str(outputs["name"])
    return f"{resource.name}-{digest(resource, 8)}"


def _completed(computed: Properties, given: Properties) -> Properties:
    """What was given, and what AWS adds to it, also within a block such as ``vpcConfig``."""
    blocks = {
        key: {**value, **given[key]}
        for key, value in computed.items()
        if isinstance(value, dict) and isinstance(given.get(key), dict)
    }
    return {**computed, **given, **blocks}


_AFTER_PREFIX = 26
"""Characters that the provider adds to a prefix."""


def _aws_outputs(plan: Plan, resource: Resource, given: Properties) -> Properties:
    outputs: Properties = {"tagsAll": given["tags"]} if "tags" in given else {}
    region = plan.region(resource.provider)
    if region:
        outputs["region"] = region
    if plan.preview:
        unknown = {key: dict(block) for key, block in _UNKNOWN_IN_BLOCKS.get(resource.type, ())}
        return outputs | {"arn": UNKNOWN} | unknown
    package, _, kind = resource.type.split(":")[1].partition("/")
    prefix = given.get("namePrefix")
    made_up = f"{resource.name}-{digest(resource, 7)}"
    if isinstance(prefix, str):
        made_up = prefix + digest(resource, _AFTER_PREFIX)
    name = given.get("name", made_up)
    location = "" if package == "iam" else region
    partition = partition_of(region).id
    arn = f"arn:{partition}:{package}:{location}:{ACCOUNT}:{kind}/{name}"
    outputs |= {"arn": arn, "name": name}
    computed = _AWS_COMPUTED.get(resource.type)
    return outputs if computed is None else outputs | computed(resource, str(name), region)


def _eks_cluster(resource: Resource, name: str, region: str) -> Properties:
    key = digest(resource, 32).upper()
    vpc_config = _flat(resource.inputs.get("vpcConfig")) or {}
    return {
        "endpoint": f"https://{key}.gr7.{region}.eks.amazonaws.com",
        "certificateAuthority": {"data": "Q0EgY2VydGlmaWNhdGU="},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"},
        "identities": [
            {"oidcs": [{"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/{key}"}]}
        ],
        "status": "ACTIVE",
        "arn": f"arn:{partition_of(region).id}:eks:{region}:{ACCOUNT}:cluster/{name}",
        "vpcConfig": {**vpc_config, "clusterSecurityGroupId": f"sg-{digest(resource)}"},
    }


def _node_group(resource: Resource, name: str, _region: str) -> Properties:
    group = resource.inputs.get("nodeGroupName", name)
    scaling_group = f"eks-{group}-{digest(resource, 8)}"
    return {
        "nodeGroupName": group,
        "status": "ACTIVE",
        "resources": [{"autoscalingGroups": [{"name": scaling_group}]}],
    }


def _stack_of_nodes(resource: Resource, _name: str, _region: str) -> Properties:
    """A stack of CloudFormation, as eks.NodeGroup reads it."""
    return {"outputs": {"NodeGroup": f"{resource.name}-NodeGroup-{digest(resource, 12).upper()}"}}


def _launch_template(_resource: Resource, _name: str, _region: str) -> Properties:
    return {"latestVersion": 1, "defaultVersion": 1}


def _queue(_resource: Resource, name: str, region: str) -> Properties:
    partition = partition_of(region)
    return {
        "url": f"https://sqs.{region}.{partition.domain}/{ACCOUNT}/{name}",
        "arn": f"arn:{partition.id}:sqs:{region}:{ACCOUNT}:{name}",
    }


def _log_group(_resource: Resource, name: str, region: str) -> Properties:
    return {"arn": f"arn:{partition_of(region).id}:logs:{region}:{ACCOUNT}:log-group:{name}"}


def _workspace(resource: Resource, _name: str, region: str) -> Properties:
    known, partition = f"ws-{digest(resource)}", partition_of(region)
    return {
        "arn": f"arn:{partition.id}:aps:{region}:{ACCOUNT}:workspace/{known}",
        "prometheusEndpoint": f"https://aps-workspaces.{region}.{partition.domain}/workspaces/{known}/",
    }


def _event_rule(_resource: Resource, name: str, region: str) -> Properties:
    return {"arn": f"arn:{partition_of(region).id}:events:{region}:{ACCOUNT}:rule/{name}"}


def _pod_identity(resource: Resource, _name: str, region: str) -> Properties:
    association = f"a-{digest(resource)}"
    cluster = _flat(resource.inputs.get("clusterName"))
    place = f"eks:{region}:{ACCOUNT}:podidentityassociation/{cluster}/{association}"
    return {
        "associationId": association,
        "associationArn": f"arn:{partition_of(region).id}:{place}",
    }


def _kms_key(resource: Resource, _name: str, region: str) -> Properties:
    key = str(UUID(digest(resource, 32)))
    return {"keyId": key, "arn": f"arn:{partition_of(region).id}:kms:{region}:{ACCOUNT}:key/{key}"}


_UNKNOWN_IN_BLOCKS: Mapping[str, tuple[tuple[str, Properties], ...]] = {
    "aws:eks/cluster:Cluster": (("vpcConfig", {"clusterSecurityGroupId": UNKNOWN}),),
}
"""What a preview does not know within a block that the program gives a part of. On its own a block
stays unknown as a whole."""

_AWS_COMPUTED: Mapping[str, Callable[[Resource, str, str], Properties]] = {
    "aws:amp/workspace:Workspace": _workspace,
    "aws:cloudformation/stack:Stack": _stack_of_nodes,
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
    "aws:eks/cluster:Cluster": _eks_cluster,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _pod_identity,
    "aws:ec2/launchTemplate:LaunchTemplate": _launch_template,
    "aws:kms/key:Key": _kms_key,
    "aws:cloudwatch/eventRule:EventRule": _event_rule,
    "aws:sqs/queue:Queue": _queue,
}


def _kubernetes_outputs(plan: Plan, resource: Resource, given: Properties) -> Properties:
    if resource.type == "kubernetes:helm.sh/v3:Release":
        if plan.preview:
            return {"status": UNKNOWN}
        name = given.get("name", f"{resource.name}-{digest(resource, 8)}")
        namespace = given.get("namespace", "default")
        status = {"name": name, "namespace": namespace, "status": "deployed", "revision": 1}
        return {"name": name, "namespace": namespace, "status": status}
    metadata = given.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    if plan.preview:
        return {}
    name = f"{resource.name}-{digest(resource, 8)}"
    return {"metadata": {"name": name, "uid": digest(resource, 32), **metadata}}


_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")


def _settle_name(resource: Resource) -> None:
    """Make a name that the program does not want compared the same in every run.

    Such a name may be another one each time, and counts for a new object only. Here it ends with a
    digest of the content, so that what the name is given to differs exactly where the object does.
    Where a preview leaves it open, it begins with the logical name, so that what reads the name of
    an object, a policy or a manifest, finds the object.
    """
    metadata = resource.inputs.get("metadata")
    if "metadata.name" not in resource.options.get("ignoreChanges", ()):
        return
    if not isinstance(metadata, dict):
        return
    name = metadata.get("name")
    if name is UNKNOWN:
        name = f"{_NOT_IN_NAMES.sub('-', resource.name.lower())}-"
    if isinstance(name, str):
        content = json.dumps(to_json(resource.inputs.get("data")), sort_keys=True)
        settled = f"{name.rpartition('-')[0]}-{sha256(content.encode()).hexdigest()[:10]}"
        resource.inputs = {**resource.inputs, "metadata": {**metadata, "name": settled}}
