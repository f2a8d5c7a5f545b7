"""Roles of AWS by the annotation of a ServiceAccount, against whom their trust policies let in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import ROLE_TRUST, Pointer
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.checks.workloads.trusted_accounts import accounts
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile

ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: reader
  namespace: news
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123412341234:role/teams/weights
"""
MODULE = """\
module "role" {
  source = "terraform-aws-modules/iam/aws//modules/MODULE"
  GIVEN
}
"""
PROVIDERS = """\
oidc_providers = {
    one = { provider_arn = var.arn, namespace_service_accounts = ["SPACE:reader"] }
  }
"""
OLDER = f'role_name = "weights"\n  {PROVIDERS}'
NEWER = f'name = "weights"\n  use_name_prefix = false\n  {PROVIDERS}'
DOCUMENT = """\
data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]
    principals {
      type        = "Federated"
      identifiers = [var.provider]
    }
    condition {
      test     = "StringLike"
      variable = "${var.issuer}:sub"
      values   = ["system:serviceaccount:SPACE:*"]
    }
  }
}
resource "aws_iam_role" "role" {
  name               = "weights"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}
"""
WRITTEN = """\
resource "aws_iam_role" "role" {
  name = "weights"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = { Federated = var.provider }
      Condition = { StringEquals = {
        "${replace(var.issuer, "https://", "")}:sub" = "system:serviceaccount:SPACE:reader"
        "${replace(var.issuer, "https://", "")}:aud" = "sts.amazonaws.com"
      } }
    }]
  })
}
"""
EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: own, region: eu-west-1, version: "1.34"}
iam:
  withOIDC: true
  serviceAccounts:
    - metadata: {name: reader, namespace: SPACE}
      roleName: weights
      roleOnly: true
      attachPolicyARNs: ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]
