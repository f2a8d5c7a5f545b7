"""A provider plugin that keeps what it is given: `python echo_provider.py PACKAGE VERSION`.

The engine starts it as it starts the real one. Creating, updating and deleting do nothing; what a
cloud would compute comes from the fakes of `eks_gpushare.program`. What an edit does, the
tables below know, and what EKS refuses of it, `EksService`. A preview refuses nothing, as with the
real provider, which asks AWS in an update only.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import (
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

from eks_gpushare.program.fakes.fakes import default_fakes
from eks_gpushare.program.protobuf import empty_pb2
from eks_gpushare.program.recording import Resource
from eks_gpushare.program.values import (
    UNKNOWN,
    UNKNOWN_SENTINEL,
    decode_properties,
    encode_properties,
    is_unknown,
)

if TYPE_CHECKING:
    from eks_gpushare.program.values import Properties

REPLACING = {
    # hashicorp/terraform-provider-aws, internal/service/eks/node_group.go: ForceNew.
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType",
        "capacityType",
        "clusterName",
        "diskSize",
        "instanceTypes",
        "launchTemplate.id",
        "launchTemplate.name",
        "nodeGroupName",
        "nodeRoleArn",
        "remoteAccess",
        "subnetIds",
    ),
    # The same, internal/service/ec2/ec2_launch_template.go, for this one; those from Subnet to
    # RolePolicyAttachment are what AWS is known to do and were not looked up.
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
    "aws:ec2/subnet:Subnet": ("availabilityZone", "cidrBlock", "vpcId"),
    "aws:ec2/vpc:Vpc": ("cidrBlock",),
    "aws:ec2/eip:Eip": ("domain",),
    "aws:ec2/natGateway:NatGateway": ("allocationId", "subnetId"),
    "aws:eks/addon:Addon": ("addonName", "clusterName"),
    "aws:eks/cluster:Cluster": (
        "bootstrapSelfManagedAddons",
        "encryptionConfig",
        "name",
        "roleArn",
    ),
    "aws:iam/role:Role": ("name", "namePrefix", "path"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("policyArn", "role"),
    "aws:cloudwatch/eventRule:EventRule": ("name", "namePrefix"),
    "aws:cloudwatch/eventTarget:EventTarget": ("rule", "targetId"),
    "aws:ec2/tag:Tag": ("key", "resourceId"),
    "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        "clusterName",
        "namespace",
        "serviceAccount",
    ),
    "aws:sqs/queue:Queue": ("name", "namePrefix"),
    "aws:amp/workspace:Workspace": ("kmsKeyArn",),
    "aws:amp/workspaceConfiguration:WorkspaceConfiguration": ("workspaceId",),
    "aws:amp/ruleGroupNamespace:RuleGroupNamespace": ("name", "workspaceId"),
    "aws:amp/scraper:Scraper": ("source",),
    "aws:cloudwatch/logGroup:LogGroup": ("name", "namePrefix"),
    "aws:sqs/queuePolicy:QueuePolicy": ("queueUrl",),
    # pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go and helm_release.go.
    "kubernetes:core/v1:ConfigMap": ("data", "immutable", "metadata.name", "metadata.namespace"),
    "kubernetes:core/v1:Namespace": ("metadata.name",),
    "kubernetes:helm.sh/v3:Release": ("name", "namespace"),
}
"""Properties whose change AWS or Kubernetes answers with another resource, by type."""

SETS = {("aws:eks/nodeGroup:NodeGroup", "subnetIds"), ("aws:eks/nodeGroup:NodeGroup", "taints")}
"""Lists whose order says nothing: sets in the provider's schema."""

STAYING = {"aws:eks/nodeGroup:NodeGroup": ("releaseVersion", "version")}
"""Optional and Computed in the provider's schema: without a value there is no difference."""

NAMED_BY_ID = {"aws:cloudwatch/logGroup:LogGroup": "name"}
"""What an import tells of one by its id: internal/service/logs/group.go, resourceGroupRead."""

PROVIDER_INPUTS = {"kubernetes": ("kubeconfig", "clusterIdentifier", "context")}
"""What programs in YAML give a provider, which are held against its schema."""

