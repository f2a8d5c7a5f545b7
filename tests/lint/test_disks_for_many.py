"""Claims for volumes that many nodes write to, of classes that make disks for one."""

from __future__ import annotations

import pytest
from linted import found

STORAGE = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: quick, annotations: {MORE}}
provisioner: DRIVER
volumeBindingMode: WaitForFirstConsumer
---
"""
EBS = STORAGE.replace("DRIVER", "ebs.csi.aws.com")
DEFAULT = EBS.replace("MORE", 'storageclass.kubernetes.io/is-default-class: "true"')
EFS = STORAGE.replace("DRIVER", "efs.csi.aws.com")
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: own}
spec: {MORE resources: {requests: {storage: 100Gi}}}
---
"""
VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: made}
spec: {storageClassName: CLASS, accessModes: [ReadWriteMany], capacity: {storage: 100Gi}}
---
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: own}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: own:1
          resources: {limits: {nvidia.com/gpu: COUNT}}
          volumeMounts: [{name: MOUNTED, mountPath: /data}]
      volumes:
        - {name: other, emptyDir: {}}
        - {name: data, OF}
---
"""
BY_NAME = "persistentVolumeClaim: {claimName: data}"
OF_ITS_OWN = "ephemeral: {volumeClaimTemplate: {spec: {MORE}}}"
MANY = "accessModes: [ReadWriteMany], storageClassName: quick,"
SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: serve, namespace: own}
spec:
  serviceName: serve
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      containers:
        - name: serve
          image: own:1
          resources: {limits: {nvidia.com/gpu: 1}}
          volumeMounts: [{name: NAME, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteMany], storageClassName: quick}
---
"""
FLOW = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: tune-, namespace: own}
spec:
  entrypoint: all
  volumes: [{name: old, persistentVolumeClaim: {claimName: data}}]
  volumeClaimTemplates:
    - metadata: {name: kept}
      spec: {accessModes: [ReadWriteOnce], storageClassName: quick}
    - metadata: {name: run}
      spec: {accessModes: [ReadWriteMany], storageClassName: quick}
  templates:
    - name: first
      container:
        image: own:1
        resources: {limits: {nvidia.com/gpu: COUNT}}
        volumeMounts: [{name: NAME, mountPath: /data}]
    - name: second
      container:
        image: own:1
        resources: {limits: {nvidia.com/gpu: COUNT}}
        volumeMounts: [{name: NAME, mountPath: /data}]
"""
MODEL = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: model, namespace: own}
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      storageUri: ADDRESS
      resources: {limits: {nvidia.com/gpu: 1}}
---
"""


def job(of: str = BY_NAME, mounted: str = "data", count: int = 1) -> str:
    text = JOB.replace("OF", of).replace("MOUNTED", mounted)
    return text.replace("COUNT", str(count))


def claim(more: str = MANY) -> str:
    return CLAIM.replace("MORE", more)


def told(*texts: str) -> list[tuple[str, str]]:
    """Place and message of each GPU1388."""
    given = [(f"{number}.yaml", text.replace("MORE", "")) for number, text in enumerate(texts)]
    return [(each.path, each.message) for each in found(given) if each.code == "GPU1388"]


def test_a_claim_for_many_nodes_is_not_of_a_disk() -> None:
    assert told(job(), claim(), EBS) == [
        (
            "spec.accessModes",
            (
                "The PersistentVolumeClaim data asks for ReadWriteMany, and the StorageClass quick "
                "makes disks, which are attached to one node: it makes none of this claim, and the "
                "pods stay Pending."
            ),
        )
    ]


