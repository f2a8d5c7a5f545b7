"""Kubeconfigs, as text with a stable order."""

from __future__ import annotations

import json

from eks_gpushare.documents.local_paths import located
from eks_gpushare.documents.reading import read_bytes, reason


def eks_kubeconfig(
    name: str, endpoint: str, authority: str, region: str | None, profile: str | None
) -> str:
    """A kubeconfig that gets its tokens from the AWS CLI.

    Args:
        name: Name of the EKS cluster.
        endpoint: URL of the API server.
        authority: Its certificate authority, base64.
        region: AWS region. None leaves it to the AWS CLI's configuration.
        profile: AWS profile. None leaves it to the AWS CLI's configuration.
    """
    where = ["--region", region] if region else []
    who = [{"name": "AWS_PROFILE", "value": profile}] if profile else None
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": [*where, "eks", "get-token", "--cluster-name", name, "--output", "json"],
        "env": who,
        "interactiveMode": "Never",
    }
    cluster = {"server": endpoint, "certificate-authority-data": authority}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
            "users": [{"name": name, "user": {"exec": login}}],
        }
    )


def with_profile(kubeconfig: str, profile: str) -> str:
    """A kubeconfig that gets its tokens from the AWS CLI, with a profile for that.

    Args:
        kubeconfig: JSON text, as pulumi-eks writes it.
        profile: AWS profile.
    """
    config = json.loads(kubeconfig)
    for user in config["users"]:
        login = user["user"]["exec"]
        others = [
            variable for variable in login.get("env") or () if variable["name"] != "AWS_PROFILE"
        ]
        login["env"] = [*others, {"name": "AWS_PROFILE", "value": profile}]
    return json.dumps(config)


_MOST_BYTES = 4 * 1024 * 1024


class KubeconfigError(Exception):
    """A kubeconfig cannot be read; the text says which and why."""


def read_kubeconfig(path: str) -> str:
    """The content of a kubeconfig file; `~` is the home directory.

    Raises:
        KubeconfigError: If it cannot be read.
    """
    try:
        return read_bytes(located(path), _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else reason(error)
        message = f"The kubeconfig {path} cannot be read: {why}."
        raise KubeconfigError(message) from error
