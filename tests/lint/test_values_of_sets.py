"""Files of values that an ApplicationSet gives to the applications that it makes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from linted import found, found_in_parts

from eks_gpushare.lint.values_of_sets import (
    SetFiles,
    clusters_of_values,
    missing_of_sets,
    patterns_named,
)
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN, DRIVER = "nvidia-device-plugin", "nvidia-dra-driver-gpu"
DRA = "gpuResourcesEnabledOverride: true\nresources: {gpus: {enabled: true}}\n"
OPERATOR = "driver: {enabled: true}\nmig: {strategy: mixed}\n"


def several(
    *files: str,
    by: Any,
    chart: str = "gpu-operator",
    to: dict[str, str] | None = None,
    **helm: Any,
) -> str:
    template = {
        "metadata": {"name": "gpu"},
        "spec": {
            "sources": [
                {"chart": chart, "helm": {"valueFiles": list(files), **helm}},
                {"ref": "own", "repoURL": "https://example.com/own.git"},
            ],
            "destination": to or {"name": "{{ .cluster }}"},
        },
    }
    return yaml.safe_dump(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "ApplicationSet",
            "metadata": {"name": "gpu"},
            "spec": {"generators": [by], "template": template},
        }
    )


def elements(**clusters: str) -> dict[str, Any]:
    """A list of clusters, each with what its values are called."""
    listed = [{"cluster": cluster, "kind": kind} for cluster, kind in clusters.items()]
    return {"list": {"elements": listed}}


FILES = {"git": {"files": [{"path": "fleet/*.yaml"}]}}
SERVER = {"server": "{{cluster}}"}
BY_KIND = "$own/values/{{ .kind }}.yaml"


def test_charts_of_two_clusters_are_not_beside_each_other() -> None:
    files = {
        f"values/{PLUGIN}.yaml": "gfd: {enabled: true}\n",
        f"values/{DRIVER}.yaml": DRA,
    }
    by = elements(old=PLUGIN, new=DRIVER)
    both = {"list": {"elements": [*by["list"]["elements"], {"cluster": "new", "kind": PLUGIN}]}}

    def codes(**sets: str) -> set[str]:
        return {each.code for each in found([*files.items(), *sets.items()])}

    assert "GPU1186" in codes()
    assert "GPU1186" not in codes(**{"set.yaml": several(BY_KIND, by=by, chart="{{ .kind }}")})
    for other in (
        several(BY_KIND, by=both, chart="{{ .kind }}"),
        several(BY_KIND, by=by, chart="{{ .kind }}", to={"name": "one"}),
        several(BY_KIND, by=by, chart="{{ .kind }}", to={"name": "{{ .unknown }}"}),
    ):
        assert "GPU1186" in codes(**{"set.yaml": other})


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        (several(BY_KIND, by=elements(a="x", b="y")), {"top/values/x.yaml": "a"}),
        (several(BY_KIND, by=elements(a="x", b="x")), {}),
        (several("values/{{ .kind }}.yaml", by=elements(a="x")), {}),
        (several(BY_KIND, by=elements(a="x"), to=SERVER), {"top/values/x.yaml": "a"}),
        (several(BY_KIND, by=elements(a="x")).replace("ApplicationSet", "Other"), {}),
        (several(BY_KIND, by={"clusters": {}}), {}),
        (several(BY_KIND, by=FILES), {"top/values/x.yaml": "north"}),
    ],
)
def test_the_cluster_that_alone_gets_a_file(text: str, clusters: dict[str, str]) -> None:
    texts = {
        "top/set.yaml": text,
        "top/values/x.yaml": "",
        "top/values/two.yaml": "",
        "elsewhere/values/two.yaml": "",
        "top/fleet/north.yaml": "cluster: north\nkind: x\n",
        "top/fleet/more.json": "",
    }

    assert clusters_of_values(texts) == clusters
    assert (
        clusters_of_values({"guide.md": f"```yaml\n{text}\n```\n", **texts, "top/set.yaml": ""})
        == {}
    )


def missing(text: str, tmp_path: Path, **values: str) -> list[tuple[str, str, str]]:
    """What is said of files that are read part by part, as a command reads them."""
    named = values or {"h100-mig": OPERATOR, "l40s": OPERATOR}
    files = {
        "argo/set.yaml": text,
        "fleet/south.yaml": "cluster: south\nkind: h100mig\n",
        "fleet/north.yaml": "cluster: north\nkind: l40s\n",
        **{f"values/{name}.yaml": said for name, said in named.items()},
    }
    told = [each for each in found_in_parts(tmp_path, files) if each.code == "GPU1379"]
    return [(each.severity, each.path, each.message) for each in told]


MESSAGE = (
    "For south it takes values of values/h100mig.yaml, which is not there, and nothing takes those "
    "of h100-mig.yaml: Argo CD %s."
)


@pytest.mark.parametrize("ignored", [True, False])
@pytest.mark.parametrize("by", [FILES, elements(south="h100mig", north="l40s")])
def test_a_name_that_was_meant_otherwise_is_told(
    tmp_path: Path, by: dict[str, Any], ignored: bool
) -> None:
    more: dict[str, Any] = {"ignoreMissingValueFiles": True} if ignored else {}
    ((severity, path, message),) = missing(several(BY_KIND, by=by, **more), tmp_path)

    assert severity == ("warning" if ignored else "error")
    assert path == "spec.template.spec.sources[0].helm.valueFiles[0]"
    assert message == MESSAGE % ("passes it over" if ignored else "renders nothing")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (several(BY_KIND, by=FILES), {"h100mig": OPERATOR, "l40s": OPERATOR}),
        (several(BY_KIND, by=FILES), {"a100": OPERATOR, "l40s": OPERATOR}),
        (several(BY_KIND, by=FILES, chart="redis"), {}),
        (several(BY_KIND, "$own/values/h100-mig.yaml", by=FILES), {}),
        (several("$own/values/h100mig.yaml", by=FILES), {}),
        (several("$own/other/{{ .kind }}.yaml", by=FILES), {}),
        (several("$own/values/{{ .unknown }}.yaml", by=FILES), {}),
        (several(BY_KIND, by=elements(south="h100mig", east="h100-mig")), {}),
    ],
)
def test_what_is_there_or_may_be_meant_so_is_not(
    tmp_path: Path, text: str, values: dict[str, str]
) -> None:
    assert missing(text, tmp_path, **values) == []


def test_what_a_file_may_name_of_others() -> None:
    text = several("/a/b.yaml", "../../c.yaml", BY_KIND, "values.yaml", by=FILES)

    assert patterns_named(GivenFile("set.yaml", text)) == [
        "fleet/*.yaml",
        "a/b.yaml",
        "c.yaml",
        "values/*.yaml",
        "values.yaml",
    ]
    assert patterns_named(GivenFile("README.md", text)) == []
    assert patterns_named(GivenFile("a.yaml", text.replace("ApplicationSet", "Other"))) == []
    assert patterns_named(GivenFile("a.yaml", "kind: Application\n")) == []


def test_a_release_of_flux_names_files_from_a_top() -> None:
    spec = "{chart: {spec: {chart: ./a, valuesFiles: [./x/y.yaml, z.yaml]}}}"
    release = GivenFile("a.yaml", f"kind: HelmRelease\nspec: {spec}\n")

    assert patterns_named(release) == ["x/y.yaml", "z.yaml"]


def test_sets_by_many_files_are_read_by_the_names_of_these() -> None:
    few = {f"fleet/c{n}.yaml": f"cluster: c{n}\nkind: k{n}\n" for n in range(1_000)}
    more = {f"fleet/d{n}.yaml": "cluster: d\n" for n in range(1)}
    values = {f"values/k{n}.yaml": "" for n in range(1_000)}
    texts = {"set.yaml": several(BY_KIND, by=FILES), **few, **values}

    began = time.process_time()

    assert clusters_of_values(texts) == {f"values/k{n}.yaml": f"c{n}" for n in range(1_000)}
    assert time.process_time() - began < 20
    assert clusters_of_values({**texts, **more}) == {}


@pytest.mark.parametrize(("count", "told"), [(20, 20), (21, 0)])
def test_where_most_names_are_no_files_that_is_usual(count: int, told: int) -> None:
    names = {f"c{n}": f"shared-observabilit{'abcdefghijklmnopqrstu'[n]}" for n in range(count)}
    texts = {
        "set.yaml": several(BY_KIND, by=elements(**names)),
        "values/shared-observability.yaml": "",
    }

    assert len(list(missing_of_sets(SetFiles(texts)))) == told


APART = "$own/values/{{ .cluster }}/gpu.yaml"


@pytest.mark.parametrize(
    ("pattern", "missed", "there", "told"),
    [
        (BY_KIND, "h100mig", "values/h100-mig.yaml", 1),
        (BY_KIND, "H100-mig", "values/h100-mig.yaml", 1),
        (BY_KIND, "trein", "values/train.yaml", 1),
        (BY_KIND, "eu-prod", "values/prod-eu.yaml", 1),
        (BY_KIND, "inference-shraed", "values/inference-shared.yaml", 1),
        (BY_KIND, "prod-eu-2", "values/prod-eu-3.yaml", 0),
        (BY_KIND, "prod-eu", "values/prod-eu-3.yaml", 0),
        (BY_KIND, "prod-eu", "values/prod-us.yaml", 0),
        (BY_KIND, "prod-eu-west", "values/prod-eu-east.yaml", 0),
        ("$own/values/{{ .kind }}/gpu.yaml", "h100mig", "values/h100-mig/gpu.yaml", 1),
        ("$own/values/{{ .kind }}/gpu.yaml", "north", "values/south/gpu.yaml", 0),
    ],
)
def test_names_of_other_clusters_are_not_meant(
    pattern: str, missed: str, there: str, told: int
) -> None:
    texts = {"set.yaml": several(pattern, by=elements(a=missed)), there: ""}

    assert len(list(missing_of_sets(SetFiles(texts)))) == told


def alone(**source: Any) -> str:
    spec = {"sources": [{"chart": "gpu-operator", **source}]}
    return yaml.safe_dump(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": spec}
    )


MEANT = "values/h100-mig.yaml"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (alone(helm={"valueFiles": [f"$own/{MEANT}"]}), 0),
        (alone(helm={"valueFiles": [f"../../{MEANT}"]}), 0),
        (alone(helm={"valueFiles": ["$own/values/{{ name }}.yaml"]}), 0),
        (alone(helm={"valueFiles": ["$own/values/l40s.yaml"]}), 1),
        (f"kind: HelmRelease\nspec: {{chart: {{spec: {{valuesFiles: [{MEANT}]}}}}}}\n", 0),
        (f"kind: Other\nspec: {{valuesFiles: [{MEANT}]}}\n", 1),
        (several(BY_KIND, by=elements(b="h100-mig"), chart="redis"), 0),
        (several(BY_KIND, by=elements(b="l40s")), 1),
        (several(BY_KIND, by={"clusters": {}}), 0),
        (several("$own/values/{{ .unknown }}.yaml", by=elements(b="l40s")), 0),
        (several("../values/{{ .kind }}.yaml", by=elements(b="l40s")), 0),
        (several("$own/other/{{ .kind }}.yaml", by={"clusters": {}}), 1),
    ],
)
def test_a_file_that_something_else_takes_is_not_meant(other: str, told: int) -> None:
    texts = {
        "set.yaml": several(BY_KIND, by=elements(a="h100mig")),
        "values/l40s.yaml": "",
        MEANT: "",
    }

    assert len(list(missing_of_sets(SetFiles(texts)))) == 1
    assert list(missing_of_sets(SetFiles(texts), [MEANT])) == []
    assert len(list(missing_of_sets(SetFiles({**texts, "other.yaml": other})))) == told


@pytest.mark.parametrize(("count", "told"), [(199, 1), (200, 0)])
def test_of_many_files_that_nothing_takes_something_does(count: int, told: int) -> None:
    texts = {"set.yaml": several(BY_KIND, by=elements(a="h100mig")), MEANT: ""}
    texts |= {f"values/other{number}.yaml": "" for number in range(count)}

    assert len(list(missing_of_sets(SetFiles(texts)))) == told


def cluster(name: str, **labels: str) -> str:
    """A Secret by which Argo CD knows a cluster."""
    told = {"argocd.argoproj.io/secret-type": "cluster", **labels}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"of-{name}", "labels": told},
            "stringData": {"name": name, "server": f"https://{name}.example.com"},
        }
    )


CHOSEN = {"clusters": {"selector": {"matchLabels": {"gpus": "true"}}}}
BY_LABELS = "$own/values/{{ .metadata.labels.place }}-{{ .metadata.labels.stage }}.yaml"
OF_TWO = {
    "fleet/one.yaml": cluster("one", gpus="true", place="north", stage="live"),
    "fleet/two.yaml": cluster("two", gpus="true", place="south", stage="live"),
    "fleet/web.yaml": cluster("web", place="west", stage="live"),
    "values/live-north.yaml": OPERATOR,
    "values/south-live.yaml": OPERATOR,
    "values/wst-live.yaml": OPERATOR,
}


@pytest.mark.parametrize(
    ("by", "is_told"),
    [
        (CHOSEN, True),
        ({"matrix": {"generators": [CHOSEN, elements(a="x")]}}, True),
        ({"clusters": {}}, False),
        ({**CHOSEN, "selector": {"matchLabels": {"place": "east"}}}, False),
        ({"clusters": {**CHOSEN["clusters"], "values": {"place": "east"}}}, False),
        ({"clusters": {"selector": {"matchLabels": {"gpus": "{{ .a }}"}}}}, False),
        (
            {
                "clusters": {
                    "selector": {
                        **CHOSEN["clusters"]["selector"],
                        "matchExpressions": [{"key": "a", "operator": "Exists"}],
                    }
                }
            },
            False,
        ),
    ],
)
def test_clusters_have_parameters_by_their_secrets(
    tmp_path: Path, by: dict[str, Any], *, is_told: bool
) -> None:
    """Those that the selector chooses; the words of a name may stand in another order."""
    text = several(BY_LABELS, by=by, to={"name": "{{ .name }}"}, ignoreMissingValueFiles=True)
    every = found_in_parts(tmp_path, {**OF_TWO, "sets/set.yaml": text})
    told = [each.message for each in every if each.code == "GPU1379"]

    message = (
        "For one it takes values of values/north-live.yaml, which is not there, and nothing takes "
        "those of live-north.yaml: Argo CD passes it over."
    )
    assert told == [message] * is_told


def test_other_secrets_are_no_clusters(tmp_path: Path) -> None:
    """Nor is what is no Secret."""
    text = several(BY_LABELS, by=CHOSEN, to={"name": "{{ .name }}"}, ignoreMissingValueFiles=True)
    for old, new in (("secret-type: cluster", "secret-type: repository"), ("Secret", "Other")):
        files = {name: given.replace(old, new) for name, given in OF_TWO.items()}
        every = found_in_parts(tmp_path, {**files, "sets/set.yaml": text})
        assert "GPU1379" not in [each.code for each in every]


COMMON = "values/all.yaml"
CONFIGS = """\
config:
  default: whole
  map:
    whole: "version: v1"
    four: |-
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
LAYERED = ("$own/values/all.yaml", BY_KIND)


