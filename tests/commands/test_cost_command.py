"""`eks-gpushare cost`: what GPU nodes cost, and whose it is."""

from __future__ import annotations

import csv
import io
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.lint.stack_side import read_stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
STACK = ROOT / "stacks" / "Pulumi.tenants.yaml"
DAY, USAGE = "examples/cost/day.json", "examples/cost/usage.json"
POOL = "label_eks_gpushare_pool"


def answer(*series: tuple[dict[str, str], Any], kind: str = "vector", **more: Any) -> str:
    """An answer of Prometheus."""
    key = "value" if kind == "vector" else "values"
    result = [{"metric": labels, key: value} for labels, value in series]
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more})


def held(pool: str = "notebooks", shares: str = "1", **labels: str) -> tuple[dict[str, str], Any]:
    named = {POOL: pool, "namespace": "research", "resource": "nvidia_com_gpu_shared", **labels}
    return named, [1795802400, shares]


def node(name: str = "n", resource: str = "nvidia_com_gpu_shared", **labels: str) -> Any:
    return {POOL: "notebooks", "node": name, "resource": resource, **labels}, [1795802400, "8"]


@pytest.fixture
def given(tmp_path: Path) -> Callable[[str], str]:
    """Writes a usage file."""

    def write(text: str) -> str:
        file = tmp_path / "usage.json"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return write


def stack(folder: Path, edit: Callable[[dict[str, Any]], None]) -> str:
    declared = yaml.safe_load(STACK.read_text(encoding="utf-8"))
    edit(declared["config"]["eks-gpushare:environment"])
    file = folder / "Pulumi.edited.yaml"
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("declared", ()),
        ("usage", ("--usage", USAGE)),
        ("day-by-namespace", ("--usage", DAY, "--by", "namespace")),
        ("day-by-pool-and-memory", ("--usage", DAY, "--by", "pool", "--split", "memory")),
    ],
)
def test_what_people_see(run: Run, golden: Any, name: str, words: tuple[str, ...]) -> None:
    golden(f"cost/{name}.txt", run("cost", "tenants", *words).out)


def test_what_programs_see(run: Run, golden: Any) -> None:
    golden("cost/day.json", run("cost", "tenants", "--usage", DAY, "--json").out)
    golden("cost/day.csv", run("cost", "tenants", "--usage", DAY, "--csv").out)
    golden("cost/opencost.csv", run("cost", "tenants", "--output", "opencost").out)


def test_csv_and_json_add_up_to_the_nodes(run: Run) -> None:
    found = run("cost", "tenants", "--usage", DAY, "--json").json
    rows = list(csv.DictReader(io.StringIO(run("cost", "tenants", "--usage", DAY, "--csv").out)))

    hour, month = (
        sum(Decimal(row[key]) for row in rows) for key in ("usd_per_hour", "usd_per_month")
    )
    # One and a half g6.4xlarge on average, and a p4d.24xlarge.
    exact = Decimal("1.5") * Decimal("1.3232") + Decimal("21.957642")
    assert (hour, month) == (round(exact, 4), round(exact * 730, 2))
    assert (float(hour), float(month)) == (found["usdPerHour"], found["usdPerMonth"])
    assert len(rows) == len(found["lines"])


@pytest.mark.parametrize("name", sorted(file.name for file in (ROOT / "stacks").glob("*.yaml")))
def test_what_a_stack_keeps_costs_what_its_pools_do(run: Run, name: str) -> None:
    """The plans of pools, which `preview` shows, have their own sum."""
    file = ROOT / "stacks" / name
    plans = read_stack(file).plans.values()
    kept = [plan for plan in plans if plan.kept or plan.reserved]
    sums = [plan.cost.at_desired if plan.cost else None for plan in kept]
    found = run("cost", str(file), "--json").json["usdPerHour"]

    if None in sums:
        assert found is None
    else:
        assert found == pytest.approx(sum(usd or 0 for usd in sums), abs=0.0002)


def test_several_formats_at_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "lines.csv"
    ran = run("cost", "tenants", "--output", f"csv={file}", "--json")

    assert ran.json["rows"][0]["tenant"] == "research"
    assert file.read_text(encoding="utf-8").startswith("tenant,cost_center,")
    both = run("cost", "tenants", "--csv", "--json")
    assert (both.code, both.out) == (2, "")
    assert "csv and json cannot both go to standard output" in both.err


