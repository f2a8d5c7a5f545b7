"""Classes of a set of reports on sharing: each wrong, and right as the docs have it."""

from __future__ import annotations

import pytest
from linted import every, found, said

FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpus, namespace: gpus}
spec:
  chart: {spec: {chart: CHART, version: VERSION}}
  values: VALUES
"""
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.34"}
managedNodeGroups:
- {name: gpu, instanceType: TYPE, amiFamily: AmazonLinux2023, MORE}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {MORE, containers: [{name: a, image: a:1, resources: {limits: {LIMITS}}}]}
"""
TEXT = "'version: v1'"


def flux(values: str, chart: str = "nvidia-device-plugin", version: str = "0.17.1") -> str:
    return FLUX.replace("CHART", chart).replace("VERSION", version).replace("VALUES", values)


def operator(values: str) -> str:
    return flux(f"{{toolkit: {{enabled: false}}, {values}}}", "gpu-operator", "v25.3.0")


def group(more: str = "minSize: 1", kind: str = "g4dn.xlarge") -> str:
    return GROUP.replace("TYPE", kind).replace("MORE", more)


def pod(limits: str = "nvidia.com/gpu: 1", more: str = "restartPolicy: Never") -> str:
    return POD.replace("LIMITS", limits).replace("MORE", more)


def codes(*texts: str) -> list[str]:
    return said({"a.yaml": "---\n".join(texts)})


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (f"{{config: {{name: a, default: a, map: {{a: {TEXT}}}}}}}", True),
        (f"{{config: {{default: a, map: {{a: {TEXT}}}}}}}", False),
        (f"{{config: {{name: '', default: a, map: {{a: {TEXT}}}}}}}", False),
        (f"{{config: {{name: $NAME, default: a, map: {{a: {TEXT}}}}}}}", False),
        ("{config: {default: a, map: {a: {version: v1}}}}", True),
        ("{config: {default: a, map: {a: $TEXT}}}", False),
    ],
)
def test_the_chart_of_the_plugin_takes_texts_or_a_name(values: str, wrong: bool) -> None:
    assert ("GPU1036" in codes(flux(values))) is wrong


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ("migManager: {config: {create: true, name: a, data: {mig-configs: {a: []}}}}", True),
        ("devicePlugin: {config: {create: true, name: a, data: {a: {version: v1}}}}", True),
        ("migManager: {config: {create: true, name: a, data: {config.yaml: 'a: 1'}}}", False),
    ],
)
def test_data_of_a_config_map_are_texts(values: str, wrong: bool) -> None:
    assert ("GPU1036" in codes(operator(values))) is wrong


AUTO = "eks.amazonaws.com/compute-type"
TERM = "{matchExpressions: [{key: KEY, operator: OPERATOR, values: [auto]}]}"
TERMS = (
    "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "{nodeSelectorTerms: [TERM]}}}}"
)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (f"{{nodeSelector: {{{AUTO}: auto}}}}", True),
        (f"{{nodeSelector: {{{AUTO}: hybrid}}}}", False),
        (TERMS.replace("TERM", TERM.replace("KEY", AUTO).replace("OPERATOR", "In")), True),
        (TERMS.replace("TERM", TERM.replace("KEY", AUTO).replace("OPERATOR", "NotIn")), False),
        (TERMS.replace("TERM", TERM.replace("KEY", "a").replace("OPERATOR", "In")), False),
        ("{nodeSelector: $SELECTOR}", False),
        ("{}", False),
    ],
)
def test_nodes_of_auto_mode_have_a_plugin(values: str, wrong: bool) -> None:
    assert ("GPU1185" in codes(flux(values))) is wrong


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: p5}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
      - {key: KEY, operator: HOW, values: VALUES}
  limits: {nvidia.com/gpu: 16}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: p5}
spec:
  role: a
  amiSelectorTerms: [{alias: al2023@v20261114}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 200Gi, encrypted: true}}]