def told_of(files: dict[str, str], *names: str, **helm: Any) -> list[tuple[str, str]]:
    """What is said of the key that nodes get, of files of values for clusters x and y."""
    text = several(*(names or LAYERED), by=elements(x="one", y="two"), chart=PLUGIN, **helm)
    every = found({"sets/set.yaml": text, COMMON: CONFIGS, **files}.items())
    return [(each.severity, each.message) for each in every if each.code == "GPU1122"]


def default(key: str) -> str:
    return f"config: {{default: {key}}}\n"


def test_values_of_a_cluster_lie_over_those_of_all() -> None:
    """A key that is in neither is told in the file that names it."""
    files = {"values/one.yaml": default("four"), "values/two.yaml": default("eight")}

    ((severity, message),) = told_of(files)
    assert severity == "error"
    assert message.endswith(" is eight, and its configurations are whole, four.")
    assert not told_of({**files, "values/two.yaml": default("four")})


def test_a_cluster_without_values_of_its_own_has_those_of_all() -> None:
    files = {"values/two.yaml": default("eight")}

    assert told_of(files, ignoreMissingValueFiles=True)
    wrong = {**files, COMMON: CONFIGS.replace("default: whole", "default: half")}
    assert len(told_of(wrong, ignoreMissingValueFiles=True)) == len(("half", "eight"))