def test_pods_of_a_dump_have_what_they_hold(run: Run, tmp_path: Path) -> None:
    def pod(name: str, space: str, resource: str, phase: str = "Running", on: str = "n1") -> Any:
        limits = {"limits": {resource: "1"}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": space},
            "spec": {"nodeName": on, "containers": [{"name": "c", "resources": limits}]},
            "status": {"phase": phase},
        }

    def machine(name: str, pool: str, instance_type: str, **shares: str) -> Any:
        labels = {
            "eks-gpushare/pool": pool,
            "node.kubernetes.io/instance-type": instance_type,
            "topology.kubernetes.io/region": "us-east-1",
        }
        advertised = {f"nvidia.com/{key.replace('_', '.')}": value for key, value in shares.items()}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": advertised, "capacity": advertised},
        }

    shared = "nvidia.com/gpu.shared"
    items = [
        machine("n1", "notebooks", "g6.4xlarge", gpu_shared="8"),
        machine("n2", "notebooks", "g6.4xlarge", gpu_shared="6"),
        machine("x", "theirs", "g6.xlarge", gpu="1"),
        *(pod(f"a{n}", "research", shared) for n in range(3)),
        pod("ended", "research", shared, phase="Succeeded"),
        pod("waits", "research", shared, phase="Pending", on=""),
        pod("b", "kube-ml", shared, on="n2"),
        pod("odd", "kube-ml", "nvidia.com/gpu", on="n2"),
    ]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = run("cost", "tenants", "--from", str(dump), "--json").json

    lines = {
        (line["tenant"], line["namespace"], line["resource"], line["use"]): line["shares"]
        for line in found["lines"]
    }
    assert lines == {
        ("research", "research", shared, "used"): 3,
        ("research", None, shared, "guaranteed"): 5,
        (None, "kube-ml", shared, "used"): 1,
        (None, None, shared, "idle"): 5,
        (None, None, None, "idle"): 0,  # two shares of n2 are not advertised
    }
    assert found["usdPerHour"] == 2.6464
    assert found["use"]["by"] == "cluster"
    assert found["notes"] == [
        "Not counted is theirs, which the stack does not declare: x.",
        (
            "notebooks has no nvidia.com/gpu, which pods of kube-ml hold there: what they are on "
            "counts as idle. eks-gpushare verify says what is wrong."
        ),
        "Of no tenant, and so the platform's, is what pods of kube-ml hold.",
    ]


def test_a_milliard_of_shares_may_be_held(run: Run, given: Callable[[str], str]) -> None:
    ran = run("cost", "tenants", "--usage", given(answer(held(shares="1e9"))))

    assert "no cluster has more" not in f"{ran.out}{ran.err}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON: Expecting value: line 1 column 1 (char 0)."),
        ("[" * 100_000, "is nested too deeply."),
        ("[]", 'is no answer of Prometheus: it has no "status".'),
        ('{"status": "success"}', 'is no answer of Prometheus: it has no "data".'),
        (
            '{"status": "error", "errorType": "bad_data", "error": "parse error: unclosed"}',
            "Prometheus refused the query: bad_data: parse error: unclosed.",
        ),
        (
            '{"status": "success", "data": {"resultType": "vector", "result": 7}}',
            "is no answer of Prometheus: data.result is no list.",
        ),
        (answer(kind="scalar"), "data.resultType is 'scalar'; a vector or a matrix is needed."),
        (answer(), "has no series: nothing matched its query."),
        (answer(held(shares="NaN")), "has the value 'NaN', which is no number: a share is held or"),
        (answer(held(shares="-1")), "has the value '-1', and nobody holds less than nothing."),
        (answer(held(shares="1e30")), "and no cluster has more than 1,000,000,000 shares."),
        (answer(held(shares="+Inf")), "and no cluster has more than 1,000,000,000 shares."),
        (answer(held(shares="1_0")), "has the value '1_0', which is no number."),
        (answer(({}, ["now", "1"])), "data.result[0] has a value that is no time with a number."),
        (answer(({}, [1e300, "1"])), "data.result[0] has a value that is no time with a number."),
        (answer(({}, None), kind="matrix"), "data.result[0] has a value that is no time with a"),
        (answer((None, [1, "1"])), "data.result[0] has no labels."),  # type: ignore[arg-type]
        (
            answer(({"namespace": "a"}, [1, "1"])),
            '{namespace="a"} names no pool. Each series needs',
        ),
        (answer(({"pool": "notebooks"}, [1, "1"])), '{pool="notebooks"} names no resource.'),
        (
            answer(held("gpu"), held("other")),
            (
                "is of another cluster: its pools are gpu, other, and those of "
                "stacks/Pulumi.tenants.yaml notebooks, slices. Query the Prometheus of the stack's "
                "cluster."
            ),
        ),
    ],
)
def test_a_usage_file_that_is_none(
    run: Run, given: Callable[[str], str], text: str, said: str
) -> None:
    file = given(text)
    ran = run("cost", "tenants", "--usage", file)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"eks-gpushare: {file}")
    assert said in ran.err