"""
DYNAMIC = """dynamic "condition" {
      for_each = var.more
      content {}"""
ROLES = {
    "older": ("role.tf", MODULE.replace("GIVEN", OLDER), "iam-role-for-service-accounts-eks"),
    "newer": ("role.tf", MODULE.replace("GIVEN", NEWER), "iam-role-for-service-accounts"),
    "clusters": (
        "role.tf",
        MODULE.replace(
            "GIVEN",
            'role_name = "weights"\n  cluster_service_accounts = { one = ["SPACE:reader"] }',
        ),
        "iam-eks-role",
    ),
    "subjects": (
        "role.tf",
        MODULE.replace(
            "GIVEN",
            'create_role = true\n  role_name = "weights"\n  oidc_fully_qualified_subjects = '
            '["system:serviceaccount:SPACE:reader"]\n  oidc_subjects_with_wildcards = []',
        ),
        "iam-assumable-role-with-oidc",
    ),
    "document": ("role.tf", DOCUMENT, ""),
    "written": ("role.tf", WRITTEN, ""),
    "eksctl": ("cluster.yaml", EKSCTL, ""),
}


def found(files: dict[str, str]) -> list[str]:
    """What is said of accounts in some files."""
    given = [GivenFile(name, text, "") for name, text in files.items()]
    findings = [finding for report in lint_files(given) for finding in report.findings]
    assert all(each.code != "GPU012" for each in findings)  # of a check that failed
    return [each.message for each in findings if each.code == "GPU1332"]


def role(name: str, space: str) -> dict[str, str]:
    """A role that trusts the account of a namespace."""
    file, text, module = ROLES[name]
    return {file: text.replace("MODULE", module).replace("SPACE", space)}


@pytest.mark.parametrize("name", ROLES)
def test_an_account_of_another_namespace_is_not_let_in(name: str) -> None:
    (message,) = found({"account.yaml": ACCOUNT, **role(name, "other")})

    assert message.startswith(
        "The ServiceAccount reader gives system:serviceaccount:news:reader the role weights, and "
    )
    assert message.endswith(
        f"trusts system:serviceaccount:other:{'*' if name == 'document' else 'reader'}."
    )


@pytest.mark.parametrize("name", ROLES)
def test_an_account_that_is_named_is_let_in(name: str) -> None:
    assert found({"account.yaml": ACCOUNT, **role(name, "news")}) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"weights"', '"weights-${var.environment}"'),  # the role's name is not known
        ("arn:aws:iam::123412341234:role/teams/weights", "${ROLE_ARN}"),
        ("  namespace: news\n", ""),
        ('"system:serviceaccount:other:reader"', "var.subject"),
        ('}:sub" =', '}:amr" ='),  # whoever has a token
        ('${replace(var.issuer, "https://", "")}:sub" =', '${var.key}" ='),
        ("StringEquals =", "StringNotEquals ="),
        ('"sts:AssumeRoleWithWebIdentity"', '"sts:AssumeRole"'),  # for nodes, or Pod Identity
        ("jsonencode({", "templatefile(var.file, {"),
    ],
)
def test_what_is_not_known_is_not_judged(before: str, after: str) -> None:
    files = {"account.yaml": ACCOUNT, **role("written", "other")}
    assert any(before in text for text in files.values())

    assert found({name: text.replace(before, after) for name, text in files.items()}) == []


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("older", 'role_name = "weights"', 'role_name = "weights"\n  role_name_prefix = "a"'),
        ("older", 'role_name = "weights"', 'role_name = "weights"\n  create_role = false'),
        ("older", '["other:reader"]', "var.accounts"),
        ("older", "oidc_providers = {", "oidc_providers = var.more == 1 ? null : {"),
        ("newer", "  use_name_prefix = false\n", ""),
        ("subjects", "create_role = true", "create_role = var.create"),
        ("subjects", "create_role = true", "create_role = true\n  role_name_prefix = null"),
        ("subjects", '["system:serviceaccount:other:reader"]', "[]"),
        ("document", '"StringLike"', '"ForAnyValue:StringLike"'),
        ("document", "  statement {", "  source_policy_documents = [var.more]\n  statement {"),
        ("document", '"${var.issuer}:sub"', "var.key"),
        ("document", "values   = [", "values   = [var.more, "),
        ("document", "values   = [", "values   = var.more == 1 ? [] : ["),
        (
            "document",
            "data.aws_iam_policy_document.trust.json",
            "var.own ? data.aws_iam_policy_document.trust.json : module.trust.json",
        ),
        ("document", "data.aws_iam_policy_document.trust.json", "module.trust.json"),
        ("eksctl", "name: reader", "name: $NAME"),
        ("eksctl", "roleName: weights", "wellKnownPolicies: {externalDNS: true}"),
        ("clusters", 'role_name = "weights"', 'role_name = "weights"\n  role_name_prefix = "a"'),
        ("clusters", '["other:reader"]', "var.more"),
        ("clusters", '["other:reader"]', "[var.more]"),
        ("clusters", '"other:reader"', '"other:${var.name}"'),
        ("clusters", "{ one =", "var.more == 1 ? {} : { one ="),
        ("clusters", '{ one = ["other:reader"] }', 'merge({ one = ["other:reader"] }, var.more)'),
        ("older", "  }\n\n", "  }\n  assume_role_condition_test = var.test\n"),
        ("older", "oidc_providers = {", "oidc_providers = !var.more ? {} : {"),
        ("document", "[var.provider]", f"[var.provider]\n    }}\n    {DYNAMIC}"),
    ],
)
def test_what_a_module_or_a_document_leaves_open_is_not_judged(
    name: str, before: str, after: str
) -> None:
    files = role(name, "other")
    assert any(before in text for text in files.values())
    changed = {name: text.replace(before, after) for name, text in files.items()}
    is_same = after.endswith("role_name_prefix = null")

    assert len(found({"account.yaml": ACCOUNT, **changed})) == is_same


@pytest.mark.parametrize("actions", ["actions = [var.action]", 'not_actions = ["sts:AssumeRole"]'])
def test_an_action_that_may_be_another_lets_nobody_else_in(actions: str) -> None:
    files = role("document", "other")
    actual = 'actions = ["sts:AssumeRoleWithWebIdentity"]'
    changed = {name: text.replace(actual, actions) for name, text in files.items()}
    assert files != changed

    assert len(found({"account.yaml": ACCOUNT, **changed})) == 1


def test_blocks_of_one_condition_are_one_list() -> None:
    block = DOCUMENT[DOCUMENT.index("    condition {") : DOCUMENT.index("  }\n}\nresource")]
    for space, count in (("news", 0), ("third", 1)):
        more = block.replace("SPACE", space)
        text = DOCUMENT.replace(block, block + more).replace("SPACE", "other")

        assert len(found({"account.yaml": ACCOUNT, "role.tf": text})) == count
    unseen = block.replace('"${var.issuer}:sub"', "var.key")
    text = DOCUMENT.replace(block, block + unseen).replace("SPACE", "other")
    assert found({"account.yaml": ACCOUNT, "role.tf": text}) == []


def test_what_else_has_the_name_of_a_role_is_none() -> None:
    files = role("written", "other")
    files["role.tf"] += 'resource "aws_eks_cluster" "own" {\n  name = "weights"\n}\n'

    assert len(found({"account.yaml": ACCOUNT, **files})) == 1


def test_a_chart_that_helm_renders_by_itself_is_in_no_namespace() -> None:
    statements = [[{"test": "StringEquals", "values": ["system:serviceaccount:other:reader"]}]]
    trust = Pointer(
        source=Source("the role"), kind=ROLE_TRUST, name="weights", spec={"statements": statements}
    )
    arn = {"eks.amazonaws.com/role-arn": "arn:aws:iam::123412341234:role/weights"}
    for kind, build, space, count in (
        ("ServiceAccount", "charts/own with its own values", "default", 0),
        ("ServiceAccount", "charts/own with those of Application own", "own", 1),
        ("ServiceAccount", "overlays/own", "default", 1),
        ("ServiceAccount", "", "default", 1),
        ("Service", "", "default", 0),
    ):
        document = Document("a.yaml", {}, lambda _: Position(1, 1), build=build)
        account = Pointer(
            source=Source("it", document),
            kind=kind,
            name="reader",
            namespace=space,
            spec={"metadata": {"annotations": arn}},
        )

        assert len(list(accounts.look(Inventory((trust, account))))) == count


def test_equality_has_no_wildcards() -> None:
    files = role("document", "news")
    changed = {name: text.replace('"StringLike"', '"StringEquals"') for name, text in files.items()}

    assert len(found({"account.yaml": ACCOUNT, **changed})) == 1


@pytest.mark.parametrize(("pattern", "count"), [("n?ws", 0), ("n?s", 1), ("[n]ews", 1), ("*", 0)])
def test_patterns_have_the_wildcards_of_iam_alone(pattern: str, count: int) -> None:
    assert len(found({"account.yaml": ACCOUNT, **role("document", pattern)})) == count


def test_one_of_several_roles_of_a_name_is_enough() -> None:
    other = role("written", "other")["role.tf"]
    own = other.replace('"role"', '"second"').replace("SPACE", "x").replace("other", "news")

    assert found({"account.yaml": ACCOUNT, "role.tf": other, "second.tf": own}) == []
    assert len(found({"account.yaml": ACCOUNT, "role.tf": other})) == 1


def test_a_plan_tells_it_too() -> None:
    policy = {
        "Statement": {
            "Effect": "Allow",
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {"StringEquals": {"a:sub": ["system:serviceaccount:other:reader"]}},
        }
    }
    values: dict[str, Any] = {"name": "weights", "assume_role_policy": json.dumps(policy)}
    resource = {
        "address": "aws_iam_role.role",
        "mode": "managed",
        "type": "aws_iam_role",
        "values": values,
    }
    plan = {"format_version": "1.2", "planned_values": {"root_module": {"resources": [resource]}}}

    assert len(found({"account.yaml": ACCOUNT, "plan.json": json.dumps(plan)})) == 1


ROOT = {"terraform/role.tf": role("older", "SPACE")["role.tf"]}
BASE = {
    "deploy/base/account.yaml": ACCOUNT.replace("namespace: news", "namespace: other"),
    "deploy/base/kustomization.yaml": "resources: [account.yaml]\n",
}
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: other}
spec:
  serviceAccountName: reader
  containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def overlay(name: str, space: str) -> dict[str, str]:
    """An overlay that puts everything into a namespace."""
    text = f"namespace: {space}\nresources: [../../base]\n"
    return {f"deploy/overlays/{name}/kustomization.yaml": text}


def tree(trusted: str, *overlays: dict[str, str]) -> dict[str, str]:
    """A repository with a root of Terraform and overlays of one base."""
    base = {**BASE, "deploy/base/pod.yaml": POD}
    base["deploy/base/kustomization.yaml"] = "resources: [account.yaml, pod.yaml]\n"
    files = {name: text.replace("SPACE", trusted) for name, text in ROOT.items()} | base
    for each in overlays:
        files |= each
    return files


def test_an_overlay_moves_the_account() -> None:
    assert len(found(tree("other", overlay("prod", "news")))) == 1
    assert found(tree("news", overlay("prod", "news"))) == []


def test_of_several_environments_nothing_is_said() -> None:
    files = tree("other", overlay("prod", "news"), overlay("dev", "dev"))

    assert found(files) == []


@pytest.mark.parametrize("file", ["terraform/prod.tfvars", "terraform/envs/prod.tfvars"])
def test_a_root_with_variables_of_environments_is_none_of_one_cluster(file: str) -> None:
    files = tree("${var.space}", overlay("prod", "news"))
    files["terraform/variables.tf"] = 'variable "space" {\n  default = "other"\n}\n'

    assert len(found(files)) == 1
    assert found({**files, file: 'space = "news"\n'}) == []


AUTOSCALER = """\
autoDiscovery: {clusterName: own}
rbac:
  serviceAccount:
    create: true
    name: reader
    annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::123412341234:role/weights"}
"""
INSTALL = "helm upgrade --install ca autoscaler/cluster-autoscaler -n news -f values.yaml\n"


def test_values_of_charts_have_the_account() -> None:
    files = {"values.yaml": AUTOSCALER, "install.sh": INSTALL}
    (message,) = found({**files, **role("older", "other")})

    assert message.startswith("The release of cluster-autoscaler gives ")
    assert found({**files, **role("older", "news")}) == []
    other = AUTOSCALER.replace("create: true", "create: false")
    assert found({**files, "values.yaml": other, **role("older", "other")}) == []
    elsewhere = INSTALL.replace("-n news", '-n "$SPACE"')
    assert found({**files, "install.sh": elsewhere, **role("older", "other")}) == []


TEMPLATE = """\
{{- if .Values.account.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Values.account.name | quote }}
  annotations:
    eks.amazonaws.com/role-arn: "{{ .Values.account.role }}"
{{- end }}
"""
VALUES = """\
account: {create: true, name: reader, role: "arn:aws:iam::123412341234:role/weights"}
"""
OWN = {
    "charts/own/Chart.yaml": "apiVersion: v2\nname: own\nversion: 0.1.0\n",
    "charts/own/values.yaml": VALUES,
    "charts/own/templates/account.yaml": TEMPLATE,
    "charts/own/templates/pod.yaml": POD.replace(", namespace: other", ""),
    "Makefile": "SPACE := news\nall:\n\thelm upgrade -i $(M) charts/own -n $(SPACE) -f $(M).yaml\n",
}


def of_chart(trusted: str, **other: str) -> list[str]:
    """What is said of a chart's account, and a role that trusts that of a namespace."""
    names = {key.replace("__", "/").replace("_yaml", ".yaml"): of for key, of in other.items()}
    text = role("older", trusted)["role.tf"]
    return found({**OWN, "terraform/role.tf": text, **names})


def test_a_command_gives_the_account_of_a_template_its_namespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # where helm is, it renders the chart

    assert len(of_chart("other")) == 1
    assert of_chart("news") == []
    files = {**OWN, "terraform/role.tf": role("older", "other")["role.tf"]}
    given = [GivenFile(name, text) for name, text in files.items()]
    placed = [each for report in lint_files(given) for each in report.found]
    (position,) = [each.position for each in placed if each.finding.code == "GPU1332"]
    assert position == Position(7, 1)
    assert of_chart("other", a_yaml="account: {role: other}\n") == []
    assert len(of_chart("other", a_yaml="name: other\n")) == 1
    for before, after in (
        ("  annotations:", "  namespace: own\n  annotations:"),
        (".Values.account.name | quote", 'include "own.account" .'),
        (".Values.account.role", "printf .Values.account.role"),
        ("kind: ServiceAccount", "kind: Service"),
    ):
        changed = TEMPLATE.replace(before, after)
        assert of_chart("other", charts__own__templates__account_yaml=changed) == []
    two = OWN["Makefile"] + "dev:\n\thelm upgrade -i a charts/own -n dev\n"
    told = OWN["Makefile"].replace("-f $(M)", "--set account.name=other -f $(M)")
    for text in (two, told, "all:\n\thelm upgrade -i a charts/own -n $(SPACE) --version 1.2.3\n"):
        assert of_chart("other", Makefile=text) == []


BY_RESOURCE = """\
resource "kubernetes_service_account_v1" "own" {
  metadata {
    name        = "reader"
    namespace   = "news"
    annotations = { "eks.amazonaws.com/role-arn" = REFERENCE }
  }
}
"""
BY_MANIFEST = """\
resource "kubectl_manifest" "own" {
  yaml_body = <<-EOT
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      name: reader
      namespace: news
      annotations:
        eks.amazonaws.com/role-arn: ${REFERENCE}
  EOT
}
"""
BY_SETTING = """\
resource "helm_release" "own" {
  name      = "own"
  chart     = "own"
  namespace = "news"
  set {
    name  = "serviceAccount.name"
    value = "reader"
  }
  set {
    name  = "serviceAccount.annotations.eks\\\\.amazonaws\\\\.com/role-arn"
    value = REFERENCE
  }
}
"""
BY_VALUES = """\
resource "helm_release" "own" {
  name      = "own"
  chart     = "own"
  namespace = "news"
  values = [yamlencode({ serviceAccount = {
    name        = "reader"
    annotations = { "eks.amazonaws.com/role-arn" = REFERENCE }
  } })]
}
"""
UNNAMED = {
    "aws_iam_role.role.arn": ("document", '"weights"', '"${var.cluster}-weights"'),
    "aws_iam_role.role[0].arn": ("document", "name     ", "count = var.more\n  name     "),
    "try(aws_iam_role.role.arn, null)": ("written", '"weights"', "var.name"),
    "module.role.iam_role_arn": ("older", '"weights"', '"${var.cluster}-weights"'),
    "module.role.arn": ("newer", "use_name_prefix = false", "use_name_prefix = true"),
    'module.role["a"].iam_role_arn': ("clusters", 'role_name = "weights"', "for_each = var.each"),
    "local.arn": ("subjects", '"weights"', '"${var.cluster}-weights"'),
}


def referred(account: str, reference: str, space: str) -> dict[str, str]:
    """A role without a known name, and what refers to it."""
    name, before, after = UNNAMED[reference]
    (text,) = role(name, space).values()
    assert before in text
    text = text.replace(before, after) + "locals {\n  arn = module.role.iam_role_arn\n}\n"
    return {"role.tf": text, "account.tf": account.replace("REFERENCE", reference)}


@pytest.mark.parametrize("reference", UNNAMED)
@pytest.mark.parametrize("account", [BY_RESOURCE, BY_MANIFEST, BY_SETTING, BY_VALUES])
def test_a_role_is_known_by_what_refers_to_it(account: str, reference: str) -> None:
    (message,) = found(referred(account, reference, "other"))

    kind = "module" if "module" in reference or "local" in reference else "aws_iam_role"
    assert f" gives system:serviceaccount:news:reader the role {kind}." in message
    assert found(referred(account, reference, "news")) == []


@pytest.mark.parametrize(
    "reference",
    [
        "data.aws_iam_role.role.arn",
        "aws_iam_role.other.arn",
        "aws_iam_role.role.id",
        "module.other.arn",
        "module.role.arn_of_more",
        "var.own ? aws_iam_role.role.arn : var.arn",
    ],
)
def test_another_reference_is_not_known(reference: str) -> None:
    files = referred(BY_RESOURCE, "aws_iam_role.role.arn", "other")
    (module,) = role("older", "third").values()
    files["account.tf"] = BY_RESOURCE.replace("REFERENCE", reference)

    assert found({**files, "module.tf": module}) == []


def test_a_role_of_a_module_of_ones_own_is_known_by_its_output() -> None:
    (text,) = role("document", "other").values()
    output = 'output "arn" {\n  value = aws_iam_role.role.arn\n}\n'
    call = 'module "own" {\n  source = "./role"\n}\n'
    files = {
        "role/main.tf": text.replace('"weights"', "var.name") + output,
        "main.tf": call + BY_RESOURCE.replace("REFERENCE", "module.own.arn"),
    }
    (message,) = found(files)

    assert " the role module.own.aws_iam_role.role, and " in message


TEMPLATE_OF_AWS = """\
Resources:
  Reader:
    Type: AWS::IAM::Role
    Properties:
      RoleName: weights
      AssumeRolePolicyDocument: POLICY
"""
AS_OBJECT = """
        Statement:
          - Effect: Allow
            Action: sts:AssumeRoleWithWebIdentity
            Principal: {Federated: !Ref Provider}
            Condition:
              StringEquals: {"oidc.eks.eu-west-1.amazonaws.com/id/A:sub": "SUBJECT"}
"""
AS_TEXT = """
        !Sub |
          {"Statement": [{
            "Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": "${Provider}"},
            "Condition": {"StringEquals": {"${Issuer}:sub": "SUBJECT"}}
          }]}
"""


@pytest.mark.parametrize("policy", [AS_OBJECT, AS_TEXT])
@pytest.mark.parametrize(
    ("subject", "count"),
    [
        ("system:serviceaccount:other:reader", 1),
        ("system:serviceaccount:news:reader", 0),
        ("system:serviceaccount:${Space}:reader", 0),
    ],
)
def test_a_template_of_cloudformation_tells_it_too(policy: str, subject: str, count: int) -> None:
    text = TEMPLATE_OF_AWS.replace("POLICY", policy).replace("SUBJECT", subject)

    assert len(found({"account.yaml": ACCOUNT, "template.yaml": text})) == count


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RoleName: weights", "RoleName: !Sub '${Cluster}-weights'"),
        ('"SUBJECT"', "!Ref Subject"),
        ("AssumeRoleWithWebIdentity", "AssumeRole"),
        ("POLICY", "!Ref Policy"),
    ],
)
def test_what_a_template_leaves_open_is_not_judged(before: str, after: str) -> None:
    text = TEMPLATE_OF_AWS.replace(*("POLICY", AS_OBJECT) if before != "POLICY" else ("", ""))
    assert before in text
    text = text.replace(before, after).replace("SUBJECT", "system:serviceaccount:other:reader")

    assert found({"account.yaml": ACCOUNT, "template.yaml": text}) == []


