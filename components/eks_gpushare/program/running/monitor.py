"""The engine's side of a run: a resource monitor that records instead of deploying.

One object serves as the SDK's monitor directly, without a network, and behind a gRPC server. What a
program can run into is the engine's: URNs with the whole chain of parent types, no URN twice, no
parent or dependency that was not registered, transforms.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from pulumi.runtime.proto import (
    provider_pb2,
    resource_pb2,
    resource_pb2_grpc,
)

from eks_gpushare.program import registration
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.protobuf import empty_pb2
from eks_gpushare.program.recording import (
    PROVIDER_TYPE_PREFIX,
    STACK_TYPE,
    Recording,
    Resource,
)
from eks_gpushare.program.running.transforms import Transforms
from eks_gpushare.program.sources import line_of_registration
from eks_gpushare.program.values import (
    UNKNOWN,
    UNKNOWN_SENTINEL,
    Properties,
    decode_properties,
    encode_properties,
    known_alone,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pulumi.runtime.proto import callback_pb2

    from eks_gpushare.program.fakes.fakes import Fakes
    from eks_gpushare.program.protobuf import Message as ProtobufMessage

_REQUEST = TypeVar("_REQUEST", bound="ProtobufMessage")
_RESPONSE = TypeVar("_RESPONSE", bound="ProtobufMessage")

_FEATURES = (
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACE_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACEMENT_TRIGGER,
    resource_pb2.RESOURCE_MONITOR_FEATURE_TRANSFORMS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_INVOKE_TRANSFORMS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_PARAMETERIZATION,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_HOOKS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS,
)

_GET_RESOURCE = "pulumi:pulumi:getResource"


def resource_urn(stack: str, project: str, parent: str, type_token: str, name: str) -> str:
    """The URN that the engine gives a resource.

    The qualified type names every ancestor's type except the stack's (sdk/go, ``urn.New``), for
    example ``demo:a:A$aws:ec2/vpc:Vpc``. `parent` is the parent's URN or ``""``.
    """
    qualified = type_token
    if parent:
        parent_type = parent.split("::")[2]
        if parent_type != STACK_TYPE:
            qualified = f"{parent_type}${type_token}"
    return f"urn:pulumi:{stack}::{project}::{qualified}::{name}"


def _answers(
    method: Callable[[Monitor, _REQUEST], _RESPONSE],
) -> Callable[..., _RESPONSE]:
    """Make `method` an RPC: over gRPC its errors become a status, in-process they pass."""

    @functools.wraps(method)
    def rpc(self: Monitor, request: _REQUEST, context: Any = None) -> _RESPONSE:
        try:
            return method(self, request)
        except Exception as error:
            if isinstance(error, PlanError) and error.source:
                self.failure_lines[str(error)] = error.source
            if context is None:
                raise
            import grpc  # type: ignore[import-untyped]

            context.abort(grpc.StatusCode.UNKNOWN, str(error))
            raise

    return rpc


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """Records registrations and answers them with fakes for the providers."""

    def __init__(
        self, recording: Recording, fakes: Fakes, config: Mapping[str, str] | None = None
    ) -> None:
        """Record into `recording`; `config` is the stack's, for its ``aws:region``."""
        self.recording = recording
        self.preview = recording.preview
        self.config = dict(config or {})
        self.transforms = Transforms()
        self.failure_lines: dict[str, str] = {}
        """Message of a failed registration to the user's line, for errors that lost theirs."""
        self._fakes = fakes
        self._by_urn: dict[str, Resource] = {}
        self._parents: dict[str, str] = {}
        self._packages = 0
        self._lock = threading.Lock()

    # What fakes may ask and do.

    def resource(self, urn: str) -> Resource:
        """A registered resource. Raises `PlanError` if there is none with this URN."""
        try:
            return self._by_urn[urn]
        except KeyError:
            msg = f"no resource has the URN {urn!r}"
            raise PlanError(msg) from None

    def assume(self, sentence: str) -> None:
        """Note in the recording, once, something that was made up."""
        if sentence not in self.recording.assumptions:
            self.recording.assumptions.append(sentence)

    def region(self, provider: str = "") -> str:
        """The AWS region of the provider with this URN, else the stack's ``aws:region``.

        It is ``""`` where neither is known.
        """
        if provider:
            region = self.resource(provider).inputs.get("region")
            if isinstance(region, str):
                return region
        return self.config.get("aws:region", "")

    def ask(self, token: str, args: Properties, provider: str = "") -> Properties:
        """What a function answers, as the plugin of a remote component asks it."""
        self.recording.calls.append((token, args))
        return self._fakes.invoke(self, token, args, provider)

    def register(self, request: resource_pb2.RegisterResourceRequest) -> Resource:
        """Register a child as the plugin of a remote component would, and return it."""
        return self._register(request, assumed=True)

    # The protocol.

    @_answers
    def GetDeploymentInfo(self, _request: empty_pb2.Empty) -> resource_pb2.DeploymentInfo:
        """Say what this monitor supports."""
        return resource_pb2.DeploymentInfo(supportedFeatures=_FEATURES)

    @_answers
    def SupportsFeature(
        self, _request: resource_pb2.SupportsFeatureRequest
    ) -> resource_pb2.SupportsFeatureResponse:
        """Say yes to older programs, which ask one by one."""
        return resource_pb2.SupportsFeatureResponse(hasSupport=True)

    @_answers
    def RegisterResource(
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Record a registration and answer it."""
        resource = self._register(request)
        return resource_pb2.RegisterResourceResponse(
            urn=resource.urn,
            id=_id_on_the_wire(resource),
            object=encode_properties(resource.outputs),
        )

    @_answers
    def ReadResource(
        self, request: resource_pb2.ReadResourceRequest
    ) -> resource_pb2.ReadResourceResponse:
        """Record a resource that exists already and is only read."""
        source = line_of_registration(request.stackTrace.frames)
        resource = Resource(
            urn=self._urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent,
            inputs=decode_properties(request.properties),
            id=UNKNOWN if request.id == UNKNOWN_SENTINEL else request.id,
            dependencies=tuple(sorted(request.dependencies)),
            provider=registration.provider_urn(request.provider),
            source=source,
            existing=True,
        )
        self._add(resource)
        self._fakes.read(self, resource)
        return resource_pb2.ReadResourceResponse(
            urn=resource.urn,
            id=_id_on_the_wire(resource),
            properties=encode_properties(resource.outputs),
        )

    @_answers
    def RegisterResourceOutputs(
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        """Record the outputs of a component or of the stack."""
        resource = self.resource(request.urn)
        resource.outputs = decode_properties(request.outputs)
        if resource.type == STACK_TYPE:
            self.recording.outputs = resource.outputs
        return empty_pb2.Empty()

    @_answers
    def Invoke(
        self, request: resource_pb2.ResourceInvokeRequest
    ) -> resource_pb2.ResourceInvokeResponse:
        """Answer a function call, such as a data source."""
        if request.tok == _GET_RESOURCE:
            resource = self.resource(request.args.fields["urn"].string_value)
            state: Properties = {
                "urn": resource.urn,
                "id": _id_on_the_wire(resource),
                "state": resource.outputs,
            }
            return _invoked(state)
        request = self.transforms.apply_to_function(request)
        provider = registration.provider_urn(request.provider)
        args = known_alone(decode_properties(request.args))
        self.recording.calls.append((request.tok, args))
        try:
            answer = self._fakes.invoke(self, request.tok, args, provider)
        except PlanError as error:
            error.source = error.source or line_of_registration(request.stackTrace.frames)
            raise
        return _invoked(answer)

    @_answers
    def Call(self, request: resource_pb2.ResourceCallRequest) -> provider_pb2.CallResponse:
        """Answer a method call on a component."""
        answer = self._fakes.call(self, request.tok, decode_properties(request.args))
        response = provider_pb2.CallResponse()
        getattr(response, "return").CopyFrom(encode_properties(answer))
        return response

    @_answers
    def RegisterPackage(
        self, _request: resource_pb2.RegisterPackageRequest
    ) -> resource_pb2.RegisterPackageResponse:
        """Give a parameterized package a reference."""
        with self._lock:
            self._packages += 1
            return resource_pb2.RegisterPackageResponse(ref=f"package-{self._packages}")

    @_answers
    def RegisterStackTransform(self, request: callback_pb2.Callback) -> empty_pb2.Empty:
        """Take a transform of every resource."""
        self.transforms.add_for_stack(request)
        return empty_pb2.Empty()

    @_answers
    def RegisterStackInvokeTransform(self, request: callback_pb2.Callback) -> empty_pb2.Empty:
        """Take a transform of every function call."""
        self.transforms.add_for_functions(request)
        return empty_pb2.Empty()

    @_answers
    def RegisterResourceHook(
        self, _request: resource_pb2.RegisterResourceHookRequest
    ) -> empty_pb2.Empty:
        """Accept a hook; nothing is deployed, so it never runs."""
        return empty_pb2.Empty()

    @_answers
    def RegisterErrorHook(self, _request: resource_pb2.RegisterErrorHookRequest) -> empty_pb2.Empty:
        """Accept a hook; nothing is deployed, so it never runs."""
        return empty_pb2.Empty()

    @_answers
    def SignalAndWaitForShutdown(self, _request: empty_pb2.Empty) -> empty_pb2.Empty:
        """Let the program end at once."""
        return empty_pb2.Empty()

    # How a registration is taken.

    def _register(
        self, request: resource_pb2.RegisterResourceRequest, *, assumed: bool = False
    ) -> Resource:
        own_transforms = list(request.transforms)
        self._inherit(request)
        request = self.transforms.apply(request, self._parents)
        resource = registration.resource_of(request)
        resource.assumed = assumed
        resource.parent = self._fakes.parent_of(resource)
        resource.urn = self._urn(resource.parent, resource.type, resource.name)
        try:
            self._add(resource)
            self.transforms.keep(resource.urn, own_transforms)
            if resource.remote:
                resource.outputs = self._fakes.construct(self, resource)
            elif resource.custom:
                self._fakes.create(self, resource)
            else:
                resource.outputs = {}
        except PlanError as error:
            error.source = error.source or resource.source
            raise
        return resource

    def _inherit(self, request: resource_pb2.RegisterResourceRequest) -> None:
        """Hand down what a parent protects or keeps to a child that does not say.

        pulumi/pulumi, pkg/resource/deploy/source_eval.go, inheritFromParent. SDKs do the same, and
        the engine does it for the children of components in other processes.
        """
        parent = self._by_urn.get(request.parent)
        if parent is None:
            return
        if not request.HasField("protect") and parent.protect:
            request.protect = True
        if not request.HasField("retainOnDelete") and parent.options.get("retainOnDelete"):
            request.retainOnDelete = True

    def _add(self, resource: Resource) -> None:
        self._check_references(resource)
        with self._lock:
            if resource.urn in self._by_urn:
                first = self._by_urn[resource.urn].source
                already = f" (the first is at {first})" if first else ""
                msg = (
                    f"Duplicate resource URN '{resource.urn}'; try giving it a unique name{already}"
                )
                raise PlanError(msg, resource.source)
            self._by_urn[resource.urn] = resource
            self._parents[resource.urn] = resource.parent
            self.recording.resources.append(resource)

    def _check_references(self, resource: Resource) -> None:
        if resource.parent:
            self._check_known((resource.parent,), "parent", resource)
        self._check_known(resource.dependencies, "dependency", resource)
        providers = (*resource.providers.values(), *filter(None, (resource.provider,)))
        self._check_known(providers, "provider", resource)
        for provider in providers:
            if not self._by_urn[provider].type.startswith(PROVIDER_TYPE_PREFIX):
                msg = f"{resource.urn}: the provider {provider} is not a provider resource"
                raise PlanError(msg, resource.source)

    def _check_known(self, urns: Iterable[str], role: str, resource: Resource) -> None:
        for urn in urns:
            if urn not in self._by_urn:
                msg = f"{resource.urn}: the {role} {urn!r} is not registered"
                raise PlanError(msg, resource.source)

    def _urn(self, parent: str, type_token: str, name: str) -> str:
        return resource_urn(self.recording.stack, self.recording.project, parent, type_token, name)


def _id_on_the_wire(resource: Resource) -> str:
    return "" if resource.id is UNKNOWN else str(resource.id)


def _invoked(answer: Properties) -> resource_pb2.ResourceInvokeResponse:
    response = resource_pb2.ResourceInvokeResponse()
    getattr(response, "return").CopyFrom(encode_properties(answer))
    return response
