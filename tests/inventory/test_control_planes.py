"""What is open, not encrypted or not logged of a control plane."""

from __future__ import annotations

import pytest

from eks_gpushare.inventory.control_plane import LOG_TYPES, encrypts_secrets, not_logged, open_to


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        ([], "no network is named, which EKS takes for 0.0.0.0/0"),
        (["0.0.0.0/0"], "[0.0.0.0/0] may use it"),
        (["198.51.100.0/24", "0.0.0.0/0"], "[198.51.100.0/24, 0.0.0.0/0] may use it"),
        (["198.51.100.0/24"], None),
        (["10.0.0.0/8"], None),
    ],
)
def test_who_may_use_an_endpoint(networks: list[str], said: str | None) -> None:
    assert open_to(networks) == said


def test_of_a_part_it_is_said_how_much_it_is() -> None:
    said = open_to(["0.0.0.0/1"])

    assert said is not None
    assert said.startswith("[0.0.0.0/1] may use it, together ")


def test_log_types_that_are_missing_are_named_in_their_order() -> None:
    assert not_logged(LOG_TYPES) == ()
    assert not_logged(["scheduler", "audit"]) == ("api", "authenticator", "controllerManager")


def test_a_key_for_secrets_encrypts_them() -> None:
    assert encrypts_secrets(["secrets"])
    assert not encrypts_secrets([])
    assert not encrypts_secrets(["configmaps"])
