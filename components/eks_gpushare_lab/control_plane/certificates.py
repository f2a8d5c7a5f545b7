"""Certificates and kubeconfigs of one control plane. Nothing outlives it, and nothing has a token.

P-256 keys, since they are made in no time; one authority for the server and for its clients.
"""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import json
from typing import TYPE_CHECKING

from eks_gpushare_lab.control_plane.names import FRONT_PROXY, SERVICE_ADDRESSES
from eks_gpushare_lab.errors import NO_CRYPTOGRAPHY, LabError
from eks_gpushare_lab.host.folders import write_private

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError as error:
    raise LabError(NO_CRYPTOGRAPHY) from error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DAYS = 365
"""How long the certificates hold: longer than any lab stays up."""

_ADMINISTRATORS = "system:masters"
_CLIENTS = {
    "admin": ("eks-gpushare-lab", _ADMINISTRATORS),
    "kwok": ("kwok", _ADMINISTRATORS),
    "kube-scheduler": ("system:kube-scheduler", None),
    "kube-controller-manager": ("system:kube-controller-manager", None),
}


def write_all(directory: Path, url: str) -> None:
    """Write what the processes and their users need to trust each other.

    Makes ca.crt, sa.key (which signs service account tokens), apiserver.crt and .key, front-proxy's
    own ca.crt, .crt and .key, and for each client a .crt, a .key and a .kubeconfig; the
    administrator's kubeconfig is called kubeconfig.
    """
    authority = _Authority("eks-gpushare lab")
    write_private(directory / "ca.crt", authority.certificate)
    write_private(directory / "sa.key", _pem(ec.generate_private_key(ec.SECP256R1())))
    _write_pair(directory, "apiserver", authority.server())
    # An authority of its own: whoever it vouches for may say which user is asking.
    front = _Authority("eks-gpushare lab front proxy")
    write_private(directory / "front-proxy-ca.crt", front.certificate)
    _write_pair(directory, "front-proxy", front.client(FRONT_PROXY, None))
    for client, (name, group) in _CLIENTS.items():
        certificate, key = authority.client(name, group)
        _write_pair(directory, client, (certificate, key))
        file = directory / ("kubeconfig" if client == "admin" else f"{client}.kubeconfig")
        write_private(file, _kubeconfig(url, authority.certificate, certificate, key))


class ServiceAuthority:
    """Vouches for programs that run beside the control plane, and for what stands in for others."""

    def __init__(self) -> None:
        """Make its key, which stays in memory."""
        self._authority = _Authority("eks-gpushare lab services")
        self.certificate = self._authority.certificate
        """Its certificate."""

    def write(self, directory: Path, names: Sequence[str]) -> None:
        """Write ca.crt, tls.crt and tls.key, by which programs trust each other.

        Args:
            directory: where to.
            names: that a service goes by, besides this machine's.
        """
        certificate, key = self._authority.peer(names)
        write_private(directory / "ca.crt", self.certificate)
        write_private(directory / "tls.crt", certificate)
        write_private(directory / "tls.key", key)


def _write_pair(directory: Path, name: str, pair: tuple[bytes, bytes]) -> None:
    for suffix, content in zip(("crt", "key"), pair, strict=True):
        write_private(directory / f"{name}.{suffix}", content)


class _Authority:
    """Signs certificates; its own key stays in memory."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = self._builder(self._name, self._key.public_key())
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        builder = builder.add_extension(constraints, critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self.certificate = self._sign(builder)

    def server(self) -> tuple[bytes, bytes]:
        """Certificate and key of the API server, for all the names it goes by."""
        first = next(ipaddress.IPv4Network(SERVICE_ADDRESSES).hosts())
        addresses = [ipaddress.IPv4Address("127.0.0.1"), first]
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        alternatives = x509.SubjectAlternativeName(
            [*map(x509.DNSName, names), *(x509.IPAddress(address) for address in addresses)]
        )
        uses = (ExtendedKeyUsageOID.SERVER_AUTH,)
        return self._leaf(_name("kube-apiserver"), uses, alternatives)

    def peer(self, names: Sequence[str]) -> tuple[bytes, bytes]:
        """Certificate and key of a service that both asks and answers, on this machine."""
        local = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))
        alternatives = x509.SubjectAlternativeName(
            [*map(x509.DNSName, ("localhost", *names)), local]
        )
        uses = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._leaf(_name("localhost"), uses, alternatives)

    def client(self, name: str, group: str | None) -> tuple[bytes, bytes]:
        """Certificate and key of a user, as Kubernetes reads them: CN is the name, O the group."""
        return self._leaf(_name(name, group), (ExtendedKeyUsageOID.CLIENT_AUTH,), None)

    def _leaf(
        self,
        subject: x509.Name,
        uses: Sequence[x509.ObjectIdentifier],
        alternatives: x509.SubjectAlternativeName | None,
    ) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        return self._sign(builder), _pem(key)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        # Both identifiers are what RFC 5280 wants, and Python's ssl since 3.13.
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(minutes=5))
            .not_valid_after(now + dt.timedelta(days=DAYS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(signer, critical=False)
        )

    def _sign(self, builder: x509.CertificateBuilder) -> bytes:
        signed = builder.sign(self._key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(name: str, group: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if group is not None:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _kubeconfig(url: str, authority: bytes, certificate: bytes, key: bytes) -> bytes:
    name = "eks-gpushare-lab"

    def encoded(content: bytes) -> str:
        return base64.b64encode(content).decode()

    cluster = {"server": url, "certificate-authority-data": encoded(authority)}
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(document, indent=1).encode()
