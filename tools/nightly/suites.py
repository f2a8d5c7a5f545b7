"""The suites that take too long, or need too much, for every change: what they run and need."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_SKIP: Final = "--none-skipped"
"""The option of pytest by which a test that skips itself fails (tests/conftest.py)."""


class Suite(NamedTuple):
    """What one job of the night runs."""

    name: str
    holds: str
    """What is certain after it, and not after `make test`."""
    paths: tuple[str, ...]
    """What pytest is given; of one file that is no test, what Python is given."""
    switches: tuple[str, ...] = ()
    """Variables that are set, as `NAME=VALUE`."""
    programs: tuple[str, ...] = ()
    """What has to be on PATH."""
    places: tuple[str, ...] = ()
    """Variables that the caller sets to a file or folder, which has to be there."""
    may_skip: str = ""
    """Reasons, as a regular expression, for which a test of it may skip itself all the same: it is
    not for this case, platform or user, whatever is installed."""


_ENGINE = ("pulumi", "pulumi-language-python")
_LAB = ("go",)

SUITES: Final = (
    Suite(
        "mutants",
        "every stack with every thing broken is caught, or has a reason; also on the lab",
        ("tests/mutants", "tests/policies/test_policy_ways.py"),
        ("EKS_GPUSHARE_TEST_MUTANTS=1",),
        _LAB,
    ),
    Suite(
        "edges",
        "no check of inventories says more where less is known, and `verify` answers, whatever is"
        " changed",
        ("tests/inventory/test_edges_hold.py", "tests/live/test_odd_objects.py"),
        ("EKS_GPUSHARE_TEST_CHANGES=1000",),
    ),
    Suite(
        "pushgateway",
        "a real Pushgateway takes what `verify --push` says, and keeps the last look alone",
        ("tests/live/test_pushgateway.py",),
        programs=("pushgateway",),
    ),
    Suite(
        "pages",
        "a map of shares fits the window of a real browser",
        ("tests/reports/test_share_page.py",),
        programs=("chromium",),
    ),
    Suite(
        "image",
        "the image of what looks from within is built, and looks as its pod does",
        ("tests/packaging/test_image.py",),
        programs=("docker",),
    ),
    Suite(
        "facts",
        "all fronts of a fact come to one verdict, whatever the values",
        ("tests/facts/test_verdicts.py",),
        ("EKS_GPUSHARE_TEST_FACTS=10000",),
    ),
    Suite(
        "edits",
        "5,000 random edits of random files change what they are about and nothing else",
        ("tests/lint/test_edits_hold.py",),
        ("EKS_GPUSHARE_TEST_EDITS=5000",),
    ),
    Suite(
        "placeholders",
        "5,000 signs of what is yet to be filled in, put into right files, bring no alarm",
        ("tests/lint/test_placeholders.py",),
        ("EKS_GPUSHARE_TEST_PLACEHOLDERS=5000",),
    ),
    Suite(
        "at-length",
        "labs that are killed, hung or large leave nothing; stacks together are as in processes of"
        " their own; costs of 500 stacks and of 1,000 clusters add up; a real pre-commit runs the"
        " hooks; pip and pulumi install as the pages say; AWS takes what every stack and variant"
        " asks of it, and the policy of each allows that alone; no page hangs on the order of sets;"
        " a mistake in any example is one error; each alert is held, whatever is changed about it;"
        " boards give the loads that were put in; streams, tables and packages of every kind",
        (
            "-m",
            "at_length",
            "tests/aws",
            "tests/components/test_component_schema.py",
            "tests/components/test_share_verifier_component.py",
            "tests/components/test_stack_registrations.py",
            "tests/components/test_unit_test_mocks.py",
            "tests/unit/test_cost_split.py",
            "tests/unit/test_costs_by_use.py",
            "tests/unit/test_foreign_programs.py",
            "tests/unit/test_fuzzed_stack_files.py",
            "tests/unit/test_generated_docs.py",
            "tests/unit/test_mig_geometry.py",
            "tests/unit/test_one_mistake.py",
            "tests/unit/test_program_lean_packages.py",
            "tests/unit/test_program_quick_sdk.py",
            "tests/unit/test_random_contracts.py",
            "tests/unit/test_rules_alone.py",
            "tests/lab/test_lab_builder.py",
            "tests/lab/test_lab_cleaning.py",
            "tests/lab/test_lab_control_plane.py",
            "tests/lab/test_lab_engine.py",
            "tests/lab/test_lab_lifecycle.py",
            "tests/lab/test_lab_scale.py",
            "tests/lab/test_tenant_admission.py",
            "tests/lab/test_lab_rules.py",
            "tests/lab/test_same_selectors.py",
            "tests/unit/test_alerts.py",
            "tests/unit/test_catalog_newer.py",
            "tests/lab/walkthroughs",
            "tests/live/test_corpus_objects.py",
            "tests/live/test_cost_of_clusters.py",
            "tests/live/test_declared.py",
            "tests/live/test_faults.py",
            "tests/lint/test_fresh_alarms.py",
            "tests/commands/test_command_process.py",
            "tests/commands/test_misbehaving_programs.py",
            "tests/commands/test_policy_apart.py",
            "tests/language_host/test_hosted_programs.py",
            "tests/commands/test_preview_edits.py",
            "tests/commands/test_preview_command.py",
            "tests/mutants/test_rule_mutants.py",
            "tests/policies/test_attempts.py",
            "tests/policies/test_ci_example.py",
            "tests/lint/test_lint_files.py",
            "tests/lint/test_long_lines.py",
            "tests/lint/test_said_of_unknown.py",
            "tests/lint/test_side_by_side.py",
            "tests/policies/test_policy_bypasses.py",
            "tests/policies/test_policy_ways.py",
            "tests/policies/test_role_rights_spelt.py",
            "tests/unit/test_mig_boot_node.py",
            "tests/commands/test_preview_pods.py",
            "tests/commands/test_preview_tables.py",
            "tests/commands/test_streams.py",
            "tests/commands/test_several_stacks.py",
            "tests/components/test_costs_add_up.py",
            "tests/edits/test_by_hand.py",
            "tests/edits/test_every_key.py",
            "tests/packaging/test_hooks.py",
            "tests/packaging/test_install_page.py",
            "tests/packaging/test_wheel.py",
        ),
        # Of every edit of every stack there are no answers of Karpenter's that were kept.
        ("EKS_GPUSHARE_TEST_AT_LENGTH=1", "EKS_GPUSHARE_TEST_KARPENTER=1"),
        (*_LAB, *_ENGINE),
    ),
    Suite(
        "properties",
        "what holds of everything holds of 1,000 examples of it, where a change tries 40 at most",
        (
            "tests/lint/test_odd_values.py",
            "tests/lint/test_scopes.py",
            "tests/unit/test_bottlerocket_settings.py",
            "tests/unit/test_cost_split.py",
            "tests/unit/test_karpenter_budgets.py",
            "tests/unit/test_mig_geometry.py",
            "tests/unit/test_sharing_mig_plan.py",
            "tests/unit/test_sharing_plan.py",
            "tests/unit/test_sizing.py",
            "tests/unit/test_tenants_plan.py",
            "tests/unit/test_yaml_reader.py",
        ),
        ("EKS_GPUSHARE_TEST_EXAMPLES=1000",),
    ),
    Suite(
        "contracts",
        "1,000 random contracts of tenants over random layouts hold on the real Kueue",
        ("tests/lab/walkthroughs/test_walkthrough_random_queues.py",),
        ("EKS_GPUSHARE_TEST_AT_LENGTH=1", "EKS_GPUSHARE_TEST_CONTRACTS=1000"),
        _LAB,
    ),
    Suite(
        "karpenter",
        "Karpenter's own controller launches, drifts, consolidates and buys as the plans say",
        ("tests/lab/karpenter", "tests/lab/walkthroughs/test_walkthrough_karpenter.py"),
        ("EKS_GPUSHARE_TEST_KARPENTER=1",),
        _LAB,
    ),
    Suite(
        "cluster-autoscaler",
        "Cluster Autoscaler itself adds as many nodes as the shares need, and takes them away",
        (
            "tests/lab/cluster_autoscaler",
            "tests/lab/walkthroughs/test_walkthrough_cluster_autoscaler.py",
        ),
        ("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1", "EKS_GPUSHARE_TEST_SCALING=1"),
        _LAB,
    ),
    Suite(
        "keda",
        "KEDA and a Prometheus scale workloads by the use of their shares",
        (
            "tests/lab/walkthroughs/test_walkthrough_scaling.py",
            "tests/lab/walkthroughs/test_walkthrough_omnistrate.py",
            "tests/unit/test_scaled_object_values.py",
            "tests/live/test_metrics.py",
            "tests/live/test_usage_query.py",
            "tests/unit/test_windows.py",
        ),
        ("EKS_GPUSHARE_TEST_SCALING=1",),
        _LAB,
    ),
    Suite(
        "nvidia",
        "NVIDIA's own device plugin and feature discovery do what is written down of them, and what"
        " simulated nodes do; its container toolkit is closed by what nodes run",
        (
            "tests/lab/test_nvidia_own_programs.py",
            "tests/lab/test_nvidia_programs.py",
            "tests/unit/test_closed_runtime.py",
        ),
        (),
        ("nvidia-ctk", "systemctl"),
        ("EKS_GPUSHARE_TEST_NVIDIA",),
    ),
    Suite(
        "charts",
        "what the project makes of charts is what `helm template` makes of them",
        (
            "tests/lab/test_lab_charts.py",
            "tests/lab/test_lab_cluster_autoscaler.py",
            "tests/inventory/test_chart_daemonsets.py",
            "tests/lint/test_rendered_charts.py",
            "tests/live/test_charts.py",
            "tests/live/test_corpus_clusters.py",
            "tests/policies/test_policy_scheduling.py",
            "tests/unit/test_chart_keys.py",
            "tests/unit/test_cluster_autoscaler_plan.py",
            "tests/unit/test_daemonsets_tool.py",
            "tests/unit/test_given_values.py",
            "tests/unit/test_gpu_operator_values.py",
        ),
        (),
        ("helm", "go"),
        ("EKS_GPUSHARE_TEST_CHARTS",),
        "no cluster-autoscaler on PATH|Cluster Autoscaler has not been built",
    ),
    Suite(
        "programs",
        "what shells, kubectl, shellcheck, systemd, Terraform, modules of Go and the chart of"
        " Karpenter do is what this project says",
        (
            "tests/commands/test_completion_command.py",
            "tests/lint/test_hcl_functions.py",
            "tests/lint/test_hcl_modules.py",
            "tests/lint/test_kustomize.py",
            "tests/live/test_reading.py",
            "tests/lab/test_cloud_settings.py",
            "tests/lab/test_karpenter_crds.py",
            "tests/lab/test_lab_builder.py",
            "tests/lab/test_lab_cleaning.py",
            "tests/lab/test_lab_control_plane.py",
            "tests/lab/test_lab_versions.py",
            "tests/unit/test_boot_order.py",
            "tests/unit/test_catalog_newer.py",
            "tests/unit/test_catalog_generated.py",
            "tests/unit/test_kubelet_fields.py",
            "tests/unit/test_mig_boot_part.py",
        ),
        (),
        (
            *("bash", "fish", "zsh", "go", "helm", "kubectl", "shellcheck"),
            *("systemctl", "systemd-analyze", "terraform"),
        ),
    ),
    Suite(
        "engine",
        "the engine previews, makes, changes and takes away every stack as this project says",
        ("-m", "engine", "tests/engine"),
        ("EKS_GPUSHARE_TEST_ENGINE_ALL=1", "EKS_GPUSHARE_TEST_SCALING=1"),
        (*_ENGINE, "helm", "kubectl", "go"),
        ("EKS_GPUSHARE_TEST_CHART", "EKS_GPUSHARE_TEST_CHARTS"),
        "EKS_GPUSHARE_TEST_(EVERY_KEY|LANGUAGES|PULUMI_EKS)|in a cluster that is not the lab's"
        "|is not for everybody",
    ),
    Suite(
        "every-key",
        "what `preview --before` says of every key's edit is what the engine does by AWS's schemas"
        " and Karpenter by its own functions, in every stack",
        ("tests/edits", "tests/engine/test_engine_every_key.py"),
        (
            "EKS_GPUSHARE_TEST_EVERY_KEY=1",
            "EKS_GPUSHARE_TEST_AT_LENGTH=1",
            "EKS_GPUSHARE_TEST_KARPENTER=1",
        ),
        (*_ENGINE, "go"),
    ),
    Suite(
        "pulumi-eks",
        "what stands in for pulumi-eks registers what pulumi-eks registers",
        ("tests/engine/test_engine_pulumi_eks.py",),
        (),
        _ENGINE,
        ("EKS_GPUSHARE_TEST_PULUMI_EKS",),
    ),
    Suite(
        "languages",
        "programs in TypeScript, Go, C#, Java and YAML make what Python makes",
        (
            "tests/engine/test_engine_languages.py",
            "tests/engine/test_engine_languages_preview.py",
            "tests/engine/test_engine_package_add.py",
        ),
        ("EKS_GPUSHARE_TEST_LANGUAGES=1",),
        (*_ENGINE, "node", "npm", "go", "java", "mvn", "dotnet"),
        (),
        "is not for everybody",
    ),
    Suite(
        "sarif",
        "reports are SARIF by the schema of OASIS",
        ("tests/reports",),
        (),
        (),
        ("EKS_GPUSHARE_TEST_SARIF_SCHEMA",),
    ),
    Suite(
        "ratios",
        "no promised ratio of CPU time or memory is a tenth above what is kept",
        ("benchmarks/run.py", "--only", "ratios", "preview", "--peer", "build/peer", "--kept"),
        (),
        ("node", "npm"),
    ),
)