"""
RESERVED = f"{CLASS}  capacityReservationSelectorTerms: [{{id: cr-1}}]\n"
WAYS = "karpenter.sh/capacity-type"


AUTO_POOL = POOL.replace("karpenter.k8s.aws", "eks.amazonaws.com").replace(
    "EC2NodeClass", "NodeClass"
)


def test_a_plugin_on_nodes_of_auto_mode_is_told_once() -> None:
    selecting = flux(f"{{gfd: {{enabled: true}}, nodeSelector: {{{AUTO}: auto}}}}")
    nodes = AUTO_POOL.replace("KEY", WAYS).replace("HOW", "In").replace("VALUES", "[spot]")

    assert codes(selecting).count("GPU1185") == 1
    assert codes(selecting, nodes).count("GPU1185") == 1
    assert codes(selecting, pool("[spot]"), CLASS).count("GPU1185") == 1


def pool(values: str, key: str = WAYS, how: str = "In", name: str = "p5") -> str:
    text = POOL.replace("KEY", key).replace("VALUES", values)
    return text.replace("HOW", how).replace("NAME", name)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((pool("[on-demand]"), RESERVED), True),
        ((pool("[spot, on-demand]"), pool("[spot]", name="b"), RESERVED), True),
        ((pool("[reserved, on-demand]"), RESERVED), False),
        ((pool("[on-demand]"), pool("[reserved]", name="b"), RESERVED), False),
        ((pool("[on-demand]"), CLASS), False),
        ((pool("[on-demand]"),), False),
        ((pool("[on-demand, $WAY]"), RESERVED), False),
        ((pool("[spot]", how="NotIn"), RESERVED), False),
        ((pool("[amd64]", key="kubernetes.io/arch"), RESERVED), False),
    ],
)
def test_what_is_reserved_is_taken(texts: tuple[str, ...], wrong: bool) -> None:
    assert ("GPU1376" in codes(*texts)) is wrong


OFF = operator("driver: {enabled: false}, nfd: {enabled: false}")
NFD = flux("{}", "node-feature-discovery", "0.17.2")


def test_the_operator_finds_no_node_without_discovery() -> None:
    assert codes(OFF) == ["GPU1101"]
    assert codes(group(), OFF) == ["GPU1101"]
    assert codes(OFF, NFD) == []
    assert codes(OFF.replace("enabled: false}}", "enabled: true}}")) == []
    assert codes(OFF.replace("enabled: false}}", "enabled: $NFD}}")) == []
    assert said({"up.sh": "helm install o nvidia/gpu-operator --set nfd.enabled=false\n"}) == []


def test_discovery_may_stand_in_another_folder() -> None:
    files = {"a/gpu.yaml": OFF, "b/nfd.yaml": NFD, "b/old.yaml": NFD, "c/nfd.yaml": NFD}

    assert said(files) == []
    assert said({**files, "b/nfd.yaml": "", "b/old.yaml": "", "c/nfd.yaml": ""}) == ["GPU1101"]


@pytest.mark.parametrize("kind", ["p2.xlarge", "g3.4xlarge", "g2.2xlarge"])
def test_gpus_of_before_are_not_to_be_had(kind: str) -> None:
    assert codes(group(kind=kind)) == ["GPU1069"]
    assert codes(group(kind="m5.large")) == []


STORAGE = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: DRIVER
MORE
"""
OWN = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  serviceName: a
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 1}}}]}
  volumeClaimTemplates: [{metadata: {name: a}, spec: {CLASS accessModes: [ReadWriteOnce]}}]