def test_all_faults_of_a_usage_file_are_told_as_far_as_anybody_reads(
    run: Run, given: Callable[[str], str]
) -> None:
    file = given(answer(*(held(shares="-1", container=str(n)) for n in range(9))))
    said = run("cost", "tenants", "--usage", file).err

    assert said.count("nobody holds less than nothing") == 5
    assert "4 more are like that." in said


def test_as_many_faults_as_are_told_are_all(run: Run, given: Callable[[str], str]) -> None:
    wrong = given(answer(*(held(shares="-1", container=str(n)) for n in range(5))))
    said = run("cost", "tenants", "--usage", wrong).err
    assert said.count("nobody holds less than nothing") == 5
    assert " more are like that." not in said
    silent = given(answer(*(({"namespace": str(n)}, [1, "1"]) for n in range(5))))
    said = run("cost", "tenants", "--usage", silent).err
    assert said.count("names no pool.") == 5
    assert " more are like that." not in said
    assert "label_eks_gpushare_pool (or pool), those of pods namespace too" in said


def test_a_node_says_a_pool_only_where_the_cluster_is_known(
    run: Run, given: Callable[[str], str]
) -> None:
    own = ({"node": "gpu-0", "namespace": "a", "resource": "nvidia_com_gpu"}, [9, "4"])
    other = ({"node": "elsewhere", "namespace": "a", "resource": "nvidia_com_gpu"}, [9, "4"])
    file, dump = given(answer(own, other)), "examples/verify/cluster.json"

    assert "names no pool." in run("cost", "time-slicing", "--usage", file).err
    known = run("cost", "time-slicing", "--usage", file, "--from", dump, "--json").json
    assert known["notes"] == ["Not counted is what the stack does not declare: the node elsewhere."]


def test_a_usage_file_that_is_not_there(run: Run) -> None:
    ran = run("cost", "tenants", "--usage", "nowhere.json")

    assert (ran.code, ran.err) == (
        2,
        "eks-gpushare: nowhere.json cannot be read: no such file or directory.\n",
    )


def test_nodes_of_another_cluster(run: Run, given: Callable[[str], str]) -> None:
    file = given(answer(held("gpu", node="elsewhere"), node("elsewhere")))
    ran = run("cost", "time-slicing", "--usage", file, "--from", "examples/verify/cluster.json")

    assert ran.code == 2
    assert (
        "is of another cluster: none of its nodes (elsewhere) is among those of the cluster (gpu-0)"
        in ran.err
    )


def test_with_a_cluster_its_nodes_count(run: Run, given: Callable[[str], str]) -> None:
    file = given(
        answer(({"node": "gpu-0", "namespace": "a", "resource": "nvidia_com_gpu"}, [9, "4"]))
    )
    dump = "examples/verify/cluster.json"
    found = run("cost", "time-slicing", "--usage", file, "--from", dump, "--json").json

    used = [line for line in found["lines"] if line["use"] == "used"]
    assert [(line["namespace"], line["shares"]) for line in used] == [("a", 4)]
    assert used[0]["usdPerHour"] == round(4.6016 / 10, 4)


def test_nodes_that_the_answer_does_not_tell_are_those_that_the_stack_keeps(
    run: Run, given: Callable[[str], str]
) -> None:
    file = given(answer(held(pool="notebooks", shares="2"), warnings=["a part is missing"]))
    found = run("cost", "tenants", "--usage", file, "--json").json

    assert found["usdPerHour"] == 23.2808
    assert found["notes"] == [
        "Prometheus says beside: a part is missing",
        f"{file} has no nodes: those that the stack keeps are counted.",
    ]


def test_namespaces_that_others_make_are_a_tenants_too(
    run: Run, given: Callable[[str], str], tmp_path: Path
) -> None:
    def another(environment: dict[str, Any]) -> None:
        environment["tenants"]["research"]["existingNamespaces"] = ["lab"]

    asked = given(answer(held(namespace="lab", shares="2")))
    found = run("cost", stack(tmp_path, another), "--usage", asked, "--json").json
    (used,) = [line for line in found["lines"] if line["use"] == "used"]
    assert (used["tenant"], used["namespace"]) == ("research", "lab")


