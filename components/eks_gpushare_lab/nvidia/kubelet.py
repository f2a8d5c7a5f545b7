"""The kubelet's side of the device plugin API: the socket where plugins register.

Source: Kubernetes, `pkg/kubelet/cm/devicemanager/plugin/v1beta1` and the API's `api.proto`. The
messages are described here, as far as the lab reads them: a field that it does not know stays
unread, as with any client of another version.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

import grpc  # type: ignore[import-untyped]  # no stubs
from google.protobuf import (  # type: ignore[import-untyped]  # no stubs
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)

if TYPE_CHECKING:
    from pathlib import Path

SOCKET = "kubelet.sock"
"""Name of the kubelet's socket in the folder of device plugins."""
VERSION = "v1beta1"
"""The version of the API that the kubelet speaks."""
_HEALTHY = "Healthy"
_CONNECT_SECONDS = 10.0

_FIELDS: dict[str, tuple[tuple[str, str], ...]] = {
    "Empty": (),
    "RegisterRequest": (("version", ""), ("endpoint", ""), ("resource_name", "")),
    "Device": (("ID", ""), ("health", "")),
    "ListAndWatchResponse": (("devices", "Device"),),
}
"""Names and, of those that are no text, types of the fields, which are numbered from 1 on."""


def _messages() -> dict[str, Any]:
    text, group = (
        descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        (descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE),
    )
    file = descriptor_pb2.FileDescriptorProto(
        name="eks_gpushare_lab/device_plugin.proto", package=VERSION, syntax="proto3"
    )
    for message, fields in _FIELDS.items():
        made = file.message_type.add(name=message)
        for number, (name, kind) in enumerate(fields, 1):
            field = made.field.add(name=name, number=number, type=group if kind else text)
            field.label = field.LABEL_REPEATED if kind else field.LABEL_OPTIONAL
            if kind:
                field.type_name = f".{VERSION}.{kind}"
    found = message_factory.GetMessages([file], pool=descriptor_pool.DescriptorPool())
    return {name.rpartition(".")[2]: item for name, item in found.items()}


MESSAGES = _messages()
"""The messages by their names."""


class Kubelet:
    """A registration socket in a folder. Use it in a `with` block."""

    def __init__(self, folder: Path) -> None:
        """Describe it.

        Args:
            folder: what plugins see as /var/lib/kubelet/device-plugins.
        """
        self._folder = folder
        self._seen = threading.Condition()
        self._counts: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._channels: list[grpc.Channel] = []
        self._server = grpc.server(_threads())
        handler = grpc.unary_unary_rpc_method_handler(
            self._register,
            request_deserializer=MESSAGES["RegisterRequest"].FromString,
            response_serializer=MESSAGES["Empty"].SerializeToString,
        )
        service = grpc.method_handlers_generic_handler(
            f"{VERSION}.Registration", {"Register": handler}
        )
        self._server.add_generic_rpc_handlers((service,))

    def __enter__(self) -> Self:
        self._server.add_insecure_port(f"unix:{self._folder / SOCKET}")
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        for channel in self._channels:
            channel.close()
        self._server.stop(0).wait()

    def counts(self) -> dict[str, int]:
        """Healthy devices of each plugin that has registered and listed them."""
        with self._seen:
            return dict(self._counts)

    def refused(self) -> dict[str, str]:
        """Why the devices of a resource are not taken, in the words of gRPC, by resource."""
        with self._seen:
            return dict(self._refused)

    def _register(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.version != VERSION:
            text = f"requested version {request.version!r} is not supported: {VERSION} is"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
        threading.Thread(
            target=self._list, args=(request.resource_name, request.endpoint), daemon=True
        ).start()
        return MESSAGES["Empty"]()

    def _list(self, resource: str, endpoint: str) -> None:
        """Follow a plugin's devices to its end, with the limits of the kubelet's client."""
        channel = grpc.insecure_channel(f"unix:{self._folder / endpoint}")
        self._channels.append(channel)
        listing = channel.unary_stream(
            f"/{VERSION}.DevicePlugin/ListAndWatch",
            request_serializer=MESSAGES["Empty"].SerializeToString,
            response_deserializer=MESSAGES["ListAndWatchResponse"].FromString,
        )
        try:
            for answer in listing(MESSAGES["Empty"](), wait_for_ready=True):
                healthy = sum(device.health == _HEALTHY for device in answer.devices)
                with self._seen:
                    self._counts[resource] = healthy
        except (grpc.RpcError, ValueError) as error:  # the latter once the channel is closed
            said = error.details() if isinstance(error, grpc.Call) else str(error)
            with self._seen:
                if resource not in self._counts:
                    self._refused[resource] = str(said)


def _threads() -> Any:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(4, "registration")