"""
ONE_ZONE = group("availabilityZones: [eu-west-1b]")
EBS = STORAGE.replace("DRIVER", "ebs.csi.aws.com")
NAMED = OWN.replace("CLASS", "storageClassName: disks,")
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: disks, accessModes: [ReadWriteOnce]}
"""
VOLUME = "volumes: [{name: a, persistentVolumeClaim: {claimName: data}}]"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((ONE_ZONE, EBS.replace("MORE", "volumeBindingMode: Immediate"), NAMED), True),
        ((ONE_ZONE, EBS.replace("MORE", "reclaimPolicy: Delete"), NAMED), True),
        ((ONE_ZONE, EBS.replace("MORE", ""), OWN.replace("CLASS", "")), True),
        ((ONE_ZONE, EBS.replace("MORE", ""), CLAIM, pod(more=VOLUME)), True),
        (
            (pool("[eu-west-1b]", "topology.kubernetes.io/zone"), EBS.replace("MORE", ""), NAMED),
            True,
        ),
        ((ONE_ZONE, EBS.replace("MORE", "volumeBindingMode: WaitForFirstConsumer"), NAMED), False),
        ((ONE_ZONE, EBS.replace("MORE", "volumeBindingMode: $MODE"), NAMED), False),
        ((ONE_ZONE, EBS.replace("MORE", "allowedTopologies: [{a: b}]"), NAMED), False),
        ((ONE_ZONE, STORAGE.replace("DRIVER", "efs.csi.aws.com"), NAMED), False),
        ((group(), EBS.replace("MORE", ""), NAMED), False),
        ((ONE_ZONE, EBS.replace("MORE", ""), OWN.replace("CLASS", "storageClassName: b,")), False),
        ((ONE_ZONE, EBS.replace("MORE", ""), pod(more=VOLUME)), False),
        (
            (
                ONE_ZONE,
                EBS.replace("MORE", "").replace("name: disks", "name: $DISKS"),
                CLAIM.replace(": disks", ": $CLASS"),
                pod(more=VOLUME),
            ),
            False,
        ),
        ((ONE_ZONE, EBS.replace("MORE", ""), CLAIM.replace("data", "b"), pod(more=VOLUME)), False),
        (
            (ONE_ZONE, EBS.replace('"true"', '"no"').replace("MORE", ""), OWN.replace("CLASS", "")),
            False,
        ),
        ((pool("[amd64]", "kubernetes.io/arch"), EBS.replace("MORE", ""), NAMED), False),
        (
            (
                pool("[eu-west-1b]", "topology.kubernetes.io/zone", "NotIn"),
                EBS.replace("MORE", ""),
                NAMED,
            ),
            False,
        ),
    ],
)
def test_a_disk_is_made_where_its_pod_can_be(texts: tuple[str, ...], wrong: bool) -> None:
    given = tuple(each.replace("MORE\n", "") for each in texts)

    assert ("GPU1388" in codes(*given)) is wrong


KEPT = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: kept}
spec: {storageClassName: by-hand, csi: {driver: fsx.csi.aws.com, volumeHandle: fs-1}}
"""
OF_CLAIM = "claimRef: {name: data, namespace: default}"
OF_CLASS = CLAIM.replace("storageClassName: disks", "storageClassName: by-hand, volumeName: kept")


@pytest.mark.parametrize(
    ("volume", "claim", "wrong"),
    [
        (KEPT, OF_CLASS.replace("by-hand", "by-hands"), True),
        (KEPT, OF_CLASS.replace("by-hand", '""'), True),
        (KEPT.replace("storageClassName: by-hand, ", ""), OF_CLASS, True),
        (KEPT, OF_CLASS, False),
        (KEPT.replace("by-hand", '""'), OF_CLASS.replace("by-hand", '""'), False),
        (KEPT.replace("storageClassName: by-hand, ", ""), OF_CLASS.replace("by-hand", '""'), False),
        (KEPT, OF_CLASS.replace("storageClassName: by-hand, ", ""), False),
        (KEPT, OF_CLASS.replace("by-hand", "$CLASS"), False),
        (KEPT.replace("by-hand", "$CLASS"), OF_CLASS, False),
        (KEPT, OF_CLASS.replace("by-hand", "b").replace(": kept", ": other"), False),
        (KEPT, OF_CLASS.replace("by-hand", "b").replace(": kept", ': ""'), False),
        (KEPT.replace("name: kept", "name: $A"), OF_CLASS.replace("by-hand", "b"), False),
        (f"{KEPT}---\n{KEPT}", OF_CLASS.replace("by-hand", "b"), False),
        # One that names its claim is bound to it whatever their classes are.
        (KEPT.replace("spec: {", f"spec: {{{OF_CLAIM}, "), OF_CLASS.replace("hand", "b"), False),
        (
            KEPT.replace(
                "{name: kept}",
                "{name: kept, annotations: {volume.beta.kubernetes.io/storage-class: b}}",
            ),
            OF_CLASS.replace("by-hand", "b"),
            False,
        ),
    ],
)
def test_a_claim_is_of_the_class_of_the_volume_that_it_names(
    volume: str, claim: str, wrong: bool
) -> None:
    assert ("GPU1388" in codes(volume, claim, pod(more=VOLUME))) is wrong
    assert "GPU1388" not in codes(volume, claim.replace("name: data", "name: b"), pod(more=VOLUME))


@pytest.mark.parametrize(
    ("volume", "claim", "own", "other", "fix"),
    [
        (KEPT, OF_CLASS.replace("by-hand", '""'), "no class", "the class by-hand", "by-hand"),
        (
            KEPT.replace("storageClassName: by-hand, ", ""),
            OF_CLASS,
            *("the class by-hand", "no class", '""'),
        ),
    ],
)
def test_both_classes_are_told(volume: str, claim: str, own: str, other: str, fix: str) -> None:
    texts = "---\n".join((volume, claim, pod(more=VOLUME)))
    (told,) = (each for each in found([("a.yaml", texts)]) if each.code == "GPU1388")

    assert told.message == (
        f"The PersistentVolumeClaim data is of {own}, and the PersistentVolume kept, which it "
        f"names, of {other}: it is never bound to it, and pods of the Pod a stay Pending."
    )
    assert told.fix == f"Write storageClassName: {fix} in the claim."


PLACED = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: kept}
spec:
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [TERMS]}}
"""
IN_ZONE = "{matchExpressions: [{key: KEY, operator: In, values: [ZONE]}]}"
OF_KUBERNETES = IN_ZONE.replace("KEY", "topology.kubernetes.io/zone")
OF_EBS = IN_ZONE.replace("KEY", "topology.ebs.csi.aws.com/zone")
IN_C = "{key: topology.ebs.csi.aws.com/zone, operator: In, values: [eu-west-1c]}"
TWICE = f"{{matchExpressions: [{IN_C}, {IN_C}]}}"
ONTO = CLAIM.replace("storageClassName: disks", 'storageClassName: "", volumeName: kept')