def test_short_labels_and_own_names_do_as_well(run: Run, given: Callable[[str], str]) -> None:
    labels = {"pool": "notebooks", "namespace": "research", "resource": "nvidia.com/gpu.shared"}
    found = run("cost", "tenants", "--usage", given(answer((labels, [9, "2"]))), "--json").json

    assert [line["shares"] for line in found["lines"] if line["use"] == "used"] == [2]


def test_what_others_have_in_the_answer_is_named(run: Run, given: Callable[[str], str]) -> None:
    file = given(answer(held(), node(), held("gpu", node="x")))

    assert run("cost", "tenants", "--usage", file, "--json").json["notes"] == [
        "Not counted is what the stack does not declare: gpu."
    ]


USAGE = json.loads((Path(__file__).parents[2] / "examples/cost/usage.json").read_text("utf-8"))


def changed_usage(change: Callable[[dict[str, Any]], None]) -> str:
    """The example's answer with each of its series changed."""
    found: dict[str, Any] = json.loads(json.dumps(USAGE))
    for each in found["data"]["result"]:
        change(each)
    return json.dumps(found)


def test_nodes_of_types_that_no_pool_names_are_told(run: Run, given: Callable[[str], str]) -> None:
    kind = "label_node_kubernetes_io_instance_type"

    def older(each: dict[str, Any]) -> None:
        if kind in each["metric"]:
            each["metric"][kind] = "g5.xlarge"

    ran = run("cost", "tenants", "--usage", given(changed_usage(older)))

    assert "reserved" not in ran.out
    assert "notebooks has nodes of g5.xlarge, and the stack file names g6.4xlarge for it" in ran.out
    assert "slices has nodes of g5.xlarge, and the stack file names p4d.24xlarge for it" in ran.out


def test_more_than_there_is_is_told(run: Run, given: Callable[[str], str]) -> None:
    """As of a store with two replicas, whose query counts each pod twice."""

    def twice(each: dict[str, Any]) -> None:
        if "namespace" in each["metric"]:
            each["value"][1] = str(2 * int(each["value"][1]))

    found = run("cost", "tenants", "--usage", given(changed_usage(twice)), "--json").json

    assert found["usdPerHour"] == 24.604
    assert [note for note in found["notes"] if "divide what there is" in note] == [
        f"Pods of {pool} hold {held} nvidia.com/{name}, and its nodes have {there}: they divide "
        "what there is. Two scrapes of one kube-state-metrics count each pod twice; so do pods on "
        "GPUs that have gone."
        for pool, held, name, there in (
            ("notebooks", 18, "gpu.shared", 16),
            ("slices", 32, "mig-1g.5gb", 16),
            ("slices", 14, "mig-2g.10gb", 8),
            ("slices", 10, "mig-3g.20gb", 8),
        )
    ]


def test_pods_of_a_node_that_has_gone_hold_nothing(run: Run, given: Callable[[str], str]) -> None:
    there, _ = node("n")
    on_it, _ = held(node="n")
    both = answer((there, [[0, "8"]]), (on_it, [[0, "2"], [60, "2"]]), kind="matrix")
    found = run("cost", "tenants", "--usage", given(both), "--json").json

    assert [line["shares"] for line in found["lines"] if line["use"] == "used"] == [1]
    assert (found["usdPerHour"], found["notes"]) == (0.6616, [])


def test_nodes_of_one_pool_alone_are_half_an_answer(run: Run, given: Callable[[str], str]) -> None:
    file = given(answer(held(), held("slices", resource="nvidia_com_mig_1g_5gb"), node()))
    ran = run("cost", "tenants", "--usage", file)

    assert ran.code == 2
    assert "pods hold shares of slices, of which it has no nodes." in ran.err


def test_nodes_that_do_not_say_their_type_are_of_the_dearest(
    run: Run, given: Callable[[str], str], tmp_path: Path
) -> None:
    def several(environment: dict[str, Any]) -> None:
        environment["pools"]["notebooks"]["instanceTypes"] = ["g6.2xlarge", "g6.4xlarge"]

    file, asked = stack(tmp_path, several), given(answer(node(), held(node="n")))
    found = run("cost", file, "--usage", asked, "--json").json
    assert found["usdPerHour"] == 1.3232
    assert found["notes"] == [
        "notebooks: its nodes do not say their type, so that each is g6.4xlarge."
    ]
    told = given(answer(node(instance_type="g6.2xlarge"), held(node="n")))
    assert run("cost", file, "--usage", told, "--json").json["usdPerHour"] == 0.9776