@pytest.mark.parametrize(
    ("given", "storage"),
    [
        (MANY, STORAGE.replace("DRIVER", "disk.csi.azure.com")),
        ("accessModes: [ReadWriteOnce, ReadWriteMany], storageClassName: quick,", EBS),
        ("accessModes: [ReadWriteMany], volumeMode: Filesystem, storageClassName: quick,", EBS),
        ("accessModes: [ReadWriteMany],", DEFAULT),
        ("accessModes: [ReadWriteMany], storageClassName: ebs-sc,", EFS),
        (MANY, EBS + VOLUME.replace("CLASS", "manual")),
    ],
)
def test_it_is_told_of_what_is_a_disk(given: str, storage: str) -> None:
    assert len(told(job(), claim(given), storage)) == 1


@pytest.mark.parametrize(
    ("given", "storage"),
    [
        (MANY, EFS),
        (MANY, ""),
        (MANY, EBS + EFS),  # of two clusters, or environments
        ("accessModes: [ReadWriteOnce], storageClassName: quick,", EBS),
        ("accessModes: [$MODE], storageClassName: quick,", EBS),
        ("accessModes: [ReadWriteMany], storageClassName: $CLASS,", EBS),
        ("accessModes: [ReadWriteMany], storageClassName: '',", DEFAULT),
        ("accessModes: [ReadWriteMany],", EBS),
        ("accessModes: [ReadWriteMany], storageClassName: others,", DEFAULT),
        (f"{MANY} volumeMode: Block,", EBS),
        (f"{MANY} volumeMode: $HOW,", EBS),
        (f"{MANY} volumeName: made,", EBS),
        (f"{MANY} selector: {{matchLabels: {{a: b}}}},", EBS),
        (MANY, EBS + VOLUME.replace("CLASS", "quick")),
        (MANY, EBS + VOLUME.replace("CLASS", "$CLASS")),
    ],
)
def test_other_claims_and_what_is_not_known_are_let_be(given: str, storage: str) -> None:
    assert told(job(), claim(given), storage) == []


def test_the_claim_is_one_that_a_pod_with_gpus_mounts() -> None:
    assert told(job(mounted="other"), claim(), EBS) == []
    assert told(job(count=0), claim(), EBS) == []
    assert told(job(), claim().replace("own", "others"), EBS) == []
    assert told(job(), claim().replace("name: data", "name: others"), EBS) == []
    assert told(job(), claim().replace("PersistentVolumeClaim", "Service"), EBS) == []
    assert told(job(mounted="{a: b}"), claim(), EBS) == []
    assert len(told(job(), job().replace("name: train,", "name: test,"), claim(), EBS)) == 1


def test_pods_that_have_a_claim_of_their_own_are_told_of() -> None:
    assert told(job(OF_ITS_OWN.replace("MORE", MANY)), EBS) == [
        (
            "spec.template.spec.volumes[1].ephemeral.volumeClaimTemplate.spec.accessModes",
            (
                "The volume data of the Job train asks for ReadWriteMany, and the StorageClass "
                "quick makes disks, which are attached to one node: it makes none of this claim, "
                "and the pods stay Pending."
            ),
        )
    ]
    assert [path for path, _ in told(SET.replace("NAME", "data"), EBS)] == [
        "spec.volumeClaimTemplates[0].spec.accessModes"
    ]
    assert told(SET.replace("NAME", "other"), EBS) == []


@pytest.mark.parametrize(
    ("mounted", "count", "place"),
    [
        ("run", 1, "spec.volumeClaimTemplates[1].spec.accessModes"),
        ("old", 1, "spec.accessModes"),
        ("kept", 1, None),
        ("run", 0, None),
    ],
)
def test_steps_of_a_workflow_have_what_stands_around_them(
    mounted: str, count: int, place: str | None
) -> None:
    flow = FLOW.replace("NAME", mounted).replace("COUNT", str(count))

    assert [path for path, _ in told(flow, claim(), EBS)] == [place] * bool(place)


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("pvc://data/model", True),
        ("pvc://data", True),
        ("pvc://b/data", False),
        ("s3://data", False),
    ],
)
def test_models_of_kserve_are_on_a_claim(address: str, wrong: bool) -> None:
    assert bool(told(MODEL.replace("ADDRESS", address), claim(), EBS)) is wrong