@pytest.mark.parametrize(
    ("nodes", "terms", "claim", "wrong"),
    [
        (ONE_ZONE, OF_KUBERNETES.replace("ZONE", "eu-west-1c"), ONTO, True),
        (ONE_ZONE, OF_EBS.replace("ZONE", "eu-west-1c"), ONTO, True),
        (
            pool("[eu-west-1b]", "topology.kubernetes.io/zone"),
            OF_EBS.replace("ZONE", "eu-west-1c"),
            ONTO,
            True,
        ),
        (ONE_ZONE, OF_EBS.replace("ZONE", "eu-west-1b"), ONTO, False),
        (ONE_ZONE, OF_EBS.replace("ZONE", "eu-west-1c, eu-west-1b"), ONTO, False),
        (ONE_ZONE, OF_EBS.replace("ZONE", "$ZONE"), ONTO, False),
        (ONE_ZONE, OF_EBS.replace("ZONE", "c").replace("In,", "NotIn,"), ONTO, False),
        (ONE_ZONE, OF_EBS.replace("ZONE", "c") + ", {matchExpressions: []}", ONTO, False),
        (ONE_ZONE, f"{TWICE}, {{matchFields: []}}", ONTO, False),
        (ONE_ZONE, TWICE, ONTO, True),
        (ONE_ZONE, "", ONTO, False),
        (ONE_ZONE, OF_EBS.replace("ZONE", "eu-west-1c"), CLAIM, False),
        (group(), OF_EBS.replace("ZONE", "eu-west-1c"), ONTO, False),
    ],
)
def test_a_volume_that_is_named_is_where_its_pods_can_be(
    nodes: str, terms: str, claim: str, wrong: bool
) -> None:
    volume = PLACED.replace("TERMS", terms)

    assert ("GPU1388" in codes(nodes, volume, claim, pod(more=VOLUME))) is wrong
    assert "GPU1388" not in codes(nodes, volume, volume, claim, pod(more=VOLUME))


def test_a_cluster_of_one_zone_has_its_disks_there() -> None:
    other = "- {name: b, instanceType: m5.large, availabilityZones: [ZONE]}\n"
    early = EBS.replace("MORE", "")

    assert "GPU1388" not in codes(ONE_ZONE + other.replace("ZONE", "eu-west-1b"), early, NAMED)
    assert "GPU1388" in codes(ONE_ZONE + other.replace("ZONE", "eu-west-1a"), early, NAMED)


