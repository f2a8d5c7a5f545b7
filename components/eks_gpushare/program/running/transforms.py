"""Transforms: functions of the program that may rewrite what is registered.

The engine runs a resource's own transforms first, then those of its parents from the nearest up,
then those of the stack (pulumi/pulumi, ``pkg/resource/deploy/source_eval.go``). The functions live
in the program, so the engine calls back.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.proto import callback_pb2, resource_pb2
from pulumi.runtime.sync_await import _sync_await

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.program.protobuf import Message

LOCAL_TARGET = "in-process"
"""The address that callbacks of a program in this process carry instead of a port."""

_TIMEOUT_SECONDS = 60
_Response = TypeVar("_Response", bound="Message")


class LocalCallbacks(_CallbackServicer):
    """The program's callbacks, called directly.

    The SDK would start a ``grpc.aio`` server for them. Stopping that right after its start, as
    happens when a program fails at once, can crash the interpreter (seen with grpcio 1.85). The
    base class's list of running servers is left alone for the same reason: its shutdown must not
    find this object.
    """

    def __init__(self, monitor: Any) -> None:
        """Make callbacks for the running event loop; `monitor` is told of what is registered."""
        self._callbacks = {}
        self._transforms = {}
        self._state_migrations = {}
        self._monitor = monitor
        self._loop = asyncio.get_running_loop()
        self._target = LOCAL_TARGET

    def call(self, token: str, request: bytes) -> Message:
        """Run the callback `token` and return what it answers."""
        callback = self._callbacks[token]
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            return _sync_await(callback(request))

        async def answer() -> Message:
            return await callback(request)

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(_TIMEOUT_SECONDS)


class Transforms:
    """Every transform that was registered, and how to run those that apply."""

    def __init__(self) -> None:
        """Begin without any."""
        self.local: LocalCallbacks | None = None
        """Set when the program runs in this process."""
        self._stack: list[callback_pb2.Callback] = []
        self._functions: list[callback_pb2.Callback] = []
        self._of_resource: dict[str, list[callback_pb2.Callback]] = {}

    def add_for_stack(self, callback: callback_pb2.Callback) -> None:
        """Register a transform of every resource of the stack."""
        self._stack.append(callback)

    def add_for_functions(self, callback: callback_pb2.Callback) -> None:
        """Register a transform of every function call of the stack."""
        self._functions.append(callback)

    def keep(self, urn: str, callbacks: list[callback_pb2.Callback]) -> None:
        """Remember the transforms of a registered resource: they apply to its children too."""
        if callbacks:
            self._of_resource[urn] = callbacks

    def apply(
        self,
        request: resource_pb2.RegisterResourceRequest,
        parents: Mapping[str, str],
    ) -> resource_pb2.RegisterResourceRequest:
        """`request` as the transforms leave it; `parents` maps URN to the parent's URN."""
        if not (request.transforms or self._stack or self._of_resource):
            return request
        callbacks = list(request.transforms)
        ancestor = request.parent
        while ancestor:
            callbacks += self._of_resource.get(ancestor, ())
            ancestor = parents.get(ancestor, "")
        callbacks += self._stack
        if not callbacks:
            return request
        transformed = resource_pb2.RegisterResourceRequest()
        transformed.CopyFrom(request)
        for callback in callbacks:
            self._apply_one(callback, transformed)
        return transformed

    def _apply_one(
        self, callback: callback_pb2.Callback, request: resource_pb2.RegisterResourceRequest
    ) -> None:
        question = resource_pb2.TransformRequest(
            type=request.type,
            name=request.name,
            custom=request.custom,
            parent=request.parent,
            properties=request.object,
            options=_options_of(request),
        )
        answer = self._call(callback, question, resource_pb2.TransformResponse)
        if answer.HasField("properties"):
            request.object.CopyFrom(answer.properties)
        if answer.HasField("options"):
            _set_options(request, answer.options)
        for key in set(request.propertyDependencies) - set(request.object.fields):
            del request.propertyDependencies[key]

    def apply_to_function(
        self, request: resource_pb2.ResourceInvokeRequest
    ) -> resource_pb2.ResourceInvokeRequest:
        """The function call as the stack's function transforms leave it."""
        if not self._functions:
            return request
        transformed = resource_pb2.ResourceInvokeRequest()
        transformed.CopyFrom(request)
        for callback in self._functions:
            question = resource_pb2.TransformInvokeRequest(
                token=transformed.tok,
                args=transformed.args,
                options=resource_pb2.TransformInvokeOptions(
                    provider=transformed.provider,
                    plugin_download_url=transformed.pluginDownloadURL,
                    version=transformed.version,
                ),
            )
            answer = self._call(callback, question, resource_pb2.TransformInvokeResponse)
            if answer.HasField("args"):
                transformed.args.CopyFrom(answer.args)
            if answer.HasField("options"):
                transformed.provider = answer.options.provider
                transformed.pluginDownloadURL = answer.options.plugin_download_url
                transformed.version = answer.options.version
        return transformed

    def _call(
        self, callback: callback_pb2.Callback, question: Message, kind: Callable[[], _Response]
    ) -> _Response:
        answer = kind()
        if self.local is not None and callback.target == LOCAL_TARGET:
            answer.MergeFromString(
                self.local.call(callback.token, question.SerializeToString()).SerializeToString()
            )
            return answer
        response = _remote(callback.target).Invoke(
            callback_pb2.CallbackInvokeRequest(
                token=callback.token, request=question.SerializeToString()
            ),
            timeout=_TIMEOUT_SECONDS,
        )
        answer.MergeFromString(response.response)
        return answer