SUBNET = "aws:ec2/subnet:Subnet"
CLUSTER, NODE_GROUP = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
WITHOUT_NEW_VERSION = {"name", "namePrefix", "defaultVersion", "updateDefaultVersion"}


class EksService:
    """What EKS refuses of a cluster or node group, as it says it.

    Wordings and sources: aws/containers-roadmap#2258 (zones) and the API reference of
    UpdateClusterConfig (VPC), terraform-aws-modules/terraform-aws-eks#3521 (sizes),
    hashicorp/terraform-provider-aws#12675 (versions), and of CreateCluster and DeleteCluster the
    API reference. It knows of subnets and clusters what the engine has asked of it until then,
    which is all that the program still has.
    """

    def __init__(self) -> None:
        self._subnets: dict[object, tuple[object, object]] = {}
        self._clusters: set[object] = set()

    def see(self, token: str, identity: str, inputs: Properties) -> None:
        """Take notice of what is there."""
        if token == SUBNET:
            self._subnets[identity] = inputs.get("vpcId"), inputs.get("availabilityZone")
        if token == CLUSTER:
            self._clusters.add(inputs.get("name"))

    def creation(self, token: str, inputs: Properties) -> str:
        """Why it is not made; no text if it is."""
        if token == CLUSTER and inputs.get("name") in self._clusters:
            return f"ResourceInUseException: Cluster already exists with name: {inputs['name']}"
        return _wrong_sizes(inputs) if token == NODE_GROUP else ""

    def update(self, token: str, old: Properties, new: Properties) -> str:
        """Why it is not changed; no text if it is."""
        if token == NODE_GROUP:
            return _wrong_sizes(new)
        if token != CLUSTER:
            return ""
        if old["version"] != new["version"] and _minor(new) != _minor(old) + 1:
            versions = f"from {old['version']} to {new['version']}"
            return (
                f"InvalidParameterException: Unsupported Kubernetes minor version update {versions}"
            )
        vpcs, zones = zip(*(self._places(properties) for properties in (old, new)), strict=True)
        if vpcs[0] and vpcs[0] != vpcs[1]:
            return "InvalidParameterException: Provided subnets are not in the cluster's VPC"
        if zones[0] != zones[1]:
            given = ", ".join(sorted(map(str, zones[1])))
            return (
                f"InvalidParameterException: Provided subnets belong to the AZs {given}. But they "
                f"should belong to the exact set of AZs that the cluster was created with."
            )
        return ""

    def deletion(self, token: str, state: Properties) -> str:
        """Why it is not deleted; no text if it is."""
        if token == CLUSTER and state.get("deletionProtection"):
            return "InvalidRequestException: Cluster has deletion protection enabled"
        return ""

    def _places(self, cluster: Properties) -> tuple[set[object], set[object]]:
        """The VPC of its subnets, and their zones."""
        given = cluster["vpcConfig"]["subnetIds"]
        known = [self._subnets[each] for each in given if each in self._subnets]
        # A subnet that is no longer in the program was in a zone that none of the others is in.
        gone = {"another"} if len(known) < len(given) else set()
        return {vpc for vpc, _ in known}, {zone for _, zone in known} | gone


def _minor(cluster: Properties) -> int:
    return int(str(cluster["version"]).partition(".")[2])


def _wrong_sizes(group: Properties) -> str:
    low, desired, high = (
        int(group["scalingConfig"][f"{name}Size"]) for name in ("min", "desired", "max")
    )
    if low > desired:
        return (
            f"InvalidParameterException: Minimum capacity {low} can't be greater than desired size "
            f"{desired}"
        )
    if desired > high:
        return "InvalidParameterException: desiredSize can't be greater than maxSize"
    return ""


class Run:
    """What the fakes may ask and do, during one call of the engine."""

    def __init__(self, *, preview: bool, region: str) -> None:
        self._preview, self._region = preview, region

    @property
    def preview(self) -> bool:
        """Whether what an update would compute has to stay unknown."""
        return self._preview

    def region(self, provider: str = "") -> str:  # noqa: ARG002  (there is one)
        """The provider's region."""
        return self._region

    def assume(self, sentence: str) -> None:
        """Made up things are no news here."""

    def ask(self, token: str, args: Properties, provider: str = "") -> Properties:
        """What a look-up answers."""
        return default_fakes().invoke(self, token, args, provider)

    def resource(self, urn: str) -> Resource:
        """A resource that this call registered."""
        raise KeyError(urn)

    def register(self, request: resource_pb2.RegisterResourceRequest) -> Resource:
        """Only a component has children."""
        message = f"the echo provider constructs no component by itself: {request.type}"
        raise ValueError(message)