@pytest.mark.parametrize(
    "helm",
    [
        {"valuesObject": {"config": {"default": "four"}}},
        {"values": "config: {default: four}\n"},
        {"parameters": [{"name": "config.default", "value": "four"}]},
    ],
)
def test_of_values_that_are_written_besides_it_is_not_known(helm: dict[str, Any]) -> None:
    files = {"values/one.yaml": default("four"), "values/two.yaml": default("eight")}

    assert not told_of(files, **helm)


def test_what_every_cluster_gives_anew_is_of_no_release() -> None:
    """The values of all are none by themselves."""
    common = CONFIGS.replace("default: whole", "default: half")
    files = {"values/one.yaml": default("four"), "values/two.yaml": default("whole")}

    assert not told_of({COMMON: common, **files})


def test_values_that_an_application_takes_too_are_of_that() -> None:
    """With others of its own beneath them."""
    files = {"values/one.yaml": default("eight"), "values/two.yaml": default("eight")}
    names = ["$own/values/old.yaml", "$own/values/all.yaml"]
    spec = {
        "destination": {"name": "z"},
        "sources": [
            {"chart": PLUGIN, "helm": {"valueFiles": names}},
            {"ref": "own", "repoURL": "https://example.com/own.git"},
        ],
    }
    application = yaml.safe_dump(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": "gpu"},
            "spec": spec,
        }
    )

    assert not told_of(
        {**files, "app.yaml": application, "values/old.yaml": "gfd: {enabled: true}\n"}
    )


