"""Values are merged as Helm documents it."""

from __future__ import annotations

from eks_gpushare.documents.helm import merge_values

# The example of https://helm.sh/docs/chart_template_guide/values_files/#deleting-a-default-key
PROBE = {"path": "/user/login", "port": "http"}
DEFAULTS = {"livenessProbe": {"httpGet": PROBE, "initialDelaySeconds": 120}}
COMMAND = {"command": ["cat", "docroot/CHANGELOG.txt"]}


def test_a_null_deletes_a_default() -> None:
    given = {"livenessProbe": {"exec": COMMAND, "httpGet": None}}

    assert merge_values(DEFAULTS, given) == {
        "livenessProbe": {"exec": COMMAND, "initialDelaySeconds": 120}
    }


def test_a_null_deletes_a_default_of_any_depth_and_one_that_is_not_there() -> None:
    assert merge_values(DEFAULTS, {"livenessProbe": None, "other": None}) == {}


def test_values_over_values_keep_a_null_for_the_chart() -> None:
    given = {"livenessProbe": {"httpGet": None}, "other": None}

    assert merge_values(DEFAULTS, given, keep_null=True) == {
        "livenessProbe": {"httpGet": None, "initialDelaySeconds": 120},
        "other": None,
    }


def test_lists_and_scalars_are_replaced_as_a_whole() -> None:
    below = {"args": ["a", "b"], "image": {"tag": "1"}, "port": 80}

    assert merge_values(below, {"args": ["c"], "image": "x:2", "port": {"http": 80}}) == {
        "args": ["c"],
        "image": "x:2",
        "port": {"http": 80},
    }


def test_what_is_merged_stays_as_it_was() -> None:
    below, above = {"a": {"b": 1}}, {"a": {"b": None, "c": {"d": 2}}}
    merge_values(below, above)

    assert (below, above) == ({"a": {"b": 1}}, {"a": {"b": None, "c": {"d": 2}}})
