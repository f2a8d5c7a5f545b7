"""What was said of public repositories with whole clusters and was not so, in our own words."""

from __future__ import annotations

import pytest
from linted import said

TEMPLATED = """\
#{{ if eq .on "true" }}
---
apiVersion: v1
kind: LimitRange
metadata: {name: gpus}
spec:
# {{ if .many }}
  limits: []
# {{ else }}
  limits: [{type: Container}]
# {{ end }}
#{{ end }}
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (TEMPLATED, []),
        (
            TEMPLATED.replace("{{ end", "{{ endif").replace("{{", "{%").replace("}}", "%}"),
            [],
        ),
        (TEMPLATED.replace("# {{ else }}", "# or {{ else }}"), []),
        ("\n".join(line for line in TEMPLATED.splitlines() if "{{" not in line), ["GPU1002"]),
        (TEMPLATED.replace("# {{ end }}", "").replace("#{{ end }}", ""), ["GPU1002"]),
    ],
)
def test_tags_in_comments_decide_as_others_do(text: str, codes: list[str]) -> None:
    assert said({"limits.yaml": text}) == codes


@pytest.mark.parametrize(
    ("host", "codes"),
    [
        ("[name].example.com", []),
        ("[a name]-model.example.com", []),
        ("[name] .example.com", ["GPU1000"]),
        ("[name, other].example.com", ["GPU1000"]),
        ("*****", []),
        ("*name", ["GPU1000"]),
    ],
)
def test_a_name_in_brackets_and_stars_are_yet_to_be_filled_in(host: str, codes: list[str]) -> None:
    text = f"apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec:\n  externalName: {host}\n"
    assert said({"service.yaml": text}) == codes


@pytest.mark.parametrize(
    ("block", "codes"),
    [
        ("{annotations: {a: b}, destination: {c: d}, source: {path: e}}", []),
        ("{gdf: {enabled: true}, source: {path: e}, config: {map: {}}}", ["GPU1034", "GPU1034"]),
        ("{source: {path: e}}", ["GPU1034"]),
    ],
)
def test_keys_of_which_none_is_the_charts_are_of_what_is_called_like_it(
    block: str, codes: list[str]
) -> None:
    assert said({"apps/system.yaml": f"nvidia-device-plugin: {block}\n"}) == codes


NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: gpus, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - {name: gpus, instanceType: g5.xlarge, minSize: 0, maxSize: 2, privateNetworking: true}
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model}
spec:
  replicas: 4
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec:
      containers:
        - {name: model, image: "example.com/model:1", resources: {limits: {nvidia.com/gpu: 1}}}
"""
SHARES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


@pytest.mark.parametrize(
    ("shares", "codes"),
    [(SHARES, []), (SHARES.replace("timeSlicing", "none"), ["GPU1243"])],
)
def test_gpus_that_somebody_may_share_are_not_counted(shares: str, codes: list[str]) -> None:
    files = {"cluster.yaml": NODES, "model.yaml": PODS, "shares.yaml": shares}
    assert [code for code in said(files) if code == "GPU1243"] == codes


EXPORTER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dcgm-exporter}
spec:
  chartRef: {kind: OCIRepository, name: dcgm-exporter}
  values:
    KEY: {exporter: {containers: {app: {image: {repository: nvcr.io/nvidia/k8s/dcgm-exporter}}}}}
"""


@pytest.mark.parametrize(("key", "codes"), [("controllers", []), ("controller", ["GPU1245"])])
def test_what_app_template_installs_is_no_chart_of_the_name_of_its_source(
    key: str, codes: list[str]
) -> None:
    plugin = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin}
spec:
  chart: {spec: {chart: nvidia-device-plugin, sourceRef: {kind: HelmRepository, name: nvidia}}}
  values:
    config:
      map:
        default: |
          version: v1
          sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
    files = {"exporter.yaml": EXPORTER.replace("KEY", key), "plugin.yaml": plugin}
    assert sorted(said(files)) == codes


GUIDE = """\
# Shares

```sh
helm install gpu-operator nvidia/gpu-operator --version v25.3.4
```

```yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
```

```yaml
spec:
  devicePlugin:
    config: {name: NAME, default: any}
```
"""


@pytest.mark.parametrize(
    ("guide", "codes"), [(GUIDE, []), (GUIDE.replace("devicePlugin", "plugin"), ["GPU1121"])]
)
def test_a_guide_shows_the_part_of_a_cluster_policy_that_names_a_configuration(
    guide: str, codes: list[str]
) -> None:
    found = said({"sharing.md": guide.replace("NAME", "shares")})
    assert [code for code in found if code == "GPU1121"] == codes


QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {limits.nvidia.com/gpu: 2, limits.nvidia.com/KEY: 2000}}
"""


@pytest.mark.parametrize(
    ("key", "codes"), [("gpumem", []), ("gpucores", []), ("mig-1g.5gb", ["GPU1008", "GPU1008"])]
)
def test_quotas_of_hami_have_a_prefix_of_their_own(key: str, codes: list[str]) -> None:
    assert said({"quota.yaml": QUOTA.replace("KEY", key)}) == codes


OUTLINE = """\
```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: model}
spec:
  # ...
  containers: [{name: model, image: "example.com/model:1"}]
```
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [(OUTLINE, []), (OUTLINE.replace("# ...", "selector: {matchLabels: {a: b}}"), ["GPU1005"])],
)
def test_a_guide_leaves_out_what_is_around_a_pod(text: str, codes: list[str]) -> None:
    assert [code for code in said({"serving.md": text}) if code == "GPU1005"] == codes


OWN = "apiVersion: v2\nname: integrations\nversion: 1.0.0\ndependencies: []\n"
VALUES = "dcgm-exporter:\n  instances: [a]\n"


@pytest.mark.parametrize(
    ("within", "codes"), [("", []), ("charts/dcgm-exporter/Chart.yaml", ["GPU1034"])]
)
def test_a_chart_without_others_has_no_values_of_them(within: str, codes: list[str]) -> None:
    files = {"chart/Chart.yaml": OWN, "chart/values.yaml": VALUES}
    if within:
        files[f"chart/{within}"] = "apiVersion: v2\nname: dcgm-exporter\nversion: 4.5.0\n"
    assert [code for code in said(files) if code == "GPU1034"] == codes
