"""The parts of protobuf that the engine's protocol is spoken with.

protobuf ships no type information, so this is the one place that imports it.
"""

from __future__ import annotations

from google.protobuf import empty_pb2, struct_pb2  # type: ignore[import-untyped]  # no stubs
from google.protobuf.message import Message  # type: ignore[import-untyped]  # no stubs

__all__ = ["Message", "empty_pb2", "struct_pb2"]
