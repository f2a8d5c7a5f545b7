"""HTTP requests to AWS, answered by moto and by what is here in place of parts of it."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.request import Request

from eks_gpushare_lab.cloud import prices
from eks_gpushare_lab.cloud.account import ACCOUNT_ID
from eks_gpushare_lab.cloud.answers import Answer, as_json, refused
from eks_gpushare_lab.cloud.ec2 import Ec2, known_types
from eks_gpushare_lab.cloud.images import MachineImage, image_at

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCOPE_PARTS = 5
_ACTION = re.compile(r"(?s)(?:.*&)?Action=([A-Za-z0-9]+).*")
_GLOBAL = ("iam", "sts")
"""Services whose address names no region."""
_WAITING = ("sqs",)
"""Services whose requests may wait for something: they are answered beside the others."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it came in, and for what it is signed."""

    service: str
    region: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def url(self) -> str:
        """Where AWS would have it."""
        region = "" if self.service in _GLOBAL else f"{self.region}."
        return f"https://{self.service}.{region}amazonaws.com{self.path}"

    @property
    def action(self) -> str:
        """What is asked, for people."""
        target = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        asked = target or _ACTION.sub(r"\1", self.body[:200].decode(errors="replace"))
        named = asked.isascii() and asked.isalnum() and asked
        return f"{self.service} {named or f'{self.method} {self.path}'}"


class Aws:
    """Answers what a controller asks of AWS."""

    def __init__(self, images: dict[str, MachineImage]) -> None:
        """Keep AMIs that are asked for in `images`, by id."""
        self._images = images
        self._moto = BotocoreStubber()
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer a request that is signed for a service in a region."""
        scope = _scope(headers)
        if scope is None:
            return refused(403, "MissingAuthenticationToken", "the request is not signed")
        call = Call(*scope, method, path, headers, body)
        if call.service in _WAITING:
            answer = self._of_moto(call)
        else:
            with self._lock:
                answer = self._at_once(call)
        answer.action = call.action
        return answer

    def _at_once(self, call: Call) -> Answer:
        if call.service == "ec2":
            request = Request.from_primitives(call.method, call.url, call.headers, call.body)
            return _answer(Ec2.dispatch(request, request.raw_url, request.headers))
        if call.service == "pricing":
            return _pricing(call.body)
        if call.service == "ssm":
            return self._parameter(call)
        return self._of_moto(call)

    def _of_moto(self, call: Call) -> Answer:
        headers = HTTPHeaders()
        for key, value in call.headers.items():
            headers[key] = value
        request = AWSPreparedRequest(call.method, call.url, headers, call.body, stream_output=False)
        found = self._moto.process_request(request)
        if found is None:
            return refused(501, "NotImplemented", f"the lab emulates no {call.service}")
        return _answer(found)

    def _parameter(self, call: Call) -> Answer:
        name = str(json.loads(call.body).get("Name", ""))
        image = image_at(name)
        if image is None:
            return refused(400, "ParameterNotFound", f"parameter {name} is none of an AMI")
        if image.id not in self._images:
            self._register(image, call.region)
        value = {"Name": name, "Type": "String", "Value": image.id, "Version": 1}
        return as_json({"Parameter": value})

    def _register(self, image: MachineImage, region: str) -> None:
        from moto.backends import get_backend
        from moto.ec2.models.amis import Ami

        backend: Any = get_backend("ec2")[ACCOUNT_ID][region]
        made = Ami(
            backend,
            image.id,
            name=image.name,
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            architecture=image.architecture,
            root_device_name="/dev/xvda",
        )
        backend.amis[image.id] = made
        self._images[image.id] = image


def _pricing(body: bytes) -> Answer:
    asked = {load["Field"]: load["Value"] for load in json.loads(body).get("Filters", ())}
    metal = "metal" in asked.get("productFamily", "")
    found = prices.price_list(known_types(), asked.get("regionCode", ""), metal=metal)
    return as_json(
        {"FormatVersion": "aws_v1", "PriceList": [json.dumps(product) for product in found]}
    )


def _scope(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Service and region that a request is signed for."""
    given = {key.lower(): value for key, value in headers.items()}.get("authorization", "")
    _, found, rest = given.partition("Credential=")
    parts = rest.partition(",")[0].split("/")
    if not found or len(parts) != _SCOPE_PARTS:
        return None
    return parts[3].lower(), parts[2]


def _answer(found: Any) -> Answer:
    status, headers, body = found
    content = body.encode() if isinstance(body, str) else body
    return Answer(int(status), dict(headers), content)