AUTOSCALER = flux("{autoDiscovery: {clusterName: ml}}", "cluster-autoscaler", "9.46.6")


SHARES = (
    "{nfd: {enabled: true}, gfd: {enabled: true}, config: {default: a, map: {a: "
    '"version: v1\\nsharing: {timeSlicing: {renameByDefault: NAMED, resources: '
    '[{name: nvidia.com/gpu, replicas: 4}]}}"}}}'
)
RENAMED = flux(SHARES.replace("NAMED", "true"))
TAG = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu.shared"
GPU_TAG = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("minSize: 0, maxSize: 4", True),
        ("minSize: 0, maxSize: 4, labels: {k8s.amazonaws.com/accelerator: a10g}", False),
        ("minSize: 2, maxSize: 2", False),
        ("minSize: 0, maxSize: $MOST", False),
        ("minSize: 0, maxSize: 4, labels: $LABELS", False),
    ],
)
def test_the_autoscaler_waits_by_a_label(more: str, wrong: bool) -> None:
    assert ("GPU1263" in codes(group(more), AUTOSCALER)) is wrong
    assert "GPU1263" not in codes(group(more))
    assert "GPU1263" not in codes(group(more, "m5.large"), AUTOSCALER)


@pytest.mark.parametrize(
    ("label", "renamed", "plugin", "severity"),
    [
        ("", True, True, []),
        ("", False, True, ["warning"]),
        ("k8s.amazonaws.com/accelerator: t4", True, True, ["info"]),
        ("k8s.amazonaws.com/accelerator: t4", False, True, []),
        ("k8s.amazonaws.com/accelerator: t4", True, False, []),
    ],
)
def test_the_autoscaler_waits_for_ever_where_shares_are_called_otherwise(
    label: str, renamed: bool, plugin: bool, severity: list[str]
) -> None:
    """It looks for nvidia.com/gpu on nodes with the label, and for nothing else."""
    labels = ", ".join(filter(None, ("nvidia.com/gpu.present: 'true'", label)))
    nodes = group(f"minSize: 0, maxSize: 4, labels: {{{labels}}}")
    shares = flux(SHARES.replace("NAMED", str(renamed).lower()))

    texts = (nodes, AUTOSCALER, *([shares] if plugin else []))

    said_of_all = every([("a.yaml", "---\n".join(texts))])
    told = [each for each in said_of_all if each.code == "GPU1263"]
    assert [each.severity for each in told] == severity
    assert all(each.path.endswith("].labels") for each in told)


def test_what_tags_tell_of_is_what_nodes_have() -> None:
    tags = f'minSize: 0, maxSize: 4, tags: {{"{TAG}": "4"}}'
    both = tags.replace("{", f'{{"{GPU_TAG}": "0", ')

    assert "GPU1263" not in codes(group(tags), AUTOSCALER)
    assert "GPU1263" not in codes(group(both), AUTOSCALER)
    assert "GPU1263" in codes(group(both.replace('"0"', '"1"')), AUTOSCALER)


ENABLED = '{k8s.io/cluster-autoscaler/enabled: "true"}'
ZERO = "minSize: 0, maxSize: 4, labels: {k8s.amazonaws.com/accelerator: t4}"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((group(ZERO), RENAMED, AUTOSCALER, pod("nvidia.com/gpu.shared: 1")), True),
        ((group(ZERO), RENAMED, pod("nvidia.com/gpu.shared: 1")), False),
        ((group(f"{ZERO}, tags: {ENABLED}"), RENAMED, pod("nvidia.com/gpu.shared: 1")), True),
        (
            (
                group(f'{ZERO}, tags: {{{TAG}: "4", {GPU_TAG}: "0"}}'),
                RENAMED,
                AUTOSCALER,
                pod("nvidia.com/gpu.shared: 1"),
            ),
            False,
        ),
        ((group(ZERO), RENAMED, AUTOSCALER), False),
        (
            (group(ZERO.replace("0", "1")), RENAMED, AUTOSCALER, pod("nvidia.com/gpu.shared: 1")),
            False,
        ),
        ((group(ZERO), flux(SHARES.replace("NAMED", "false")), AUTOSCALER, pod()), False),
    ],
)
def test_the_autoscaler_knows_of_renamed_shares(texts: tuple[str, ...], wrong: bool) -> None:
    assert ("GPU1141" in codes(*texts)) is wrong