SCALED = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-west-2, version: "1.33"}
iam:
  withOIDC: true
  serviceAccounts:
    - metadata: {name: cluster-autoscaler, namespace: kube-system}
      wellKnownPolicies: {autoScaler: true}
managedNodeGroups:
  - name: gpu
    instanceType: g4dn.xlarge
    MORE
"""
SCALER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: kube-system}
spec:
  chart: {spec: {chart: cluster-autoscaler, version: 9.50.1}}
  values: {autoDiscovery: {clusterName: a}, VALUES}
"""


@pytest.mark.parametrize(
    ("name", "values", "used"),
    [
        ("scaler", "replicaCount: 1", "scaler-aws-cluster-autoscaler"),
        ("aws-cluster-autoscaler", "replicaCount: 1", "aws-cluster-autoscaler"),
        ("scaler", "cloudProvider: clusterapi", "scaler-clusterapi-cluster-autoscaler"),
        ("scaler", "fullnameOverride: own", "own"),
        ("scaler", "rbac: {serviceAccount: {create: false}}", "default"),
        ("scaler", "rbac: {serviceAccount: {create: true, name: other}}", "other"),
        ("scaler", "rbac: {serviceAccount: {name: other}}", "other"),
        ("scaler", "rbac: {serviceAccount: {create: true}}", "scaler-aws-cluster-autoscaler"),
        ("scaler", "rbac: {serviceAccount: {create: false, name: cluster-autoscaler}}", ""),
        ("scaler", "fullnameOverride: cluster-autoscaler", ""),
        ("scaler", "fullnameOverride: $NAME", ""),
        ("scaler", "nameOverride: other", ""),
        ("scaler", "rbac: {serviceAccount: {name: $NAME}}", ""),
        ("scaler", 'rbac: {serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "$R"}}}', ""),
        ("$NAME", "replicaCount: 1", ""),
    ],
)
def test_cluster_autoscaler_runs_as_the_account_of_its_role(
    name: str, values: str, used: str
) -> None:
    scaler = SCALER.replace("NAME", name, 1).replace("VALUES", values)
    cluster = SCALED.replace("MORE", "minSize: 1")
    messages = found({"cluster.yaml": cluster, "scaler.yaml": scaler})

    assert [f"runs as kube-system/{used}," in each for each in messages] == [True] * bool(used)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("MORE", "iam: {withAddonPolicies: {autoScaler: true}}"),
        ("autoScaler: true}", "ebsCSIController: true}"),
        ("namespace: kube-system", "namespace: other"),
        ("kind: ClusterConfig", "kind: Config"),
        ("  serviceAccounts:", "  accounts:"),
    ],
)
def test_an_account_that_is_not_meant_for_cluster_autoscaler(before: str, after: str) -> None:
    scaler = SCALER.replace("NAME", "scaler", 1).replace("VALUES", "replicaCount: 1")
    cluster = SCALED.replace(before, after, 1).replace("MORE", "minSize: 1")

    assert found({"cluster.yaml": cluster, "scaler.yaml": scaler}) == []


def test_another_chart_has_accounts_of_its_own() -> None:
    scaler = SCALER.replace("NAME", "scaler", 1).replace("VALUES", "replicaCount: 1")
    cluster = SCALED.replace("MORE", "minSize: 1")
    other = scaler.replace("chart: cluster-autoscaler", "chart: keda")

    assert found({"cluster.yaml": cluster, "scaler.yaml": other}) == []


@pytest.mark.parametrize(
    ("trusted", "count"), [("cluster-autoscaler", 1), ("ca-aws-cluster-autoscaler", 0)]
)
def test_the_account_that_the_chart_makes_is_held_against_the_role(
    trusted: str, count: int
) -> None:
    arn = "arn:aws:iam::123412341234:role/weights"
    values = f'rbac: {{serviceAccount: {{annotations: {{eks.amazonaws.com/role-arn: "{arn}"}}}}}}'
    scaler = SCALER.replace("NAME", "ca", 1).replace("VALUES", values)
    file, text, module = ROLES["older"]
    tf = text.replace("MODULE", module).replace("SPACE:reader", f"kube-system:{trusted}")

    assert len(found({file: tf, "scaler.yaml": scaler})) == count