def test_files_by_a_parameter_that_is_not_known_may_lie_between() -> None:
    """Of any name, whether Argo CD passes over what is not there or not."""
    files = {"values/one.yaml": default("eight"), "values/two.yaml": default("eight")}
    names = ("$own/values/all.yaml", "$own/values/{{ .zone }}.yaml", BY_KIND)

    assert not told_of(files, *names)
    assert not told_of(files, *names, ignoreMissingValueFiles=True)
    assert len(told_of(files)) == len(files)


def test_a_cluster_by_all_that_its_secret_says(tmp_path: Path) -> None:
    every_label = {"argocd.argoproj.io/secret-type": "cluster", "place": "north", "stage": "live"}
    secret = yaml.safe_load(cluster("one", place="north", stage="live"))
    del secret["stringData"]
    text = several(
        BY_LABELS,
        by={"clusters": {"selector": {"matchLabels": every_label}}},
        to={"name": "{{ .name }}"},
        ignoreMissingValueFiles=True,
    )
    files = {"one.yaml": yaml.safe_dump(secret), "values/live-north.yaml": OPERATOR}

    every = found_in_parts(tmp_path, {**files, "sets/set.yaml": text})
    (told,) = [each.message for each in every if each.code == "GPU1379"]
    assert told.startswith("For one of its elements it takes values of values/north-live.yaml,")


def test_a_file_over_two_others_is_no_release_by_itself() -> None:
    """By one set over these, and by another over those."""
    files = {"values/one.yaml": default("four"), "values/two.yaml": default("eight")}
    other = several("$own/values/old.yaml", BY_KIND, by=elements(x="two"), chart=PLUGIN)

    assert not told_of({**files, "sets/other.yaml": other, "values/old.yaml": CONFIGS})
    assert not told_of({**files, "elsewhere/values/all.yaml": CONFIGS})
    assert not told_of({**files, "values/two.yaml": "mig: {strategy: mixed}\n"})