@pytest.mark.parametrize(
    ("size", "wrong"),
    [
        ("minSize: 0, maxSize: 1", False),
        ("minSize: 2, maxSize: 2", False),
        ("minSize: 1, maxSize: 2", True),
        ("maxSize: 2", True),
    ],
)
def test_of_a_group_that_does_not_grow_an_autoscaler_waits_for_nothing(
    size: str, wrong: bool
) -> None:
    told = every([("a.yaml", group(f"{size}, tags: {ENABLED}"))])

    assert ("GPU1263" in [each.code for each in told]) is wrong


SELF_MANAGED = """\
module "gpu" {
  source        = "terraform-aws-modules/eks/aws//modules/self-managed-node-group"
  version       = "~> 20.31"
  name          = "gpu"
  ami_type      = "AL2023_x86_64_NVIDIA"
  instance_type = "g4dn.xlarge"
  min_size      = 0
  cloudinit_pre_nodeadm = [{
    content_type = "application/node.eks.aws"
    content      = <<-EOT
      apiVersion: node.eks.aws/v1alpha1
      kind: NodeConfig
      spec: {kubelet: {flags: ["--node-labels=workload=gpu"]}}
    EOT
  }]
  autoscaling_group_tags = {
    "k8s.io/cluster-autoscaler/node-template/taint/a" = "true:NoSchedule"
    TAGS
  }
}
variable "tag" { type = string }
"""
SCALED = '"k8s.io/cluster-autoscaler/enabled" = "true"'
LABEL = '"k8s.io/cluster-autoscaler/node-template/label/workload" = "gpu"'


@pytest.mark.parametrize(
    ("tags", "wrong"),
    [
        ((SCALED,), True),
        ((SCALED, LABEL), False),
        ((), False),
        ((SCALED, '(var.tag) = "gpu"'), False),
    ],
)
def test_tags_tell_of_every_label(tags: tuple[str, ...], wrong: bool) -> None:
    text = SELF_MANAGED.replace("TAGS", "\n    ".join(tags))

    assert ("GPU1073" in said({"main.tf": text})) is wrong


def test_tags_that_are_not_known_may_tell_of_all() -> None:
    text = SELF_MANAGED.replace(
        "autoscaling_group_tags = {", "autoscaling_group_tags = merge(var.tag, {"
    )

    assert "GPU1073" not in said({"main.tf": text.replace("TAGS\n  }", f"{SCALED}\n  }})")})


PLAIN = flux(SHARES.replace("NAMED", "false"))


@pytest.mark.parametrize(
    ("texts", "product", "wrong"),
    [
        ((group(), PLAIN), "Tesla-T4", True),
        ((group(), PLAIN), "Tesla-T4-SHARED", False),
        ((group(), PLAIN), "NVIDIA-A10G", False),
        ((group(), RENAMED), "Tesla-T4", False),
        ((group("labels: {nvidia.com/gpu.product: Tesla-T4}"), PLAIN), "Tesla-T4", False),
        ((group(), PLAIN, flux("{}").replace("gpus", "b")), "Tesla-T4", False),
    ],
)
def test_shared_gpus_have_another_product(
    texts: tuple[str, ...], product: str, wrong: bool
) -> None:
    asking = pod(more=f"nodeSelector: {{nvidia.com/gpu.product: {product}}}")

    assert ("GPU1260" in codes(*texts, asking)) is wrong


SETTINGS = """\
  userData: |
    [settings.kubelet-device-plugins.nvidia]
    device-sharing-strategy = "time-slicing"
    [settings.kubelet-device-plugins.nvidia.time-slicing]
    replicas = 4
    rename-by-default = false
"""


def test_bottlerocket_says_nothing_of_its_product() -> None:
    asking = pod(more="nodeSelector: {nvidia.com/gpu.product: Tesla-T4}")
    nodes = pool("[spot]").replace("p5.48xlarge", "g4dn.xlarge")
    own = f"{CLASS.replace('al2023@v20261114', 'bottlerocket@v1.57.0')}{SETTINGS}"

    assert {"GPU1260", "GPU012"}.isdisjoint(codes(nodes, own, asking))
    assert "GPU1260" in codes(nodes, CLASS, PLAIN, asking)


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus, namespace: argocd}
spec:
  SOURCE
  destination: {server: "https://kubernetes.default.svc", namespace: gpus}
