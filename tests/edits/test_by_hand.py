"""Edits that users make, several keys at once among them: what `--before` says of each.

What was expected of them was written down before, by somebody who had not read the code. Those by
which something was found that was silent or false are held for every change, all of them at night
(EKS_GPUSHARE_TEST_AT_LENGTH=1), and by the engine (tests/engine/test_engine_every_key.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conftest import sampled
from tests.edits.holding import compare, recorded, said_of
from tests.edits.trial import ByHand, by_hand, report
from tests.edits.truth import facts, steps_of, version_drifts

from eks_gpushare.program.edits.refused import check_edit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.edits.karpenter import Karpenter

    from eks_gpushare.program.edits import Consequence

EDITS = by_hand()
TOLD = {
    "several": (
        "gpushare-cluster-logs: records older than 30 days go, which were kept for 90 days "
        "(retentionInDays)."
    ),
    "pool-gone": (
        "gpushare-training: cr-0123456789abcdef0 is paid until it is cancelled or ends, with nodes "
        "in it or without, and the cost of the stack leaves it out from then on (reservation)."
    ),
    "flowlogs-off": (
        "gpushare-network-flow-logs: the log group goes, and with it every record that it has kept."
    ),
    "admin-del": (
        "gpushare-cluster-eks-111122223333-role/BreakGlass: "
        "arn:aws:iam::111122223333:role/BreakGlass no longer reaches the cluster: if it is who "
        "updates the stack, this is the last update by it."
    ),
    "support": (
        "gpushare-cluster-eks: EKS leaves the control plane at its version when that one's "
        "standard support ends, and takes the price of extended support from then on "
        "(upgradePolicy)."
    ),
    "mps-mig": (
        "gpushare-gpu: pods that are started later ask for nvidia.com/gpu: 1 before and "
        "nvidia.com/mig-1g.5gb: 1 after (request)."
    ),
    "mps-replicas": (
        "gpushare-device-plugin-release: the device plugin restarts on the nodes of every pool; "
        "nodes and running pods stay; on those of gpu the MPS daemon restarts too, by which pods "
        "there compute, and NVIDIA does not say what becomes of them: drain these nodes first "
        "(values)."
    ),
    "mps-exclusive": (
        "gpushare-device-plugin-release: the device plugin restarts on the nodes of every pool; "
        "nodes and running pods stay; on those of gpu the MPS daemon ends too, by which pods there "
        "compute, and NVIDIA does not say what becomes of them: drain these nodes first (values)."
    ),
    "label-del": (
        "gpushare-gpu: its nodes lose eks-node=gpu at once; running pods stay, and new ones that "
        "select that find no node here (labels)."
    ),
    "ts-mps": (
        "gpushare-device-plugin-release: the device plugin restarts on the nodes of every pool; "
        "nodes and running pods stay; on those of gpu the MPS daemon takes the GPUs for its "
        "clients alone: pods that use them without it end first, or those that come wait for them "
        "(values)."
    ),
    "label-k": (
        "gpushare-gpu: its nodes drift: Karpenter starts new ones and drains the old ones, at most "
        "1 at a time; no new node has the label accelerated=true, so a node with a pod that "
        "selects it stays, until you change what the pod selects or take the node away: kubectl "
        "delete nodeclaims -l karpenter.sh/nodepool=gpu (labels)."
    ),
    "keda-gone": (
        "gpushare-workload-gpu-mig-deployment: it has 1 pod from then on, however many it has now "
        "(replicas)."
    ),
    "quota-down": (
        "gpushare-kueue-queue-research: research may have 4 of nvidia.com/gpu.shared of notebooks "
        "in place of 8, 4 in place of 8 of them for sure: pods that run stay, until others of the "
        "cohort take back what is theirs, and new ones wait (spec.resourceGroups)."
    ),
    "tenant-rename": (
        "gpushare-kueue-local-queue-vision-default: what waits in vision waits in the queue of "
        "sight from then on, in place of that of vision; what runs stays (spec.clusterQueue)."
    ),
    "tenant-gone": (
        "gpushare-kueue-queue-vision: Kueue lets the queue vision go once all that it has admitted "
        "has ended, and the update waits for that."
    ),
    "prom-days": (
        "gpushare-metrics-prometheus: series older than 7 days go, which were kept for 90 days "
        "(retention)."
    ),
    "prom-gib": (
        "gpushare-metrics-prometheus: Prometheus' operator changes no volume that is there: it "
        "stays as it is until its claim is changed by hand (storageSpec)."
    ),
    "amp-in-place": (
        "gpushare-metrics-prometheus: the installed Prometheus goes, with Alertmanager and Grafana "
        "if the chart had them; its volume stays, and is paid, until its claim is deleted by hand "
        "(prometheus.enabled)."
    ),
    "own-cluster": (
        "gpushare: all that the stack has in the cluster arn:aws:eks:us-east-1:111122223333:cluster"
        "/another goes, with the pods of it that run there, and is made anew in arn:aws:eks:"
        "us-east-1:111122223333:cluster/gpusharing-karpenter-mig (provider)."
    ),
    "amp-days": (
        "gpushare-metrics-workspace-configuration: series older than 7 days go, which were kept "
        "for 90 days (retentionPeriodInDays)."
    ),
}
"""Of edits by which something was silent or false: what is said now; by stack, for the time."""


def said(edit: ByHand) -> list[Consequence]:
    return said_of(edit.trial.stack, edit.trial.before, edit.trial.after) or []


@pytest.mark.parametrize("name", sampled([*TOLD], 4))
def test_what_was_silent_or_false_is_told(name: str) -> None:
    assert TOLD[name] in [each.message for each in said(EDITS[name])]


@pytest.mark.parametrize("name", [name for name, edit in EDITS.items() if edit.refused])
def test_what_is_refused_is_refused_by_name(name: str) -> None:
    edit, trial = EDITS[name], EDITS[name].trial
    reports = [report(each, trial.stack) for each in (trial.before, trial.after)]
    found = [each for each in reports[1].findings if each.severity == "error"]
    if not found:
        before, after = (each.environment for each in reports)
        assert before is not None
        assert after is not None
        found = check_edit(before, after)

    assert {each.code for each in found} == {*edit.refused}


def test_a_resource_that_is_no_longer_counted_limits_nobody() -> None:
    told = [each.message for each in said(EDITS["borrowing-gone"])]

    assert any("research may have 2 of nvidia.com/mig-3g.20gb of slices" in each for each in told)
    assert not any("gpu-memory" in each for each in told)


def test_a_namespace_of_another_tenant_gets_another_queue() -> None:
    """Kueue's API refuses another ClusterQueue of a LocalQueue that is there."""
    trial = EDITS["tenant-rename"].trial
    was, now = (recorded(trial.stack, each) for each in (trial.before, trial.after))

    assert [
        (step.name, step.op) for step in steps_of(was, now) if step.type.endswith(":LocalQueue")
    ] == [("gpushare-kueue-local-queue-vision-default", "replace")]


@pytest.mark.at_length
@pytest.mark.parametrize("name", [name for name, edit in EDITS.items() if not edit.refused])
def test_nothing_that_goes_is_silent(name: str, karpenter: Karpenter) -> None:
    trial = EDITS[name].trial
    was, now = (recorded(trial.stack, each) for each in (trial.before, trial.after))
    steps = steps_of(was, now)
    held = compare(said(EDITS[name]), facts(steps, karpenter) + version_drifts(steps, now))

    assert (held.silent, held.false) == ((), ())


@pytest.mark.at_length
def test_the_table_of_edits_by_hand(golden: Callable[[str, str], None]) -> None:
    lines = []
    for name, edit in EDITS.items():
        lines.append(f"{name} ({edit.trial.stack}), expected: {edit.predicted}")
        told = [each.message for each in said(edit)] if not edit.refused else edit.refused
        lines += [f"  {each}" for each in told or ("nothing",)]

    golden("edits_by_hand.txt", "\n".join(lines) + "\n")