def _remote(target: str) -> Any:
    """A client of the callback server at `target`, for programs in another process."""
    import grpc  # type: ignore[import-untyped]
    from pulumi.runtime.proto import callback_pb2_grpc

    return callback_pb2_grpc.CallbacksStub(grpc.insecure_channel(target))


# RegisterResourceRequest's name of an option, and TransformResourceOptions' name of the same.
_SCALARS = {
    "importId": "import",
    "version": "version",
    "provider": "provider",
    "pluginDownloadURL": "plugin_download_url",
    "deletedWith": "deleted_with",
}
_OPTIONAL_SCALARS = {"protect": "protect", "retainOnDelete": "retain_on_delete"}
_LISTS = {
    "dependencies": "depends_on",
    "ignoreChanges": "ignore_changes",
    "replaceOnChanges": "replace_on_changes",
    "aliases": "aliases",
    "additionalSecretOutputs": "additional_secret_outputs",
    "hideDiffs": "hide_diff",
    "replace_with": "replace_with",
}
_MESSAGES = {
    "customTimeouts": "custom_timeouts",
    "hooks": "hooks",
    "replacement_trigger": "replacement_trigger",
}


def _options_of(
    request: resource_pb2.RegisterResourceRequest,
) -> resource_pb2.TransformResourceOptions:
    options = resource_pb2.TransformResourceOptions()
    for ours, theirs in _SCALARS.items():
        setattr(options, theirs, getattr(request, ours))
    for ours, theirs in _OPTIONAL_SCALARS.items():
        if request.HasField(ours):  # type: ignore[arg-type]  # the stub lists literals
            setattr(options, theirs, getattr(request, ours))
    for ours, theirs in _LISTS.items():
        getattr(options, theirs).extend(getattr(request, ours))
    for ours, theirs in _MESSAGES.items():
        if request.HasField(ours):  # type: ignore[arg-type]  # the stub lists literals
            getattr(options, theirs).CopyFrom(getattr(request, ours))
    if request.deleteBeforeReplaceDefined:
        options.delete_before_replace = request.deleteBeforeReplace
    options.providers.update(request.providers)
    return options


def _set_options(
    request: resource_pb2.RegisterResourceRequest, options: resource_pb2.TransformResourceOptions
) -> None:
    for ours, theirs in _SCALARS.items():
        setattr(request, ours, getattr(options, theirs))
    for ours, theirs in (*_OPTIONAL_SCALARS.items(), *_MESSAGES.items()):
        request.ClearField(ours)  # type: ignore[arg-type]  # the stub lists literals
        if options.HasField(theirs):  # type: ignore[arg-type]  # the stub lists literals
            value = getattr(options, theirs)
            if ours in _MESSAGES:
                getattr(request, ours).CopyFrom(value)
            else:
                setattr(request, ours, value)
    for ours, theirs in _LISTS.items():
        request.ClearField(ours)  # type: ignore[arg-type]  # the stub lists literals
        getattr(request, ours).extend(getattr(options, theirs))
    request.deleteBeforeReplaceDefined = options.HasField("delete_before_replace")
    request.deleteBeforeReplace = options.delete_before_replace
    request.ClearField("providers")
    request.providers.update(options.providers)
    for dependencies in request.propertyDependencies.values():
        missing = set(dependencies.urns) - set(request.dependencies)
        request.dependencies.extend(sorted(missing))