"""
ONE = "source: {repoURL: a, path: charts/gpu-operator, helm: {valueFiles: [NAMES], MORE}}"
SEVERAL = "sources: [{repoURL: a, path: charts/gpu-operator, helm: {valueFiles: [NAMES], MORE}}]"
CHART = "apiVersion: v2\nname: gpu-operator\nversion: 0.1.0\n"


@pytest.mark.parametrize("form", [ONE, SEVERAL])
@pytest.mark.parametrize(
    ("names", "more", "wrong"),
    [
        ("values-prod.yaml", "a: b", 1),
        ("values/prod.yaml, values-prod.yaml", "a: b", 1),
        ("values/prod.yaml", "a: b", 0),
        ("values-prod.yaml", "ignoreMissingValueFiles: true", 0),
        ("../values-prod.yaml", "a: b", 0),
        ("/values-prod.yaml", "a: b", 0),
        ("$values/prod.yaml", "a: b", 0),
        ("https://example.com/values.yaml", "a: b", 0),
        ("values.gotmpl", "a: b", 0),
    ],
)
def test_files_of_values_are_there(form: str, names: str, more: str, wrong: int) -> None:
    source = form.replace("NAMES", names).replace("MORE", more)
    files = {
        "argocd/gpu.yaml": APPLICATION.replace("SOURCE", source),
        "charts/gpu-operator/Chart.yaml": CHART,
        "charts/gpu-operator/values/prod.yaml": "gpu-operator: {toolkit: {enabled: false}}\n",
    }
    missing = [each for each in found(files.items()) if each.code == "GPU1379"]

    assert len(missing) == wrong
    assert all(each.fix == "Did you mean values/prod.yaml?" for each in missing)
    files["other/charts/gpu-operator/Chart.yaml"] = CHART
    assert "GPU1379" not in said(files)


MAP_OF_VALUES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: gpu}
data: {values.yaml: "gfd: {enabled: true}", more.yaml: "{}"}
"""
FROM_MAP = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin}}
  valuesFrom: [{kind: ConfigMap, name: sharedMORE}]
