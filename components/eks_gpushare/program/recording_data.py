"""A recording as data: what a process that ran a program hands to one that judges it.

The program may have put anything into its process, so what comes from there is JSON and nothing
that runs when it is read.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.recording import Message, ProgramError, Recording, Resource
from eks_gpushare.program.values import from_data, to_data

if TYPE_CHECKING:
    from collections.abc import Mapping

_RESOURCE = tuple(each.name for each in fields(Resource))


def recording_to_bytes(recording: Recording) -> bytes:
    """The recording without the exception that stopped its program."""
    error = recording.error
    data = {
        "project": recording.project,
        "stack": recording.stack,
        "preview": recording.preview,
        "resources": [[to_data(getattr(r, key)) for key in _RESOURCE] for r in recording.resources],
        "messages": [message.as_json() for message in recording.messages],
        "outputs": to_data(recording.outputs),
        "calls": to_data(recording.calls),
        "assumptions": recording.assumptions,
        "packageConfig": recording.package_config,
        "error": None if error is None else {**error.as_json(), "traceback": error.traceback},
    }
    return json.dumps(data, separators=(",", ":"), check_circular=False).encode()


def recording_from(data: Mapping[str, Any]) -> Recording:
    """The recording that was written.

    Raises:
        Exception: Of any kind, if it is something else: whoever wrote it is not trusted.
    """
    error = data["error"]
    return Recording(
        str(data["project"]),
        str(data["stack"]),
        data["preview"] is True,
        [_resource(given) for given in data["resources"]],
        [
            Message(str(m["severity"]), str(m["text"]), str(m["urn"] or ""))
            for m in data["messages"]
        ],
        from_data(data["outputs"]),
        [(str(token), from_data(given)) for token, given in data["calls"]],
        [str(assumed) for assumed in data["assumptions"]],
        None
        if error is None
        else ProgramError(
            str(error["type"]),
            str(error["text"]),
            str(error["source"] or ""),
            str(error["traceback"]),
        ),
        {
            str(package): {str(key): str(value) for key, value in given.items()}
            for package, given in data["packageConfig"].items()
        },
    )


def _resource(given: list[Any]) -> Resource:
    read = dict(zip(_RESOURCE, map(from_data, given), strict=True))
    dependencies = {key: tuple(urns) for key, urns in read["property_dependencies"].items()}
    for key in ("urn", "type", "name"):
        if not isinstance(read[key], str):
            raise TypeError(key)
    return Resource(
        **{
            **read,
            "dependencies": tuple(read["dependencies"]),
            "property_dependencies": dependencies,
        }
    )