class Construction(Run):
    """The same for the construction of a component, whose children go to the engine."""

    def __init__(self, request: provider_pb2.ConstructRequest, region: str) -> None:
        super().__init__(preview=request.dryRun, region=region)
        self._references = {r.rpartition("::")[0]: r for r in request.providers.values()}
        self._known: dict[str, Resource] = {}
        self._channel = grpc.insecure_channel(request.monitorEndpoint)
        self._monitor = resource_pb2_grpc.ResourceMonitorStub(self._channel)

    @property
    def preview(self) -> bool:
        """Whether the cluster's address is unknown: a preview knows that of one that is there."""
        clusters = [r for r in self._known.values() if r.type == "aws:eks/cluster:Cluster"]
        return any(is_unknown(cluster.outputs.get("endpoint", UNKNOWN)) for cluster in clusters)

    def resource(self, urn: str) -> Resource:
        """A resource that this call registered, or that the engine knows."""
        if urn not in self._known:
            request = resource_pb2.ResourceInvokeRequest(
                tok="pulumi:pulumi:getResource",
                args=encode_properties({"urn": urn}),
                acceptResources=True,
            )
            found = decode_properties(getattr(self._monitor.Invoke(request), "return"))
            _, _, kind, name = urn.split("::", 3)
            self._known[urn] = Resource(
                urn,
                kind.rpartition("$")[2],
                name,
                outputs=found["state"],
                id=found.get("id") or UNKNOWN,
            )
        return self._known[urn]

    def register(self, request: resource_pb2.RegisterResourceRequest) -> Resource:
        """Register a child with the engine, at the version of the package that is installed here.

        As pulumi-eks does, at the versions it was built with. Without one, the engine would take
        what the program's language host says it needs, which not every host knows.
        """
        package = request.type.removeprefix("pulumi:providers:").partition(":")[0]
        if request.custom and package != "pulumi":
            request.version = request.version or version(f"pulumi-{package}")
        request.provider = self._references.get(request.provider.rpartition("::")[0], "")
        for package, reference in request.providers.items():
            request.providers[package] = self._references[reference.rpartition("::")[0]]
        request.acceptSecrets = request.acceptResources = request.supportsPartialValues = True
        answer = self._monitor.RegisterResource(request)
        resource = Resource(
            urn=answer.urn,
            type=request.type,
            name=request.name,
            parent=request.parent,
            custom=request.custom,
            inputs=decode_properties(request.object),
            outputs=decode_properties(answer.object),
            id=answer.id or (UNKNOWN if request.custom else ""),
            providers={
                package: reference.rpartition("::")[0]
                for package, reference in request.providers.items()
            },
        )
        self._known[answer.urn] = resource
        if resource.type.startswith("pulumi:providers:"):
            self._references[answer.urn] = f"{answer.urn}::{answer.id or UNKNOWN_SENTINEL}"
        return resource

    def ask(self, token: str, args: Properties, provider: str = "") -> Properties:
        """What the engine answers, for the provider that is asked."""
        request = resource_pb2.ResourceInvokeRequest(
            tok=token, args=encode_properties(args), provider=self._references.get(provider, "")
        )
        return decode_properties(getattr(self._monitor.Invoke(request), "return"))

    def finish(self, urn: str, outputs: Properties) -> None:
        """Tell the engine that a component is complete."""
        request = resource_pb2.RegisterResourceOutputsRequest(
            urn=urn, outputs=encode_properties(outputs)
        )
        self._monitor.RegisterResourceOutputs(request)
        self._channel.close()


