"""What public registries and tables answer, of which `newer.py` asks for the newest."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.catalog.chart_releases import parse_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SECONDS = 60
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json"
)
_EKS_IMAGES = "/aws/service/eks/optimized-ami/{}/amazon-linux-2023/x86_64/nvidia/recommended"
_BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-{}-nvidia/x86_64/latest/image_version"
_PRICES = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/{}/index.csv"


class AskedError(Exception):
    """Why there is no answer, in one line."""


class Registries:
    """Registries over HTTPS, each request on its own: a few a week need no connection kept."""

    def __init__(self, through: str = "") -> None:
        """Ask them themselves.

        Args:
            through: Address of a server that stands for all of them: a host is the first part of
                the path there. Default: none.
        """
        self._through = through.rstrip("/")

    def newest_of_chart(self, name: str, repository: str) -> str:
        """The newest release of a chart."""
        if repository.startswith("oci://"):
            return newest(self.tags(repository.removeprefix("oci://")))
        index = yaml.load(self._text(f"{repository}/index.yaml"), yaml.CSafeLoader)
        entries = (index or {}).get("entries", {}).get(name) or []
        return newest(str(each["version"]) for each in entries if not each.get("deprecated"))

    def tags(self, repository: str) -> list[str]:
        """All tags of a repository of images or charts, such as `public.ecr.aws/a/b`."""
        host, _, path = repository.partition("/")
        url, token = f"https://{host}/v2/{path}/tags/list", ""
        found: list[str] = []
        while url:
            body, headers, token = self._authorized(url, token)
            found += json.loads(body).get("tags") or []
            following = re.match(r"<([^>]+)>;\s*rel=\"?next", headers.get("Link", ""))
            url = following[1] if following else ""
            if url.startswith("/"):
                url = f"https://{host}{url}"
        return found

    def digest(self, repository: str, tag: str) -> str:
        """The digest of an image for all architectures."""
        host, _, path = repository.partition("/")
        _, headers, _ = self._authorized(f"https://{host}/v2/{path}/manifests/{tag}", "")
        found = headers.get("Docker-Content-Digest", "")
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
            raise AskedError(f"{repository}:{tag} has no digest")
        return found

    def newest_go_module(self, path: str) -> str:
        """The newest release of a Go module, of the proxy that Go takes."""
        escaped = re.sub("[A-Z]", lambda found: f"!{found[0].lower()}", path)
        proxy = re.split("[,|]", _output("go", "env", "GOPROXY").strip())[0]
        return str(json.loads(self._text(f"{proxy}/{escaped}/@latest"))["Version"])

    def newest_package(self, name: str) -> str:
        """The newest release of a Python package, of the index that pip takes."""
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "index", "versions")
        found = re.match(rf"{re.escape(name)} \((\S+)\)", _output(*pip, name))
        if found is None:
            raise AskedError(f"pip knows no release of {name}")
        return found[1]

    def prices(self, region: str, types: Iterable[str]) -> dict[str, float]:
        """USD per hour of instance types on demand: Linux, nothing installed, shared hosts."""
        wanted = {
            "TermType": "OnDemand",
            "Operating System": "Linux",
            "Tenancy": "Shared",
            "Pre Installed S/W": "NA",
            "CapacityStatus": "Used",
            "Unit": "Hrs",
        }
        chosen, found = set(types), {}
        with self._opened(_PRICES.format(region)) as answer:
            lines: Iterator[str] = io.TextIOWrapper(answer, encoding="utf-8")
            head = next((line for line in lines if line.startswith('"SKU"')), None)
            if head is None:  # lines of metadata come first
                raise AskedError("the price list has no line of titles")
            for row in csv.DictReader(lines, next(csv.reader([head]))):
                name = row.get("Instance Type", "")
                if name in chosen and all(row.get(k) == v for k, v in wanted.items()):
                    found[name] = float(row["PricePerUnit"])
        return found

    def _text(self, url: str) -> str:
        with self._opened(url) as answer:
            return str(answer.read().decode())

    def _authorized(self, url: str, token: str) -> tuple[str, Mapping[str, str], str]:
        """An answer of a registry, which says itself where everybody gets a token."""
        headers = {"Accept": _MANIFESTS} if "/manifests/" in url else {}
        try:
            return (*self._answer(url, headers, token), token)
        except urllib.error.HTTPError as error:
            asked = dict(re.findall(r'(\w+)="([^"]*)"', error.headers.get("WWW-Authenticate", "")))
            if error.code != 401 or token or "realm" not in asked:  # noqa: PLR2004  (unauthorized)
                raise AskedError(f"{url}: {error.code} {error.reason}") from None
        query = "&".join(f"{key}={asked[key]}" for key in ("service", "scope") if key in asked)
        given = json.loads(self._text(f"{asked['realm']}?{query}"))
        token = given.get("token") or given["access_token"]
        return (*self._answer(url, headers, token), token)

    def _answer(
        self, url: str, headers: Mapping[str, str], token: str
    ) -> tuple[str, Mapping[str, str]]:
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self._at(url), headers={**headers, **bearer})  # noqa: S310  (HTTPS, by _at)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310  (as above)
            return answer.read().decode(), answer.headers

    def _opened(self, url: str) -> Any:
        try:
            request = urllib.request.Request(self._at(url))  # noqa: S310  (HTTPS, by _at)
            return urllib.request.urlopen(request, timeout=_SECONDS)  # noqa: S310  (as above)
        except OSError as error:
            raise AskedError(f"{url}: {error}") from None

    def _at(self, url: str) -> str:
        if not url.startswith("https://"):
            raise AskedError(f"{url} is no address over HTTPS")
        return f"{self._through}/{url.removeprefix('https://')}" if self._through else url


class Aws:
    """What AWS tells an account of machine images and add-ons, by the caller's credentials."""

    def __init__(self, endpoint: str | None = None) -> None:
        """By the credentials and the region of the environment.

        Args:
            endpoint: In place of AWS's own. Default: AWS's.
        """
        import botocore.session

        session = botocore.session.get_session()
        region = session.get_config_variable("region") or "us-east-1"
        self._ssm, self._eks = (
            session.create_client(name, region_name=region, endpoint_url=endpoint)
            for name in ("ssm", "eks")
        )

    def al2023(self, kubernetes: str) -> str:
        """The release version of the newest AL2023 image with NVIDIA's driver."""
        return self._parameter(f"{_EKS_IMAGES.format(kubernetes)}/release_version")

    def bottlerocket(self, kubernetes: str) -> str:
        """The version of Bottlerocket's."""
        return self._parameter(_BOTTLEROCKET.format(kubernetes))

    def addon(self, name: str, kubernetes: str) -> str:
        """The version of an add-on that EKS installs where none is named."""
        pages = self._eks.get_paginator("describe_addon_versions").paginate(
            addonName=name, kubernetesVersion=kubernetes
        )
        for page in pages:
            for addon in page["addons"]:
                for each in addon["addonVersions"]:
                    if any(fits["defaultVersion"] for fits in each["compatibilities"]):
                        return str(each["addonVersion"])
        raise AskedError(f"EKS {kubernetes} has no default of {name}")

    def _parameter(self, name: str) -> str:
        return str(self._ssm.get_parameter(Name=name)["Parameter"]["Value"])


def _output(*command: str) -> str:
    try:
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_SECONDS
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip()
        raise AskedError(f"{command[0]}: {said}") from None


def newest(versions: Iterable[str]) -> str:
    """The newest of some versions, but for those before a release.

    Raises:
        AskedError: If none is a release.
    """
    known = ((parse_version(each), each) for each in versions)
    releases = [(order, each) for order, each in known if order is not None and order[3]]
    if not releases:
        raise AskedError("there is no release")
    return max(releases)[1]
