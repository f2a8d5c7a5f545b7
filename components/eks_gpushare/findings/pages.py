"""Where the documentation explains a finding: the page of its subject, at the finding's code."""

from __future__ import annotations

from typing import Final, NamedTuple

SITE: Final = "https://eks-gpushare.github.io/eks-gpushare"
"""The documentation as it is published, with each commit to the main branch."""


class SubjectPage(NamedTuple):
    """What the findings of one page are about."""

    slug: str
    title: str
    codes: tuple[str, ...]
    """How the numbers of its codes begin."""
    more: tuple[str, ...] = ()
    """Codes that begin as those of another page, whole."""


SUBJECTS: Final = (
    SubjectPage("stack-files", "Stack files as files", ("00", "01")),
    SubjectPage("instance-types", "Instance types", ("1",)),
    SubjectPage("sharing", "Sharing", ("20", "21", "28")),
    SubjectPage("mig", "MIG", ("22", "23", "24")),
    SubjectPage("bottlerocket", "Bottlerocket and MIG manager", ("25", "26", "27")),
    SubjectPage("names", "Names, labels, taints and tags", ("30", "31")),
    SubjectPage("accounts", "Accounts, partitions and networks", ("32", "33")),
    SubjectPage("capacity", "Nodes: how many, how bought, where", ("40", "41", "44")),
    SubjectPage("node-settings", "Settings of nodes", ("42", "43", "46", "47")),
    SubjectPage("images", "Machine images and disks", ("5",)),
    SubjectPage("clusters", "Clusters and networks", ("6",)),
    SubjectPage("charts", "Charts", ("70", "71", "72", "73")),
    SubjectPage("karpenter", "Karpenter", ("74", "75", "76", "77")),
    SubjectPage("cluster-autoscaler", "Cluster Autoscaler", ("78", "79")),
    SubjectPage("edits", "Quotas, costs and edits", ("80", "81"), ("993",)),
    SubjectPage(
        "workloads", "Workloads, warm room, KEDA, verifier", ("82", "83", "84", "85", "86")
    ),
    SubjectPage("contracts", "Contracts of tenants", ("87", "89")),
    SubjectPage(
        "observability",
        "Metrics, alerts and boards",
        ("88",),
        ("893", "894", *map(str, range(988, 993))),
    ),
    SubjectPage("objects", "Files and single objects", ("100", "101")),
    SubjectPage("device-plugin", "Configurations of the device plugin", ("102",)),
    SubjectPage("mig-files", "MIG layouts and values of charts", ("103", "104")),
    SubjectPage(
        "node-declarations",
        "Karpenter, eksctl, Terraform and other formats",
        ("105", "106", "128"),
    ),
    SubjectPage("provisioning", "Node groups, plans and settings of nodes", ("107", "108", "109")),
    SubjectPage("daemons", "What runs on every GPU node", ("110", "118")),
    SubjectPage("pods", "Pods and the nodes for them", ("111", "119")),
    SubjectPage("configurations", "Configurations, layouts and who reads them", ("112", "113")),
    SubjectPage("promises", "What autoscalers and claims are told", ("114",)),
    SubjectPage("tenants", "Quotas, tenants and MPS", ("115", "116", "117")),
    SubjectPage("against-a-stack", "Workloads against a stack", ("120",)),
    SubjectPage(
        "programs",
        "Programs, pools and what stands between",
        ("123", "124", "125", "126", "127", "129", "137", "138", "139", "140"),
        ("1314", "1332", "1333", "1336", "1339"),
    ),
    SubjectPage("security", "How safe nodes start", ("121", "122")),
)
"""Every code stays on its page: which it is depends on the number alone."""
_DIGITS_OF_FILES: Final = 4
"""Of codes about files of others; their subjects are told by three."""
_TABLES: Final = {False: "lab.html#findings-of-the-lab", True: "verify.html#findings-of-verify"}
"""Where those are that a page of their own has in a table: of the lab, and of a live cluster."""


def subject_of(code: str) -> SubjectPage | None:
    """The subject of a code; None of those that the pages of the lab and of `verify` have."""
    number = code.removeprefix("GPU")
    of_files = len(number) == _DIGITS_OF_FILES
    for subject in SUBJECTS:
        if number in subject.more:
            return subject
    for subject in SUBJECTS:
        for digits in subject.codes:
            if number.startswith(digits) and (len(digits) == _DIGITS_OF_FILES - 1) == of_files:
                return subject
    return None


def is_security(code: str) -> bool:
    """Whether a finding is about how safe something is, which works all the same."""
    subject = subject_of(code)
    return subject is not None and subject.slug == "security"


def page_of(code: str) -> str:
    """The address of a finding's explanation."""
    subject = subject_of(code)
    if subject is not None:
        return f"{SITE}/findings/{subject.slug}.html#{code.lower()}"
    return f"{SITE}/{_TABLES[len(code) == len('GPU1300')]}"


def policy_page(theme: str, name: str) -> str:
    """The address of a policy's explanation.

    Args:
        theme: The folder of the pack that it is in.
        name: Its name.
    """
    return f"{SITE}/policies/{theme.replace('_', '-')}.html#{name}"