class Echo(provider_pb2_grpc.ResourceProviderServicer):
    """The provider protocol, as far as the engine speaks it with this project's programs."""

    def __init__(self, package: str, version: str) -> None:
        self._package, self._version, self._region = package, version, ""
        self._fakes, self._eks = default_fakes(), EksService()

    def GetPluginInfo(self, _request: object, _context: object) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._version)

    def Attach(self, _request: object, _context: object) -> empty_pb2.Empty:
        """An engine that did not start it says where it is; nothing is asked of the engine."""
        return empty_pb2.Empty()

    def GetSchema(self, _request: object, _context: object) -> provider_pb2.GetSchemaResponse:
        """What other packages and programs in YAML need of it: its packages, and its provider."""
        base = f"github.com/pulumi/pulumi-{self._package}/sdk/v{self._version.partition('.')[0]}/go"
        language = {"go": {"importBasePath": f"{base}/{self._package}"}}
        inputs = {key: {"type": "string"} for key in PROVIDER_INPUTS.get(self._package, ())}
        schema = {
            "name": self._package,
            "version": self._version,
            "language": language,
            "provider": {"inputProperties": inputs},
        }
        return provider_pb2.GetSchemaResponse(schema=json.dumps(schema))

    def CheckConfig(
        self, request: provider_pb2.CheckRequest, _context: object
    ) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Configure(
        self, request: provider_pb2.ConfigureRequest, _context: object
    ) -> provider_pb2.ConfigureResponse:
        self._region = request.variables.get("aws:config:region", "")
        self._eks = EksService()  # what another call has seen is of another account
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, acceptResources=True, acceptOutputs=True, supportsPreview=True
        )

    def DiffConfig(
        self, request: provider_pb2.DiffRequest, _context: object
    ) -> provider_pb2.DiffResponse:
        return _config_diff(decode_properties(request.olds), decode_properties(request.news))

    def Check(
        self, request: provider_pb2.CheckRequest, _context: object
    ) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(
        self, request: provider_pb2.DiffRequest, _context: object
    ) -> provider_pb2.DiffResponse:
        old, new = decode_properties(request.old_inputs), decode_properties(request.news)
        self._eks.see(_type_of(request.urn), request.id, old)
        return _diff(_type_of(request.urn), old, new)

    def Create(
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        token, inputs = _type_of(request.urn), decode_properties(request.properties)
        if not request.preview:
            _refuse(context, self._eks.creation(token, inputs))
        outputs, identity = self._made(request)
        self._eks.see(token, identity, inputs)
        return provider_pb2.CreateResponse(
            id="" if request.preview else identity, properties=encode_properties(outputs)
        )

    def Update(
        self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.UpdateResponse:
        new, old = decode_properties(request.news), decode_properties(request.olds)
        before = decode_properties(request.old_inputs)
        if not request.preview:
            _refuse(context, self._eks.update(_type_of(request.urn), before, new))
        computed = {key: value for key, value in old.items() if key not in before}
        if _type_of(request.urn) == LAUNCH_TEMPLATE:
            changed = {key for key in {*new, *before} if new.get(key) != before.get(key)}
            computed["latestVersion"] = _latest_version(
                old["latestVersion"], changed, preview=request.preview
            )
        return provider_pb2.UpdateResponse(properties=encode_properties({**computed, **new}))

    def Delete(
        self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        state = decode_properties(request.properties)
        _refuse(context, self._eks.deletion(_type_of(request.urn), state))
        return empty_pb2.Empty()

    def Read(
        self, request: provider_pb2.ReadRequest, _context: object
    ) -> provider_pb2.ReadResponse:
        properties, inputs = request.properties, request.inputs
        key = NAMED_BY_ID.get(_type_of(request.urn))
        if key and not inputs.fields:  # an import
            properties = inputs = encode_properties({key: request.id})
        return provider_pb2.ReadResponse(id=request.id, properties=properties, inputs=inputs)

    def Invoke(
        self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.InvokeResponse:
        args = decode_properties(request.args)
        if args.get("name") == "nope":
            # What the AWS provider says of a cluster that is not there.
            context.abort(
                grpc.StatusCode.UNKNOWN, "reading EKS Cluster (nope): couldn't find resource"
            )
        answer = self._fakes.invoke(self._run(preview=False), request.tok, args, "")
        return provider_pb2.InvokeResponse(**{"return": encode_properties(answer)})

    def Construct(
        self, request: provider_pb2.ConstructRequest, _context: object
    ) -> provider_pb2.ConstructResponse:
        run = Construction(request, self._region)
        component = run.register(
            resource_pb2.RegisterResourceRequest(
                type=request.type,
                name=request.name,
                parent=request.parent,
                object=request.inputs,
                providers=request.providers,
                protect=request.protect,
                aliases=request.aliases,
            )
        )
        outputs = self._fakes.construct(run, component)
        run.finish(component.urn, outputs)
        return provider_pb2.ConstructResponse(urn=component.urn, state=encode_properties(outputs))

    def Cancel(self, _request: object, _context: object) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def _run(self, *, preview: bool) -> Run:
        return Run(preview=preview, region=self._region)

    def _made(self, request: provider_pb2.CreateRequest) -> tuple[Properties, str]:
        # A replacement is another thing with another id: both follow from the inputs.
        content = sha256(request.properties.SerializeToString(deterministic=True)).hexdigest()
        made = Resource(
            urn=f"{request.urn}#{content}",
            type=_type_of(request.urn),
            name=request.urn.rpartition("::")[2],
            inputs=decode_properties(request.properties),
        )
        self._fakes.create(self._run(preview=request.preview), made)
        return made.outputs, str(made.id)


def _refuse(context: grpc.ServicerContext, why: str) -> None:
    if why:
        context.abort(grpc.StatusCode.UNKNOWN, f"operation error EKS: {why}")


def _type_of(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _latest_version(known: int, changed: set[str], *, preview: bool) -> object:
    """Of a launch template; internal/service/ec2/ec2_launch_template.go, CustomizeDiff, updateKeys.

    A preview takes changed tags for a new version, which the update then does not make.
    """
    if preview:
        return UNKNOWN if changed - {*WITHOUT_NEW_VERSION, "description"} else known
    return known + 1 if changed - {*WITHOUT_NEW_VERSION, "tags"} else known


def _diff(token: str, old: Properties, new: Properties) -> provider_pb2.DiffResponse:
    changed = [
        key
        for key in sorted({*old, *new})
        if (key in new or key not in STAYING.get(token, ()))
        and _comparable(token, key, old.get(key)) != _comparable(token, key, new.get(key))
    ]
    replacing = [
        path for path in _replacing(token) if _at(token, old, path) != _at(token, new, path)
    ]
    kubernetes = token.startswith("kubernetes:")
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME
        if changed
        else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=changed,
        replaces=replacing,
        # Two objects of one name cannot be there at once.
        deleteBeforeReplace=kubernetes and bool(replacing) and "metadata.name" not in replacing,
    )


def _replacing(token: str) -> tuple[str, ...]:
    """What replaces a resource; an object of Kubernetes is another one by its name and namespace.

    pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go, metadataForceNewProperties.
    """
    of_objects = ("metadata.name", "metadata.namespace") if token.startswith("kubernetes:") else ()
    return REPLACING.get(token, of_objects)


def _at(token: str, properties: Properties, path: str) -> object:
    key, _, inner = path.partition(".")
    value = properties.get(key)
    if inner and isinstance(value, dict):
        return value.get(inner)
    return _comparable(token, key, value)


def _comparable(token: str, key: str, value: object) -> object:
    if (token, key) in SETS and isinstance(value, list):
        return sorted(value, key=str)
    return value


def _config_diff(old: Properties, new: Properties) -> provider_pb2.DiffResponse:
    """pulumi/pulumi-kubernetes, provider/pkg/provider/provider.go, DiffConfig, but stricter.

    Without an identifier any change replaces; the real one replaces if the cluster's entry changed.
    """
    changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    identifier = new.get("clusterIdentifier")
    same_cluster = isinstance(identifier, str) and identifier == old.get("clusterIdentifier")
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME
        if changed
        else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=changed,
        replaces=[] if same_cluster else changed,
    )


def main() -> None:
    """Serve until the engine ends the process; it reads the port from standard output."""
    package, version = sys.argv[1:3]
    server = grpc.server(ThreadPoolExecutor(16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Echo(package, version), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):  # how the engine ends it after a refusal
        server.wait_for_termination()


if __name__ == "__main__":
    main()
