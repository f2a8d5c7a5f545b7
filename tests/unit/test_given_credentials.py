"""Credentials in a stack file: a warning with the place of each, never with the credential."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from finding_examples import base, checked, stack_file_text

from eks_gpushare.documents.helm import merge_values

LONG = "Zx9Kq2Lm4Np6Rt8Vw1By3Dg5Fj7HsTuPoAeI"
"""Letters and digits that are no credential of anybody."""
TOKENS = {
    "AKIA" + "IOSFODNN7EXAMPLE": "an AWS access key",
    "ASIA" + "IOSFODNN7EXAMPLE": "an AWS access key",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE": "a private key",
    "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3Bl": "a private key",
    "-----BEGIN " + "PRIVATE KEY-----": "a private key",
    "ghp_" + LONG: "a token of GitHub",
    "github_pat_" + LONG: "a token of GitHub",
    "glpat-" + LONG[:20]: "a token of GitLab",
    "xoxb-" + "123456789012-" + LONG[:24]: "a token of Slack",
    "hf_" + LONG: "a token of Hugging Face",
    "nvapi-" + LONG: "a key of NVIDIA NGC",
    "pul-" + "0a" * 20: "an access token of Pulumi",
    f"eyJ{LONG}.eyJ{LONG}.{LONG}": "a JSON web token",
    "sk-" + LONG: "an API key",
    "AIza" + LONG[:35]: "an API key",
    "dckr_pat_" + LONG[:27]: "a token of a registry",
    "dapi" + "0a" * 16: "a token of Databricks",
    '{"auths": {"nvcr.io": {"auth": "' + LONG + '"}}}': "a login of a registry",
    "https://robot:" + "hunter2hunter2@mirror.example.com": "a password in an address",
    "Authorization: Bearer " + LONG: "an authorization",
    "DB_PASSWORD=" + "hunter2hunter2": "a password or token",
}


def warnings(text: str) -> list[tuple[str, str]]:
    """Path and message of the warnings about credentials."""
    return [(f.path, f.message) for f in checked(text).findings if f.code == "GPU463"]


def environment(fragment: dict[str, Any]) -> str:
    return stack_file_text(merge_values(base(), fragment))


def in_values(values: dict[str, Any]) -> str:
    return environment({"charts": {"devicePlugin": {"values": values}}})


@pytest.mark.parametrize(("token", "kind"), TOKENS.items())
def test_a_credential_is_known_by_its_form(token: str, kind: str) -> None:
    message = f"This looks like {kind}."
    script = f"#!/bin/bash\nset -eu\nlogin '{token}'\n"
    part = {"contentType": "text/x-shellscript", "content": script}

    assert warnings(in_values({"podAnnotations": {"a": f"x {token}"}})) == [
        ("charts.devicePlugin.values.podAnnotations.a", message)
    ]
    assert warnings(environment({"pools": {"gpu": {"userData": [part]}}})) == [
        ("pools.gpu.userData[0].content", message)
    ]
    assert warnings(environment({"tags": {"note": token}})) == [("tags.note", message)]


@pytest.mark.parametrize(
    "key",
    [
        *("password", "dbPassword", "DB_PASSWORD", "adminPasswd", "token", "hfToken", "apiKey"),
        *("api_key", "secretKey", "secret_access_key", "clientSecret", "privateKey", "authKey"),
        *("passphrase", "registry-token", "credentials", "APIKey"),
    ],
)
def test_a_credential_is_known_by_its_key(key: str) -> None:
    place = f"charts.devicePlugin.values.podAnnotations.{key}"
    text = in_values({"podAnnotations": {key: "hunter2"}})
    (found,) = [f for f in checked(text).findings if f.code == "GPU463"]

    assert (found.path, found.message) == (place, "This looks like a password or token.")
    assert "hunter2" not in str(found)


def test_an_environment_variable_is_known_by_its_name() -> None:
    env = [{"name": "MODE", "value": "fast"}, {"name": "NGC_API_KEY", "value": "hunter2"}]
    charts = {"gpuOperator": {"values": {"validator": {"env": env}}}}
    text = environment({"gpuStack": {"manager": "gpuOperator"}, "charts": charts})

    assert [path for path, _ in warnings(text)] == [
        "charts.gpuOperator.values.validator.env[1].value"
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("aws:secretKey", "wJalrXUtnFEMI" + "K7MDENGbPxRfiCYEXAMPLEKEY"),
        ("aws:accessKey", "AKIA" + "IOSFODNN7EXAMPLE"),
        ("aws:token", "FwoGZXIvYXdzEXAMPLE"),
        ("github:token", "hunter2"),
        ("datadog:apiKey", "0a1b2c3d4e5f"),
        ("cloudflare:apiToken", "hunter2"),
        ("postgresql:password", "hunter2"),
    ],
)
def test_the_configuration_of_other_providers(key: str, value: str) -> None:
    config = yaml.safe_load(environment({}))
    config["config"][key] = value
    (found,) = [f for f in checked(yaml.safe_dump(config)).findings if f.code == "GPU463"]

    assert found.at == ("config", key)
    assert value not in str(found)
    config["config"][key] = {"secure": "AAABAExampleOfCipherText=="}
    assert warnings(yaml.safe_dump(config)) == []


HARMLESS: list[dict[str, Any]] = [
    {"podAnnotations": {"secretName": "mirror", "existingSecret": "mirror"}},
    {"podAnnotations": {"passwordSecretName": "db", "tokenPath": "/var/run/token"}},
    {"podAnnotations": {"token": "", "password": "${DB_PASSWORD}", "apiKey": "{{ .key }}"}},
    {"podAnnotations": {"apiKey": "arn:aws:secretsmanager:us-west-2:111122223333:secret:k"}},
    {"podAnnotations": {"token-ttl-seconds": "21600", "tokenizer": "fast", "keyboard": "us"}},
    {"podAnnotations": {"password": "<set elsewhere>", "token": "********"}},
    {"podAnnotations": {"note": "The token and the password are in the vault."}},
    {"podAnnotations": {"url": "https://user-guide.example.com/@team:blue"}},
    {"podAnnotations": {"image": "registry.example.com:5000/a@sha256:" + "0a" * 32}},
    {"podAnnotations": {"publicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", "key": "value"}},
    {"podAnnotations": {"prose": "ask-for-the-long-description-of-this", "id": "hf_model"}},
    {"imagePullSecrets": [{"name": "registry-token"}]},
    {"podAnnotations": {"x": "y"}, "resources": {"limits": {"example.com/token": 4}}},
    {"podAnnotations": {"certificate": "-----BEGIN CERTIFICATE-----\nMIIC"}},
]


@pytest.mark.parametrize("values", HARMLESS)
def test_what_names_a_credential_is_none(values: dict[str, Any]) -> None:
    assert warnings(in_values(values)) == []


SCRIPTS = (
    "TOKEN=$(curl -sX PUT http://169.254.169.254/latest/api/token)",
    "TOKEN=`curl -sX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 21600' http://x/token`",
    'curl -H "X-aws-ec2-metadata-token: $TOKEN" http://169.254.169.254/latest/meta-data',
    "PASSWORD=$(aws secretsmanager get-secret-value --secret-id db)",
    'export HF_TOKEN="${HF_TOKEN:-}"',
    "API_KEY=/etc/keys/api",
    "read -rs PASSWORD",
    "passwd: [files]",
)


@pytest.mark.parametrize("line", SCRIPTS)
def test_a_script_that_fetches_its_credentials(line: str) -> None:
    part = {"contentType": "text/x-shellscript", "content": f"#!/bin/bash\n{line}\n"}

    assert warnings(environment({"pools": {"gpu": {"userData": [part]}}})) == []


def test_the_environments_own_keys_are_no_credentials() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/0a1b2c3d-0000-4000-8000-000000000000"
    labels = {"token": "ring"}
    cluster = {"secretsKeyArn": key}

    assert warnings(environment({"cluster": cluster, "pools": {"gpu": {"labels": labels}}})) == []


def test_a_value_in_many_places_is_looked_at_once() -> None:
    text = environment({}).replace("config:\n", "config:\n  other:a: &a [x, x, x, x]\n", 1)
    for name, before in zip("bcdefghijklm", "abcdefghijkl", strict=True):
        line = f"  other:{name}: &{name} [{', '.join([f'*{before}'] * 8)}]\n"
        text = text.replace("  aws:region", f"{line}  aws:region", 1)

    assert warnings(text) == []


@pytest.mark.parametrize(
    "piece", ["a.", "eyJ-", "token=,", "x://a:", "sk_", "auth ", "-----BEGIN A ", "://", "password"]
)
def test_a_long_text_is_read_in_one_go(piece: str) -> None:
    # Steps that grow with the square of the length would take minutes here.
    text = piece * (70_000 // len(piece)) + ","

    assert warnings(in_values({"podAnnotations": {"a": text}})) == []