def test_types_of_a_pool_are_told_apart_and_its_shares_together(
    run: Run, given: Callable[[str], str], tmp_path: Path, golden: Any
) -> None:
    def several(environment: dict[str, Any]) -> None:
        environment["pools"]["notebooks"]["instanceTypes"] = ["g6.2xlarge", "g6.4xlarge"]
        environment["pools"]["slices"] |= {
            "capacityType": "reserved",
            "reservation": {"id": "cr-0123456789abcdef0"},
            "zones": ["us-east-1a"],
        }

    labels, (time_, _) = node("m", instance_type="g6.4xlarge")
    fewer = labels, [time_, "5"]  # of eight
    given(answer(node("n", instance_type="g6.2xlarge"), fewer, held(shares="3", node="n")))
    file = Path(stack(tmp_path, several)).rename(tmp_path / "Pulumi.types.yaml")
    ran = run("cost", file.name, "--usage", "usage.json", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    golden("cost/types.txt", ran.out)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("label_karpenter_sh_capacity_type", "spot"),
        ("label_eks_amazonaws_com_capacity_type", "SPOT"),
    ],
)
def test_a_spot_node_has_no_price_and_is_not_counted_as_nothing(
    run: Run, given: Callable[[str], str], label: str, value: str
) -> None:
    spot = node(**{label: value})
    file = given(answer(held(node="n"), spot))
    found = run("cost", "tenants", "--usage", file, "--json").json

    assert (found["usdPerHour"], found["knownUsdPerHour"]) == (None, 0)
    assert [text.partition(";")[0] for text in found["unknown"]] == [
        "notebooks: spot prices change by the hour, and AWS lists none"
    ]
    assert {line["usdPerHour"] for line in found["lines"]} == {None}
    text = run("cost", "tenants", "--usage", file)
    assert "unknown" in text.out
    assert "of it known" in text.out
    only = run("cost", "tenants", "--usage", file, "--csv")
    assert ",1,,\n" in only.out
    assert only.err.startswith("eks-gpushare: notebooks: spot prices change by the hour")


