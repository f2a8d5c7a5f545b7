"""Containers that ask for a GPU and whose image has no CUDA, by what its tags are said to mean.

Only of repositories that publish images with and without CUDA and say how these are called.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer, gpu_containers
from eks_gpushare.manifests.rules.gpu_programs import NO_CUDA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


class _Scheme(NamedTuple):
    """How images of a repository are called that have no CUDA."""

    repository: re.Pattern[str]
    """Of the name without its tag."""
    without: re.Pattern[str]
    """Of the tag, `latest` where none is written."""
    instead: str
    """An image with CUDA."""


def _scheme(repository: str, without: str, instead: str) -> _Scheme:
    return _Scheme(re.compile(rf"(?:^|/){repository}"), re.compile(without), instead)


_INSTALLS: Final = re.compile(
    r"(?:pip3?|uv|conda|mamba)['\"]?,?[ ].*install.*(?:cuda|cu1|torch|tensorflow|jax)", re.DOTALL
)
"""Commands that bring CUDA's libraries, as wheels have them:
https://www.tensorflow.org/install/pip."""
_NOT_GPU: Final = r"(?!.*gpu).*"
_NOT_CUDA: Final = r"(?!.*(?:gpu|cu(?:da|blas|[0-9]))).*"
_SCHEMES: Final = (
    # https://www.tensorflow.org/install/docker, https://www.tensorflow.org/tfx/serving/docker
    _scheme(r"tensorflow/(?:tensorflow|serving)", _NOT_GPU, "the tag with -gpu"),
    # https://github.com/pytorch/serve/blob/master/docker/README.md
    _scheme(r"(?:pytorch|kserve)/torchserve(?:-kfs)?", _NOT_GPU, "the tag with -gpu"),
    # https://github.com/kserve/kserve/blob/master/config/runtimes/kustomization.yaml, since 0.15
    _scheme(
        r"kserve/huggingfaceserver",
        r"(?!.*gpu)(?:latest|v0\.(?:1[5-9]|[2-9][0-9])\..*)",
        "the tag with -gpu",
    ),
    # https://docs.vllm.ai/en/stable/getting_started/installation/cpu.html
    _scheme(
        r"(?:vllm/vllm-openai-cpu|q9t5s3a7/vllm(?:-arm64)?-cpu-release-repo)",
        r".*",
        "vllm/vllm-openai",
    ),
    # https://huggingface.co/docs/text-embeddings-inference/supported_models
    _scheme(r"huggingface/text-embeddings-inference", r"cpu-.*", "the tag without cpu-"),
    # https://huggingface.co/docs/text-generation-inference/installation_intel
    _scheme(
        r"huggingface/text-generation-inference", r".*-intel-cpu", "the tag without -intel-cpu"
    ),
    # https://docs.sglang.ai/platforms/cpu_server.html
    _scheme(r"lmsysorg/sglang", r".*-xeon", "the tag without -xeon"),
    # https://inference.readthedocs.io/en/stable/getting_started/using_docker_image.html
    _scheme(r"xprobe/xinference", r".*-cpu", "the tag without -cpu"),
    # https://localai.io/basics/container/
    _scheme(r"localai/localai", _NOT_CUDA, "a tag with gpu-nvidia-cuda"),
    # https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md
    _scheme(r"(?:ggml-org|ggerganov)/llama\.cpp", r"(?:full|light|server)(?:-b[0-9]+)?", "-cuda"),
    # https://aws.github.io/deep-learning-containers/reference/available_images/
    _scheme(
        r"(?:huggingface-)?(?:pytorch|tensorflow|mxnet)-(?:training|inference)(?:-eks)?",
        r"[0-9.]+(?:-transformers[0-9.]+)?-cpu-.*",
        "the tag with -gpu- in place of -cpu-",
    ),
    # https://github.com/kubeflow/kubeflow/tree/master/components/example-notebook-servers
    _scheme(
        r"(?:kubeflownotebookswg|kubeflow/kubeflow)/jupyter-(?:pytorch|tensorflow)(?:-full)?",
        r".*",
        "the image of that name with -cuda",
    ),
    # https://jupyter-docker-stacks.readthedocs.io/en/latest/using/selecting.html
    _scheme(
        r"jupyter/(?:pytorch|tensorflow)-notebook", _NOT_CUDA, "a tag that begins with cuda12-"
    ),
)
_RUNTIMES: Final = {
    "tensorflow": ("kserve-tensorflow-serving", "tensorflow/serving"),
    "pytorch": ("kserve-torchserve", "pytorch/torchserve-kfs"),
}
"""Formats of models with the runtime that KServe serves them by, and its image, to whose tag KServe
adds -gpu unless the model names a version: charts/kserve-runtime-configs/files/runtimes and
`UpdateImageTag` in pkg/controller/v1beta1/inferenceservice/utils/utils.go of kserve/kserve 0.20."""
_MODELS: Final = (("model",), ("tensorflow",), ("pytorch",))
_OF_RUNTIMES: Final = frozenset(("ServingRuntime", "ClusterServingRuntime"))
"""Whose images get that too."""


