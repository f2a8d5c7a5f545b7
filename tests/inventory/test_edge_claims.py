"""Claims of devices ask for what there is, with settings that NVIDIA's driver takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import chart, codes, nodes, problems

from eks_gpushare.inventory.device_configs import config_problems
from eks_gpushare.inventory.edges import claims
from eks_gpushare.inventory.items import PART_OF_POD, DeviceClaim, Workload
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

SLICED = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}
MPS = {
    "strategy": "MPS",
    "mpsConfig": {
        "defaultActiveThreadPercentage": 50,
        "defaultPinnedDeviceMemoryLimit": "10Gi",
        "defaultPerDevicePinnedMemoryLimit": {"0": "5Gi"},
    },
}


def settings(sharing: Any, kind: str = "GpuConfig", **more: Any) -> dict[str, Any]:
    api = "resource.nvidia.com/v1beta1"
    return {"apiVersion": api, "kind": kind, "sharing": sharing, **more}


def devices(
    name: Any = "gpu.nvidia.com", parameters: Any = None, *, of: str = "gpu", old: bool = False
) -> dict[str, Any]:
    """What a claim asks for: one device, with settings if any are given."""
    asked = {"deviceClassName": name}
    request = {"name": "gpu", **(asked if old else {"exactly": asked})}
    opaque = {"driver": "gpu.nvidia.com", "parameters": parameters}
    config = [] if parameters is None else [{"requests": [of], "opaque": opaque}]
    return {"devices": {"requests": [request], "config": config}}


def claim(spec: Any, kind: str = "ResourceClaim", **more: Any) -> Item:
    name = more.pop("name", "gpu")
    given = {"spec": spec} if kind == "ResourceClaimTemplate" else spec
    more.setdefault("version", "v1")
    more.setdefault("namespace", "team")
    source = Source(f"the {kind} {name}")
    return DeviceClaim(source=source, kind=kind, name=name, spec=given, **more)


def pod(listed: Any, uses: str = "gpu", **more: Any) -> Item:
    container = {"name": "c", "image": "c", "resources": {"claims": [{"name": uses}]}}
    spec = {"resourceClaims": listed, "containers": [container]}
    more.setdefault("namespace", "team")
    more.setdefault("kind", "Pod")
    return Workload(source=Source("the Pod p"), name="p", spec=spec, spec_path=("spec",), **more)


def driver(version: str = "25.12.0", **gates: Any) -> Item:
    values = {"gpuResourcesEnabledOverride": True, "featureGates": gates}
    return chart("nvidia-dra-driver-gpu", values, version=version)


OWN = [{"name": "gpu", "resourceClaimName": "gpu"}]
OF_TEMPLATE = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
TEMPLATE = "ResourceClaimTemplate"

BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "a claim in the form before 1.31": (
        "GPU1149",
        (pod([{"name": "gpu", "source": {"resourceClaimName": "gpu"}}]),),
    ),
    "a class that is misspelt": ("GPU1146", (claim(devices("gpus.nvidia.com")),)),
    "a class of one's own that is not there": ("GPU1146", (claim(devices("big-gpu")),)),
    "a class of a template": ("GPU1146", (claim(devices("gpu.nvidia"), TEMPLATE),)),
    "a class of v1beta1": ("GPU1146", (claim(devices("nvidia", old=True), version="v1beta1"),)),
    "a class among alternatives": (
        "GPU1146",
        (
            claim(
                {
                    "devices": {
                        "requests": [
                            {"name": "gpu", "firstAvailable": [{"deviceClassName": "mig.nvidia"}]}
                        ]
                    }
                }
            ),
        ),
    ),
    "a driver that gives out no GPUs": (
        "GPU1146",
        (claim(devices()), chart("nvidia-dra-driver-gpu", {"resources": {}}, version="25.12.0")),
    ),
    "an interval that is none": (
        "GPU1147",
        (
            claim(
                devices(parameters=settings({**SLICED, "timeSlicingConfig": {"interval": "2ms"}}))
            ),
        ),
    ),
    "settings of a class": (
        "GPU1147",
        (
            claim(
                {
                    "config": [
                        {
                            "opaque": {
                                "driver": "gpu.nvidia.com",
                                "parameters": settings({"strategy": "Slices"}),
                            }
                        }
                    ]
                },
                "DeviceClass",
            ),
        ),
    ),
    "a gate that is off": (
        "GPU1147",
        (claim(devices(parameters=settings(MPS))), driver(TimeSlicingSettings=True)),
    ),
    "the first driver with gates": (
        "GPU1147",
        (claim(devices(parameters=settings(SLICED))), driver("25.8.0")),
    ),
    "a driver of after those that were called by year": (
        "GPU1147",
        (claim(devices(parameters=settings(SLICED))), driver("0.4.1")),
    ),
    "a claim that is not there": ("GPU1148", (pod(OWN),)),
    "a template used as a claim": ("GPU1148", (pod(OWN), claim(devices(), TEMPLATE))),
    "a claim used as a template": ("GPU1148", (pod(OF_TEMPLATE), claim(devices()))),
    "a claim of another namespace": (
        "GPU1148",
        (pod(OWN), claim(devices(), namespace="other")),
    ),
    "a container's claim that its pod lacks": (
        "GPU1148",
        (pod(OWN, uses="gpus"), claim(devices())),
    ),
    "the shape of v1beta1": ("GPU1149", (claim(devices(old=True)),)),
    "the shape of v1": ("GPU1149", (claim(devices(), version="v1beta1"),)),
    "settings for a request that is not there": (
        "GPU1149",
        (claim(devices(parameters=settings(SLICED), of="gpus")),),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "a claim": (pod(OWN), claim(devices())),
    "a template": (pod(OF_TEMPLATE), claim(devices("mig.nvidia.com"), TEMPLATE)),
    "v1beta1": (claim(devices(old=True), version="v1beta1"),),
    "v1beta2": (claim(devices(), version="v1beta2"),),
    "a class of one's own": (
        claim(devices("big-gpu")),
        claim({"selectors": []}, "DeviceClass", name="big-gpu"),
    ),
    "time slices": (
        claim(devices(parameters=settings(SLICED))),
        driver(TimeSlicingSettings=True),
    ),
    "MPS": (claim(devices(parameters=settings(MPS))), driver(AllAlpha=True)),
    "a driver before its gates": (
        claim(devices(parameters=settings(SLICED))),
        driver("25.3.2"),
    ),
    "settings of another driver": (
        claim(
            {
                "devices": {
                    "requests": [{"name": "a", "exactly": {"deviceClassName": "gpu.nvidia.com"}}],
                    "config": [{"opaque": {"driver": "x.example.com", "parameters": {"a": 1}}}],
                }
            }
        ),
    ),
    "an alternative's own settings": (
        claim(
            {
                "devices": {
                    "requests": [
                        {
                            "name": "gpu",
                            "firstAvailable": [
                                {"name": "big", "deviceClassName": "gpu.nvidia.com"}
                            ],
                        }
                    ],
                    "config": [{"requests": ["gpu/big"], "opaque": {"driver": "x"}}],
                }
            }
        ),
    ),
    "a pod without claims": (pod([{"name": "gpu"}]),),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_does_not_go_together_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_does_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


BIG = claim({"selectors": []}, "DeviceClass", name="big-gpus")
WRONG_CLASS = "The ResourceClaim gpu asks for the device class"
MISSING = "The Pod p uses the ResourceClaim gpu, which"
MAKE = "Make it, in the namespace of the Pod p."
OF_OTHER = "The ResourceClaim gpu has config for the request other, which it does not make."


def asking(*requests: Any) -> Item:
    """A claim with settings for a request that it does not make."""
    config = [{"requests": ["other"], "opaque": {"driver": "x"}}]
    return claim({"devices": {"requests": list(requests), "config": config}})


@pytest.mark.parametrize(
    ("items", "message", "fix"),
    [
        (
            (claim(devices("gpus.nvidia.com")),),
            f"{WRONG_CLASS} gpus.nvidia.com, which NVIDIA's driver does not make.",
            "Write gpu.nvidia.com, if that was meant.",
        ),
        (
            (claim(devices("slices")),),
            f"{WRONG_CLASS} slices; of one's own there are none.",
            "Make it, or use one of gpu.nvidia.com, mig.nvidia.com.",
        ),
        (
            (claim(devices("big-gpu")), BIG, claim({}, "DeviceClass", name="a")),
            f"{WRONG_CLASS} big-gpu; of one's own there are a, big-gpus.",
            "Write big-gpus, if that was meant.",
        ),
        *(
            (
                (claim(devices(name)),),
                f"{WRONG_CLASS} {name}; of one's own there are none.",
                "Install the driver that makes it.",
            )
            for name in ("neuron.amazonaws.com", "gpu.intel.com")
        ),
        (
            (claim(devices("gpu.nvidia.con")),),
            f"{WRONG_CLASS} gpu.nvidia.con; of one's own there are none.",
            "Write gpu.nvidia.com, if that was meant.",
        ),
        ((asking(),), OF_OTHER, "Name one of its requests."),
        ((asking({}),), OF_OTHER, "Name one of its requests."),
        ((asking({"name": "gpu"}, {"name": "b"}),), OF_OTHER, "Name one of gpu, b."),
        (
            (asking({"name": "gpu", "firstAvailable": [{"name": "big"}, {}]}),),
            OF_OTHER,
            "Name one of gpu, gpu/big.",
        ),
        ((pod(OWN),), f"{MISSING} is not there.", MAKE),
        ((pod(OWN), claim({}, "DeviceClass")), f"{MISSING} is not there.", MAKE),
        ((pod(OWN), claim({}, TEMPLATE, namespace="b")), f"{MISSING} is not there.", MAKE),
        ((pod(OWN), claim({}, TEMPLATE, name=UNKNOWN)), f"{MISSING} is not there.", MAKE),
        ((pod(OWN), claim({}, TEMPLATE, name="gpus")), f"{MISSING} is not there.", MAKE),
        ((pod(OWN), claim({}, name=UNKNOWN, namespace="b")), f"{MISSING} is not there.", MAKE),
        (
            (pod(OWN), claim({}, name="gpus"), claim({}, name="x")),
            f"{MISSING} is not there.",
            "Write gpus, if that was meant.",
        ),
        (
            (pod(OWN), claim({}, namespace="b"), claim({}, TEMPLATE, namespace="c")),
            f"{MISSING} is in the namespace b.",
            "Put both into one namespace.",
        ),
        (
            (pod(OWN), claim({}, TEMPLATE)),
            f"{MISSING} is a ResourceClaimTemplate.",
            "Write resourceClaimTemplateName.",
        ),
        (
            (pod(OF_TEMPLATE), claim({})),
            "The Pod p uses the ResourceClaimTemplate gpu, which is a ResourceClaim.",
            "Write resourceClaimName.",
        ),
        (
            (pod(None),),
            "A container of the Pod p uses the claim gpu; its pod lists none.",
            "List it under resourceClaims of the pod, by this name.",
        ),
        (
            (pod([{"name": "a"}, {"name": "b"}]),),
            "A container of the Pod p uses the claim gpu; its pod lists a, b.",
            "List it under resourceClaims of the pod, by this name.",
        ),
    ],
)
def test_what_is_meant_is_told(items: tuple[Item, ...], message: str, fix: str) -> None:
    assert [(each.message, each.fix) for each in problems(*items)] == [(message, fix)]


@pytest.mark.parametrize("space", ["team", UNKNOWN])
@pytest.mark.parametrize("name", ["gpu", UNKNOWN])
def test_a_claim_that_may_be_the_one_is(name: Any, space: Any) -> None:
    assert codes(pod(OWN), claim({}, name=name, namespace=space)) == []
    assert codes(pod(OWN, namespace=space), claim({}, name=name)) == []


def test_what_may_stand_elsewhere_is_a_note() -> None:
    items = (pod(OWN), claim(devices("big-gpu"), name="other"))

    found = problems(*items, complete=False)
    assert {each.severity for each in found} == {"info"}
    (sure,) = problems(claim(devices("gpus.nvidia.com")), complete=False)
    assert sure.severity is None


def test_of_a_part_of_a_pod_nothing_is_concluded() -> None:
    assert codes(pod(UNKNOWN, kind=PART_OF_POD)) == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (
            settings(SLICED, apiVersion="gpu.nvidia.com/v1alpha1"),
            "gpu.nvidia.com/v1alpha1 is no version of settings.",
        ),
        (settings(SLICED, kind="GPUConfig"), "GPUConfig is no kind of settings."),
        (settings(SLICED, share={}), "parameters has no field share."),
        (settings({**SLICED, "timeSlicing": {}}), "sharing has no field timeSlicing."),
        (settings({}), "None is no strategy of sharing."),
        (
            settings({**SLICED, "mpsConfig": {}}),
            "mpsConfig stands beside the strategy TimeSlicing.",
        ),
        (
            settings({"strategy": "TimeSlicing", "timeSlicingConfig": {"slice": 1}}),
            "timeSlicingConfig has no field slice.",
        ),
        (
            settings({"strategy": "MPS", "mpsConfig": {"threads": 5}}),
            "mpsConfig has no field threads.",
        ),
        (
            settings({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}),
            "defaultActiveThreadPercentage is 101; it is a whole number from 0 to 100.",
        ),
        (
            settings({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": True}}),
            "defaultActiveThreadPercentage is True; it is a whole number from 0 to 100.",
        ),
        (
            settings({"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "10"}}),
            "10 is no limit of memory; it is 1Mi or more.",
        ),
        (
            settings(
                {
                    "strategy": "MPS",
                    "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {"0": "4 GB"}},
                }
            ),
            "4 GB is no limit of memory; it is 1Mi or more.",
        ),
        (
            settings({"strategy": "TimeSlicing", "timeSlicingConfig": {}}, "MigDeviceConfig"),
            "sharing has no field timeSlicingConfig.",
        ),
    ],
)
def test_what_the_driver_refuses_is_told(parameters: Any, said: str) -> None:
    assert [each.message for each in config_problems("gpu.nvidia.com", parameters)] == [said]


def of_mps(**config: Any) -> dict[str, Any]:
    return {"strategy": "MPS", "mpsConfig": config}


@pytest.mark.parametrize(
    ("sharing", "place"),
    [
        (of_mps(defaultActiveThreadPercentage=-1), ("defaultActiveThreadPercentage",)),
        (of_mps(defaultPinnedDeviceMemoryLimit="1023Ki"), ("defaultPinnedDeviceMemoryLimit",)),
        (
            of_mps(defaultPerDevicePinnedMemoryLimit={"0": "1Mi", "1": "1023Ki"}),
            ("defaultPerDevicePinnedMemoryLimit", "1"),
        ),
    ],
)
def test_where_the_driver_refuses_it(sharing: Any, place: tuple[str, ...]) -> None:
    found = config_problems("gpu.nvidia.com", settings(sharing))

    above = ("parameters", "sharing", "mpsConfig")
    assert [each.place for each in found] == [(*above, *place)]


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("Sharing", "Write sharing, if that was meant."),
        ("shared", "Write sharing, if that was meant."),
        ("apiversion", "Write apiVersion, if that was meant."),
        ("count", "Its fields are apiVersion, kind, sharing."),
    ],
)
def test_a_field_that_is_none_is_told_which_there_are(key: str, fix: str) -> None:
    found = config_problems("gpu.nvidia.com", {**settings(SLICED), key: {}})

    assert [each.fix for each in found] == [fix]


LEAST = of_mps(defaultActiveThreadPercentage=0, defaultPinnedDeviceMemoryLimit="1Mi")
MOST = of_mps(defaultActiveThreadPercentage=100)


@pytest.mark.parametrize(
    "sharing", [SLICED, MPS, LEAST, MOST, {"strategy": "TimeSlicing"}, {"strategy": "MPS"}]
)
def test_what_it_takes_is_not(sharing: Any) -> None:
    assert list(config_problems("gpu.nvidia.com", settings(sharing))) == []
    assert list(config_problems("gpu.nvidia.com", settings({"strategy": UNKNOWN}))) == []


def for_machines(kind: str, **fields: Any) -> dict[str, Any]:
    """Settings of a device for virtual machines."""
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind, **fields}


@pytest.mark.parametrize(
    "parameters",
    [
        for_machines("VgpuDeviceConfig"),
        for_machines(
            "VgpuDeviceConfig", profile="NVIDIA L40S-12Q", profileID=1177, params={"a": "b"}
        ),
        for_machines("VgpuDeviceConfig", profileID=0),
        for_machines("VfioDeviceConfig"),
        for_machines(
            "VfioDeviceConfig", iommu={"backendPolicy": "PreferIommuFD", "enableAPIDevice": True}
        ),
    ],
)
def test_settings_of_devices_for_machines_are_known(parameters: dict[str, Any]) -> None:
    assert codes(claim(devices("gpu.nvidia.com", parameters)), complete=False) == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (for_machines("VGPUDeviceConfig"), "VGPUDeviceConfig is no kind of settings."),
        (for_machines("VgpuConfig"), "VgpuConfig is no kind of settings."),
        (for_machines("VgpuDeviceConfig", sharing={}), "parameters has no field sharing."),
        (
            for_machines("VgpuDeviceConfig", profileID=-1),
            "profileID is -1; it is the number of a vGPU type.",
        ),
        (for_machines("VfioDeviceConfig", profile="x"), "parameters has no field profile."),
        (
            for_machines("VfioDeviceConfig", iommu={"backendPolicy": "IommuFD"}),
            "IommuFD is no policy of backends.",
        ),
    ],
)
def test_what_the_driver_refuses_of_them(parameters: dict[str, Any], said: str) -> None:
    (found,) = problems(claim(devices("gpu.nvidia.com", parameters)), complete=False)

    assert found.message.endswith(said)
    assert found.rule is claims.BAD_CONFIG


def test_what_the_driver_refuses_has_its_place() -> None:
    given = for_machines("VfioDeviceConfig", iommu={"backendPolicy": "IommuFD"})
    (found,) = problems(claim(devices("gpu.nvidia.com", given)), complete=False)

    assert found.path[-3:] == ("parameters", "iommu", "backendPolicy")


@pytest.mark.parametrize(
    ("kind", "gate"),
    [("VgpuDeviceConfig", "VGPUSupport"), ("VfioDeviceConfig", "PassthroughSupport")],
)
def test_devices_for_machines_have_a_gate(kind: str, gate: str) -> None:
    wanted = claim(devices("gpu.nvidia.com", for_machines(kind)))
    off = chart("nvidia-dra-driver-gpu", {}, version="25.12.0")
    on = chart("nvidia-dra-driver-gpu", {"featureGates": {gate: True}}, version="25.12.0")

    (found,) = problems(wanted, off, of=[claims.BAD_CONFIG], complete=False)
    assert gate in found.message
    assert problems(wanted, on, of=[claims.BAD_CONFIG], complete=False) == []


def selecting(expression: Any, name: str = "gpu.nvidia.com", *, old: bool = False) -> Item:
    """A claim of a device that an expression selects."""
    asked = {"deviceClassName": name, "selectors": [{"cel": {"expression": expression}}]}
    request = {"name": "gpu", **(asked if old else {"exactly": asked})}
    version = "v1beta1" if old else "v1"
    return claim({"devices": {"requests": [request]}}, version=version)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("device.attributes['gpu.nvidia.com'].memory >= '16Gi'", "memory"),
        ('device.attributes["gpu.nvidia.com"].multiprocessors > 13', "multiprocessors"),
        ("device.attributes['gpu.nvidia.com'].memoryGiB >= 40", "memoryGiB"),
    ],
)
def test_a_capacity_that_is_looked_for_among_attributes_is_found(
    expression: str, name: str, *, old: bool
) -> None:
    (found,) = problems(selecting(expression, old=old))

    assert found.rule is claims.CLAIM_SHAPE
    assert found.path[-2:] == ("cel", "expression")
    assert found.message.startswith(f"The ResourceClaim gpu looks for {name} among the attributes")


@pytest.mark.parametrize(
    "expression",
    [
        "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A10G'",
        "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('16Gi')) >= 0",
        "device.attributes['gpu.example.com'].memory >= 16",
        "device.attributes['gpu.nvidia.com'].memoryClock > 1",
        "device.attributes['gpu.nvidia.com'].memory_type == 'HBM'",
        "device.attributes['gpu.example.com'].model == 'A'",
        "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'",
        "device.attributes['numa'].node == 1",
        "device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.0.0'))",
        "quantity('1Gi').isLessThan(device.capacity['gpu.nvidia.com'].memory)",
        None,
        16,
    ],
)
def test_other_expressions_are_not(expression: Any) -> None:
    assert codes(selecting(expression)) == []


@pytest.mark.parametrize(
    ("expression", "message", "fix"),
    [
        (
            "device.attributes['gpu.nvidia.com'].migProfile == '3g.40gb'",
            "looks for the attribute migProfile,",
            'Write device.attributes["gpu.nvidia.com"].profile.',
        ),
        (
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].model == 'A'",
            "looks for the attribute model,",
            'Write device.attributes["gpu.nvidia.com"].productName.',
        ),
        (
            "device.attributes['memory'].compareTo(quantity('40Gi')) >= 0",
            "looks for memory where the name of a driver stands",
            'Write device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("...")) >= 0',
        ),
        (
            'device.attributes["architecture"] == "Ampere"',
            "looks for architecture where the name of a driver stands",
            'Write device.attributes["gpu.nvidia.com"].architecture.',
        ),
        (
            "device.attributes['model'] == 'a100'",
            "looks for model where the name of a driver stands",
            'Write device.attributes["gpu.nvidia.com"].productName.',
        ),
        (
            'device.capacity["gpu.nvidia.com"].memory >= quantity("40Gi")',
            "compares a capacity by a sign",
            'Write device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("...")) >= 0',
        ),
    ],
)
def test_words_that_no_device_has_are_found(expression: str, message: str, fix: str) -> None:
    (found,) = problems(selecting(expression))

    assert found.rule is claims.CLAIM_SHAPE
    assert found.message.startswith(f"The ResourceClaim gpu {message}")
    assert found.fix.startswith(fix)


def test_words_of_another_driver_are_its_own() -> None:
    other = "device.attributes['memory'].compareTo(quantity('4Gi')) >= 0"
    mine: dict[str, Any] = {"spec": {}}
    own = claim(mine, "DeviceClass", name="fpga.example.com")

    assert codes(selecting(other, "fpga.example.com"), own) == []
    whose = f"device.driver == 'gpu.nvidia.com' && {other}"
    assert codes(selecting(whose, "fpga.example.com"), own) == ["GPU1149"]


@pytest.mark.parametrize(
    ("kind", "spec", "where"),
    [
        ("ResourceClaim", {"spec": devices()}, "spec.devices"),
        ("ResourceClaimTemplate", None, "spec.spec.devices"),
    ],
)
def test_devices_that_are_a_level_off_are_found(kind: str, spec: Any, where: str) -> None:
    given = devices() if spec is None else spec
    made = DeviceClaim(
        source=Source(f"the {kind} gpu"), kind=kind, name="gpu", namespace="team", version="v1",
        spec=given,
    )  # fmt: skip
    (found,) = problems(made)

    assert found.rule is claims.CLAIM_SHAPE
    assert found.fix == f"Write them below {where}."
    assert "GPU1149" not in codes(claim(UNKNOWN, kind))


HIDDEN = {"containers": [{"name": "c", "image": UNKNOWN}]}
GROUP = nodes("g5.xlarge", provisioner="managed")
BY_HAND = nodes("g5.xlarge", provisioner="byHand")
UNREAD = Workload(
    source=Source("the DaemonSet d"), kind="DaemonSet", name="d", namespace="a", spec=HIDDEN
)
OFF = chart("nvidia-dra-driver-gpu", {"resources": {"gpus": {"enabled": False}}}, version="25.12.0")


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "mig.nvidia.com"])
def test_claims_of_gpus_have_a_driver_beside_nodes_that_are_declared(name: str) -> None:
    def said(*given: Item) -> int:
        return len(problems(*given, of=[claims.NO_CLASS]))

    asking = claim(devices(name))

    assert said(GROUP, asking) == said(GROUP, chart("karpenter", {}), asking) == 1
    assert said(GROUP, OFF, asking) == 1  # as it gives out none
    assert said(GROUP, driver(), asking) == said(GROUP, UNREAD, asking) == 0
    assert said(BY_HAND, asking) == said(asking) == 0
    of_machines = claim(devices("vfio.gpu.nvidia.com"))
    assert said(GROUP, of_machines) == said(GROUP, OFF, of_machines) == 0