def test_a_stack_without_region_has_no_prices(run: Run, tmp_path: Path) -> None:
    pool = {
        "provisioner": "existing",
        "instanceTypes": ["g6.4xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 8, "rename": True},
    }
    theirs = {"existing": {"kubeconfig": "kube.yaml", "context": "theirs"}}
    environment = {"cluster": theirs, "pools": {"notebooks": pool}}
    declared = tmp_path / "Pulumi.theirs.yaml"
    declared.write_text(yaml.safe_dump({"config": {"eks-gpushare:environment": environment}}))
    file = str(declared)
    found = run("cost", file, "--json").json

    assert found["usdPerHour"] is None
    assert "notebooks: the stack names no aws:region." in found["unknown"]
    ran = run("cost", file, "--output", "opencost")
    assert (ran.code, ran.out) == (2, "")
    assert "names no aws:region, by which OpenCost finds a price" in ran.err


def test_opencost_gets_the_price_of_each_type_that_there_may_be(run: Run, tmp_path: Path) -> None:
    """Also of a pool that keeps no node: it asks for the price when one is there."""

    def nothing_kept(environment: dict[str, Any]) -> None:
        del environment["tenants"]
        spot = {"instanceTypes": ["g6.xlarge"], "sharing": {"mode": "exclusive"}}
        environment["pools"] = {
            "elastic": {
                "provisioner": "karpenter",
                "instanceTypes": ["g6.2xlarge", "g6.4xlarge"],
                "sharing": {"mode": "exclusive"},
            },
            "spare": {"provisioner": "karpenter", "capacityType": "spot", **spot},
        }

    ran = run("cost", stack(tmp_path, nothing_kept), "--output", "opencost")

    rows = [line.split(",") for line in ran.out.splitlines()[1:]]
    assert [(row[1], row[6]) for row in rows] == [
        ("g6.2xlarge", "0.977600"),
        ("g6.4xlarge", "1.323200"),
    ]
    assert "spare: spot prices change by the hour, and AWS lists none; write" in ran.err


def test_a_price_of_ones_own_counts(run: Run, tmp_path: Path) -> None:
    def cheaper(environment: dict[str, Any]) -> None:
        environment["catalog"] = {"instanceTypes": {"g6.4xlarge": {"priceUsdPerHour": 0.8}}}

    file = stack(tmp_path, cheaper)
    assert run("cost", file, "--json").json["pools"]["notebooks"]["usdPerHour"] == 0.8
    assert ",g6.4xlarge,0.800000," in run("cost", file, "--output", "opencost").out


def test_a_stack_with_errors(run: Run, tmp_path: Path) -> None:
    file = stack(tmp_path, lambda environment: environment["cluster"].pop("version"))
    checked = run("check", "--quiet", file)

    for verb in ("cost", "rules", "tenants", "shares"):
        ran = run(verb, file, *(["--cpu", "1"] if verb == "shares" else []))
        assert (ran.code, ran.out, ran.err) == (1, "", checked.out)
        assert "error GPU004 at line" in ran.err


def test_a_stack_with_errors_as_json(run: Run, tmp_path: Path) -> None:
    file = stack(tmp_path, lambda environment: environment["cluster"].pop("version"))
    (checked,) = run("check", "--json", file).json["files"]

    for verb in ("cost", "rules", "tenants"):
        ran = run(verb, "--json", file)
        assert (ran.code, ran.json) == (1, {"stack": file, "findings": checked["findings"]})


def test_a_stack_file_that_is_no_yaml(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.no.yaml"
    file.write_text("a: [", encoding="utf-8")

    for verb in ("cost", "rules", "tenants"):
        ran = run(verb, str(file))
        assert (ran.code, ran.out, ran.err) == (2, "", run("check", str(file)).out)


def test_a_stack_that_keeps_no_node(run: Run) -> None:
    out = run("cost", "spot-fallback").out

    assert out.startswith(
        "stacks/Pulumi.spot-fallback.yaml in us-west-2: no GPU node that it keeps"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--from", "a", "--kubeconfig", "b"),
            "--from reads files: --kubeconfig and --context are",
        ),
        (("--from", "-", "--usage", "-"), "--usage and --from cannot both be standard input"),
        (("--kubeconfig", "nowhere"), "There is no kubeconfig nowhere."),
        (("--from", "examples/cost/usage.promql"), "no Node is in it"),
        (
            ("--from", "examples/verify/cluster.json"),
            "It is another cluster, or the stack was never",
        ),
        (("--by", "team"), "invalid choice: 'team'"),
        (("--output", "sarif"), "'sarif' is none of text, json, csv, opencost"),
    ],
)
def test_what_cannot_be(run: Run, words: tuple[str, ...], said: str) -> None:
    ran = run("cost", "tenants", *words)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_pods_have_to_be_known(run: Run, tmp_path: Path) -> None:
    items = json.loads((ROOT / "examples/verify/cluster.json").read_text(encoding="utf-8"))
    items["items"] = [each for each in items["items"] if each["kind"] == "Node"]
    dump = tmp_path / "nodes.json"
    dump.write_text(json.dumps(items))
    ran = run("cost", "time-slicing", "--from", str(dump))

    assert ran.code == 2
    assert "the dump has no Pod, so it is not known which pods run" in ran.err


def test_two_hundred_pools(run: Run, tmp_path: Path, given: Callable[[str], str]) -> None:
    """Of a month of hours, in which something changes each hour."""

    def many(environment: dict[str, Any]) -> None:
        pool = environment["pools"]["notebooks"]
        environment["pools"] |= {f"more-{n}": {**pool} for n in range(198)}

    file = stack(tmp_path, many)
    start = time.process_time()
    found = run("cost", file, "--json").json
    assert (len(found["pools"]), found["usdPerHour"]) == (200, round(23.280842 + 198 * 1.3232, 4))
    assert time.process_time() - start < 5
    series = [
        (
            {"pool": f"more-{n}", "namespace": "a", "resource": "nvidia_com_gpu_shared"},
            [[3600 * hour, str((n + hour) % 9)] for hour in range(24)],
        )
        for n in range(198)
    ]
    found = run("cost", file, "--usage", given(answer(*series, kind="matrix")), "--json").json
    assert found["usdPerHour"] == round(23.280842 + 198 * 1.3232, 4)
    assert sum(round(line["usdPerMonth"] * 100) for line in found["lines"]) == round(
        found["usdPerMonth"] * 100
    )