@edge(NO_CUDA)
def cpu_images(inventory: Inventory) -> Iterator[Judgement]:
    """Of containers of any kind, and of models that KServe finds an image for."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN or workload.kind in _OF_RUNTIMES:
            continue
        is_model = workload.kind == "InferenceService" and workload.spec_path[-1:] in _MODELS
        for container in gpu_containers(workload):
            if container.gpus:
                yield from (_served if is_model else _written)(container)
                if is_model:
                    yield from _by_runtime(inventory, container)


def _written(container: GpuContainer) -> Iterator[Problem]:
    image = str(text(at(container.value, "image")))
    scheme = _without_cuda(image)
    told = f"{at(container.value, 'command')} {at(container.value, 'args')}"
    if scheme is not None and not _INSTALLS.search(told):
        yield Problem(
            NO_CUDA,
            container.workload.source,
            (*container.place, "image"),
            f"{at_start(container.workload.source.name)} asks for a GPU, and its image "
            f"{image} has no CUDA.",
            f"Take {scheme.instead}, or ask for no GPU.",
        )


def _without_cuda(image: str) -> _Scheme | None:
    """How an image is called that has no CUDA; None of any other."""
    name, _, tag = image.lower().rpartition(":")
    if not name or "/" in tag:
        name, tag = image.lower(), "latest"
    for scheme in _SCHEMES:
        found = scheme.repository.search(name)
        if found and found.end() == len(name) and scheme.without.fullmatch(tag):
            return scheme
    return None


def _by_runtime(inventory: Inventory, container: GpuContainer) -> Iterator[Problem]:
    """A model whose runtime is here and has an image without CUDA, to which KServe adds nothing."""
    model, asks = container.value, at_start(container.workload.source.name)
    named = at(model, "runtime")
    if at(model, "image") is not None or at(model, "runtimeVersion") is not None:
        return
    for runtime in inventory.of(Workload, container.workload.cluster):
        if runtime.kind not in _OF_RUNTIMES or runtime.name != named:
            continue
        for where, each in containers(runtime.spec):
            image = str(text(at(each, "image")))
            scheme = _without_cuda(image)
            if scheme is not None:
                yield Problem(
                    NO_CUDA,
                    runtime.source,
                    (*runtime.spec_path, *where, "image"),
                    f"{asks} asks for a GPU, and the image {image} of its runtime {named} has no "
                    "CUDA.",
                    f"Take {scheme.instead}, or ask for no GPU.",
                )


def _served(container: GpuContainer) -> Iterator[Problem]:
    """A model whose image one of KServe's own runtimes names, and its version the model."""
    model: Any = container.value
    named = at(model, "modelFormat", "name")
    found = _RUNTIMES.get(str(container.workload.spec_path[-1] if named is None else named))
    version = text(at(model, "runtimeVersion"))
    rest = [at(model, part) for part in ("image", "protocolVersion", "runtime")]
    if found is None or version in ("", UNKNOWN) or has_unknown(rest) or "gpu" in version:
        return
    runtime, image = found
    if not rest[0] and rest[1] in (None, "v1") and rest[2] in (None, runtime):
        yield Problem(
            NO_CUDA,
            container.workload.source,
            (*container.place, "runtimeVersion"),
            f"{at_start(container.workload.source.name)} asks for a GPU, and KServe serves it by "
            f"{image}:{version}, which has no CUDA.",
            "Write a runtimeVersion that ends in -gpu, or none: then KServe adds it.",
        )
