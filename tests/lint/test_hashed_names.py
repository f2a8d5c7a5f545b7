"""Names with a hash, and files of configurations by which Kustomize corrects more of them."""

from __future__ import annotations

import pytest
from linted import found

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  chart: {spec: {chart: gpu-operator, version: v25.3.4, sourceRef: {name: nvidia}}}
  VALUES
"""
FROM = "valuesFrom: [{kind: ConfigMap, name: chosen}]"
WITHIN = "values: {devicePlugin: {config: {name: shares, default: any}}}"
NAMED = "devicePlugin: {config: {name: shares, default: any}}\n"
MADE = """\
resources: [release.yaml]
configMapGenerator:
- {name: chosen, files: [values.yaml]}
- {name: shares, literals: ["any=version: v1"]}
"""
CONFIGURED = f"{MADE}configurations: [names.yaml]\n"


def corrects(*paths: str, kind: str = "HelmRelease", of: str = "ConfigMap") -> str:
    fields = ", ".join(f"{{path: {path}, kind: {kind}}}" for path in paths)
    return f"nameReference: [{{kind: {of}, version: v1, fieldSpecs: [{fields}]}}]\n"


def places(
    values: str, made: str, names: str | None, chosen: str = "{}\n", **more: str
) -> list[str]:
    """Where names are told that Kustomize leaves as they are."""
    files = {
        "base/kustomization.yaml": made,
        "base/release.yaml": RELEASE.replace("VALUES", values),
        "base/values.yaml": chosen,
        **({} if names is None else {"base/names.yaml": names}),
        **{f"{name}/kustomization.yaml": text for name, text in more.items()},
    }
    return [f"{each.path}" for each in found(files.items()) if each.code == "GPU1284"]


IN_FROM, IN_VALUES = "spec/valuesFrom/name", "spec/values/devicePlugin/config/name"
AT_FROM, AT_VALUES = "spec.valuesFrom[0].name", "spec.values.devicePlugin.config.name"
AT_FILE = "devicePlugin.config.name"


@pytest.mark.parametrize(
    ("values", "made", "names", "told"),
    [
        (FROM, MADE, None, [AT_FROM]),
        (FROM, CONFIGURED, None, []),
        (FROM, CONFIGURED, corrects(IN_FROM), []),
        (FROM, CONFIGURED, corrects(IN_VALUES), [AT_FROM]),
        (FROM, CONFIGURED, corrects(IN_FROM, kind="Other"), [AT_FROM]),
        (FROM, CONFIGURED, corrects(IN_FROM, of="Secret"), [AT_FROM]),
        (FROM, CONFIGURED, corrects(IN_FROM).replace(", kind: HelmRelease", ""), []),
        (FROM, CONFIGURED, "{}\n", [AT_FROM]),
        (WITHIN, CONFIGURED, corrects(IN_FROM, IN_VALUES), []),
        (WITHIN, CONFIGURED, corrects(IN_FROM), [AT_VALUES]),
    ],
)
def test_only_fields_that_a_configuration_names_are_corrected(
    values: str, made: str, names: str | None, told: list[str]
) -> None:
    assert places(values, made, names) == told


def test_a_text_within_a_config_map_is_never_corrected() -> None:
    """A file of values is a text for Kustomize, whatever fields of objects it corrects."""
    names = corrects(IN_FROM, IN_VALUES, "devicePlugin/config/name")

    assert places(FROM, CONFIGURED, names, NAMED) == [AT_FILE]
    kept = f"{CONFIGURED}generatorOptions: {{disableNameSuffixHash: true}}\n"
    assert places(FROM, kept, names, NAMED) == []


def test_configurations_hold_for_all_that_is_built_together() -> None:
    above = "resources: [../base]\nconfigurations: [../base/names.yaml]\n"

    assert places(FROM, MADE, corrects(IN_FROM), prod=above) == []
    assert places(FROM, MADE, corrects(IN_VALUES), prod=above) == [AT_FROM]
    assert places(FROM, MADE, corrects(IN_FROM), prod="resources: [../base]\n") == [AT_FROM]
