from __future__ import annotations

import base64
import json
import stat
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from eks_gpushare_lab.control_plane import certificates

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://127.0.0.1:6443"
CLIENTS = ("admin", "kwok", "kube-scheduler", "kube-controller-manager")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    certificates.write_all(folder, URL)
    return folder


def load(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())


def test_a_strict_client_believes_the_server(folder: Path) -> None:
    # What RFC 5280 and the browsers' rules ask for, and with them Python since 3.13.
    store = Store([load(folder, "ca")])
    verifier = PolicyBuilder().store(store).build_server_verifier(x509.DNSName("kubernetes"))

    assert len(verifier.verify(load(folder, "apiserver"), [])) == 2


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_a_client_and_nothing_else(folder: Path, client: str) -> None:
    use = load(folder, client).extensions.get_extension_for_class(x509.ExtendedKeyUsage)

    assert list(use.value) == [ExtendedKeyUsageOID.CLIENT_AUTH]


@pytest.mark.parametrize(
    ("client", "name", "group"),
    [
        ("admin", "eks-gpushare-lab", ["system:masters"]),
        ("kwok", "kwok", ["system:masters"]),
        ("kube-scheduler", "system:kube-scheduler", []),
        ("kube-controller-manager", "system:kube-controller-manager", []),
    ],
)
def test_a_client_is_called_what_its_roles_are_bound_to(
    folder: Path, client: str, name: str, group: list[str]
) -> None:
    subject = load(folder, client).subject
    names = [each.value for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]

    assert (names, groups) == ([name], group)


@pytest.mark.parametrize("name", ["ca", "apiserver", *CLIENTS])
def test_every_key_is_on_p_256(folder: Path, name: str) -> None:
    key = load(folder, name).public_key()

    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)


def test_nobody_else_can_read_a_file(folder: Path) -> None:
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}

    assert set(modes.values()) == {0o600}


def test_the_authoritys_key_is_nowhere(folder: Path) -> None:
    assert not (folder / "ca.key").exists()


def test_two_labs_do_not_trust_each_other(folder: Path, tmp_path: Path) -> None:
    certificates.write_all(tmp_path, URL)

    assert load(tmp_path, "ca").public_key() != load(folder, "ca").public_key()


def test_the_kubeconfig_is_complete_in_itself(folder: Path) -> None:
    document = json.loads((folder / "kubeconfig").read_text(encoding="utf-8"))

    def encoded(name: str) -> str:
        return base64.b64encode((folder / name).read_bytes()).decode()

    assert document["clusters"][0]["cluster"] == {
        "server": URL,
        "certificate-authority-data": encoded("ca.crt"),
    }
    assert document["users"][0]["user"] == {
        "client-certificate-data": encoded("admin.crt"),
        "client-key-data": encoded("admin.key"),
    }
