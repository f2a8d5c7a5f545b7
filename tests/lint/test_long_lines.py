"""What is long is read in a time that grows as its length does, not as the square of it.

A file of one sign again and again took minutes where a pattern was tried at each of them to the
end of the line: a row of `#`, a text in base64 among Terraform's, braces in a script.
"""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import sampled

COMPONENTS = Path(__file__).parents[2] / "components"
BEFORE = {
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: ",
    "install.sh": "helm install x nvdp/nvidia-device-plugin ",
    "main.tf": 'resource "helm_release" "x" {\n  name = "',
    "guide.md": "# Of nvidia.com/gpu\n",
    "Makefile": "all:\n\thelm install x nvdp/nvidia-device-plugin ",
    "values.yaml": "nvidia: {{ if .x }}\n",
}
AFTER = {"main.tf": '"\n}'}
LENGTH = 60_000
"""Characters, of which their square takes minutes and their number less than a second."""
MOST_SECONDS = 20
"""Of a processor, many times of what the files of a sign take."""


SIGNS = ("#", "{", "{%", "a", "_", "# ")


@pytest.mark.parametrize("sign", sampled(SIGNS, 3))
def test_a_line_of_one_sign_is_read_to_its_end(sign: str, tmp_path: Path) -> None:
    for name, before in BEFORE.items():
        line = sign * (LENGTH // len(sign))
        (tmp_path / name).write_text(f"{before}{line}{AFTER.get(name, '')}\n", encoding="utf-8")

    ended = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "lint", "--no-config", "--json", str(tmp_path)],
        cwd=COMPONENTS,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS)),
    )

    assert ended.returncode in {0, 1, 2}, ended.stderr[-500:]
    assert '"files"' in ended.stdout


LABELS = """
from eks_gpushare.lint.written import written_in

text = "labels:\\n" + "  nvidia.com/gpu.present: yes\\n" * 20_000
print(len(list(written_in("nodes.yaml", text))))
"""


def test_each_of_many_labels_asks_for_the_lines_near_it_alone() -> None:
    """As in a dump of a cluster's nodes, which took seconds for each megabyte."""
    ended = subprocess.run(
        [sys.executable, "-c", LABELS],
        cwd=COMPONENTS,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS)),
    )

    assert ended.stdout == "20000\n", ended.stderr[-500:]