"""


@pytest.mark.parametrize(
    ("more", "of_map", "wrong"),
    [
        (", valuesKey: moer.yaml", MAP_OF_VALUES, "spec.valuesFrom[0].valuesKey"),
        ("", MAP_OF_VALUES.replace("values.yaml", "value.yaml"), "spec.valuesFrom[0]"),
        ("", MAP_OF_VALUES, ""),
        (", valuesKey: more.yaml", MAP_OF_VALUES, ""),
        (", valuesKey: moer.yaml, optional: true", MAP_OF_VALUES, ""),
        (", valuesKey: $KEY", MAP_OF_VALUES, ""),
        (", valuesKey: moer.yaml", MAP_OF_VALUES.replace("space: gpu", "space: b"), ""),
        (", valuesKey: moer.yaml", MAP_OF_VALUES.replace("space: gpu", "space: $A"), ""),
        (", valuesKey: moer.yaml", MAP_OF_VALUES.replace("name: shared", "name: $A"), ""),
        (", valuesKey: moer.yaml", f"{MAP_OF_VALUES}---\n{MAP_OF_VALUES}", ""),
        (", valuesKey: moer.yaml", MAP_OF_VALUES.replace("data: {", "data: {$A: a, "), ""),
    ],
)
def test_a_release_takes_values_of_a_key_that_the_config_map_has(
    more: str, of_map: str, wrong: str
) -> None:
    files = {"a/plugin.yaml": FROM_MAP.replace("MORE", more), "a/map.yaml": of_map}
    missing = [each for each in found(files.items()) if each.code == "GPU1379"]

    assert [each.path for each in missing] == ([wrong] if wrong else [])
    files["b/map.yaml"] = files.pop("a/map.yaml")
    assert "GPU1379" not in said(files)


def test_a_chart_that_is_not_given_may_have_any_values() -> None:
    source = ONE.replace("NAMES", "values-prod.yaml").replace("MORE", "a: b")

    assert "GPU1379" not in said({"gpu.yaml": APPLICATION.replace("SOURCE", source)})


def test_who_switches_the_manager_off_cuts_no_gpus() -> None:
    nodes = group("labels: {nvidia.com/mig.config: all-1g.5gb}", "p4d.24xlarge")

    assert "GPU1132" in codes(nodes, operator("migManager: {enabled: false}"))
    assert "GPU1132" not in codes(nodes, flux("{nfd: {enabled: true}}"))


@pytest.mark.parametrize(
    ("name", "severity", "told"),
    [
        ("amazon-eks-node-*-nvidia-*", "error", True),
        ("amazon-eks-node-al2023-x86_64-nvidia-1.34-*", "warning", False),
        ("ours-*", "warning", False),
    ],
)
def test_a_name_with_a_version_of_kubernetes_is_no_error(
    name: str, severity: str, told: bool
) -> None:
    text = CLASS.replace("{alias: al2023@v20261114}", f'{{name: "{name}"}}')
    (one,) = (each for each in found([("a.yaml", f"{text}  amiFamily: AL2023\n")]))

    assert (one.code, one.severity) == ("GPU1056", severity)
    assert ("has no version of Kubernetes" in one.message) is told


def test_an_empty_affinity_is_told_once() -> None:
    values = "{affinity: {}, nodeSelector: {a: b}}"
    nodes = group("labels: {a: b}")

    (one,) = found([("a.yaml", f"{nodes}---\n{flux(values)}")])
    assert one.code == "GPU1101"
    assert "affinity: null" in one.fix
    assert codes(flux(values)) == ["GPU1035"]


def test_one_of_the_two_is_a_warning() -> None:
    """Of a driver that is there its pod may see that, and label the node."""
    values = {
        "{driver: {enabled: false}}": "warning",
        "{toolkit: {enabled: false}}": "warning",
        "{}": "error",
    }

    for given, severity in values.items():
        text = flux(given, "gpu-operator", "v25.3.0")
        (one,) = (e for e in found([("a.yaml", f"{group()}---\n{text}")]) if e.code == "GPU1180")
        assert one.severity == severity


OF_A_SOURCE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nfd, namespace: gpus}
spec:
  chartRef: {kind: OCIRepository, name: node-feature-discovery}
  values: {unheardOf: 1}
"""


def test_a_source_of_one_chart_is_called_like_it() -> None:
    assert codes(OFF, OF_A_SOURCE) == []
    assert codes(OFF, OF_A_SOURCE.replace("node-feature", "other")) == ["GPU1101"]


DEPLOYED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm, namespace: ml}
spec:
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec: {containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
"""
SCALES = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: llm, namespace: ml}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm-worker}
  maxReplicas: 2
"""


def test_a_scaler_of_a_chart_or_a_guide_may_mean_what_is_not_shown() -> None:
    shown = DEPLOYED + SCALES

    assert "GPU1191" in said({"a/all.yaml": shown})
    apart = {"a/one/a.yaml": DEPLOYED, "a/two/a.yaml": SCALES}
    built = {"a/kustomization.yaml": "resources: [one/a.yaml, two/a.yaml]\n"}
    assert "GPU1191" not in said(apart | built)
    assert "GPU1191" not in said({"README.md": f"```yaml\n{shown}```\n"})
    chart = {"a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n"}
    assert "GPU1191" not in said({**chart, "a/templates/all.yaml": shown})


def test_an_application_of_a_chart_without_gpus_is_not_judged() -> None:
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: b}\n"
        "spec:\n  destination: {namespace: a, server: https://kubernetes.default.svc}\n"
        "  source: {repoURL: https://a.example, path: charts/CHART, helm: {valueFiles: [b.yaml]}}\n"
    )
    told = []
    for chart in ("nvidia-device-plugin", "web"):
        files = {
            "a/app.yaml": application.replace("CHART", chart),
            f"charts/{chart}/Chart.yaml": f"apiVersion: v2\nname: {chart}\nversion: 1.0.0\n",
        }
        told.append("GPU1379" in said(files))

    assert told == [True, False]
