"""HTTP requests to AWS, answered by moto and by what is here in place of parts of it."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.request import Request

from eks_gpushare_lab.cloud import prices
from eks_gpushare_lab.cloud.account import ACCOUNT_ID
from eks_gpushare_lab.cloud.ec2 import Ec2, known_types
from eks_gpushare_lab.cloud.images import Image, image_at

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCOPE_PARTS = 5
_JSON = {"Content-Type": "application/x-amz-json-1.1"}
_WAITING = ("sqs",)
"""Services whose requests may wait for something: they are answered beside the others."""


class Answer:
    """Status, headers and body of a response."""

    def __init__(self, status: int, headers: Mapping[str, Any], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


class Aws:
    """Answers what a controller asks of AWS."""

    def __init__(self, images: dict[str, Image]) -> None:
        """Keep AMIs that are asked for in `images`, by id."""
        self._images = images
        self._moto = BotocoreStubber()
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer a request that is signed for a service in a region."""
        scope = _scope(headers)
        if scope is None:
            return _refused(403, "MissingAuthenticationToken", "the request is not signed")
        service, region = scope
        if service in _WAITING:
            return self._of_moto(service, region, method, path, headers, body)
        with self._lock:
            if service == "ec2":
                return self._ec2(region, method, path, headers, body)
            if service == "pricing":
                return _pricing(body)
            if service == "ssm":
                return self._parameter(region, body)
            return self._of_moto(service, region, method, path, headers, body)

    def _ec2(
        self, region: str, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        url = f"https://ec2.{region}.amazonaws.com{path}"
        request = Request.from_primitives(method, url, headers, body)
        return _answer(Ec2.dispatch(request, request.raw_url, request.headers))

    def _of_moto(
        self,
        service: str,
        region: str,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> Answer:
        host = (
            f"{service}.amazonaws.com" if service == "iam" else f"{service}.{region}.amazonaws.com"
        )
        given = HTTPHeaders()
        for key, value in headers.items():
            given[key] = value
        url = f"https://{host}{path}"
        request = AWSPreparedRequest(method, url, given, body, stream_output=False)
        found = self._moto.process_request(request)
        if found is None:
            return _refused(501, "NotImplemented", f"the lab emulates no {service}")
        return _answer(found)

    def _parameter(self, region: str, body: bytes) -> Answer:
        name = str(json.loads(body).get("Name", ""))
        image = image_at(name)
        if image is None:
            return _refused(400, "ParameterNotFound", f"parameter {name} is none of an AMI")
        if image.id not in self._images:
            self._register(image, region)
        value = {"Name": name, "Type": "String", "Value": image.id, "Version": 1}
        return _json({"Parameter": value})

    def _register(self, image: Image, region: str) -> None:
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
    asked = {each["Field"]: each["Value"] for each in json.loads(body).get("Filters", ())}
    metal = "metal" in asked.get("productFamily", "")
    found = prices.price_list(known_types(), asked.get("regionCode", ""), metal=metal)
    return _json({"FormatVersion": "aws_v1", "PriceList": [json.dumps(each) for each in found]})


def _scope(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Service and region that a request is signed for."""
    given = {key.lower(): value for key, value in headers.items()}.get("authorization", "")
    _, found, rest = given.partition("Credential=")
    parts = rest.partition(",")[0].split("/")
    if not found or len(parts) != _SCOPE_PARTS:
        return None
    return parts[3].lower(), parts[2]


def _json(content: object, status: int = 200) -> Answer:
    return Answer(status, _JSON, json.dumps(content).encode())


def _refused(status: int, code: str, message: str) -> Answer:
    return _json({"__type": code, "message": message}, status)


def _answer(found: Any) -> Answer:
    status, headers, body = found
    content = body.encode() if isinstance(body, str) else body
    return Answer(int(status), dict(headers), content)
