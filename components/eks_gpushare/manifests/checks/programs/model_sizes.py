"""How large a model is, by the number of parameters in its name, as people publish them."""

from __future__ import annotations

import re
from typing import Final

_MODEL: Final = re.compile(
    r"(?:^|\s)(?:--model(?:[-_](?:id|path|name[-_]or[-_]path))?[= ]\s*|vllm serve )(\S+)"
)
"""Where servers are told it: vLLM, SGLang, Text Generation Inference, FastChat, LMDeploy."""
_PARAMETERS: Final = re.compile(
    r"(?<![A-Za-z0-9.])(?:([0-9]{1,2})x)?([0-9]{1,3}(?:\.[0-9])?)b(?![a-z0-9])"
)
"""`7b`, `0.5B`, `8x7B`; of `30B-A3B` the first is the whole."""
_SMALLER: Final = re.compile(
    r"awq|gptq|int4|int8|fp8|fp4|nf4|4bit|8bit|w4a|w8a|gguf|bnb|quant|exl2|marlin|mxfp|lora|adapter|draft|eagle"
)
"""Of weights with fewer bits than 16, or of parts of a model."""
_IN_16_BITS: Final = re.compile(
    r"(?:meta-llama|tiiuae|qwen|google|microsoft|lmsys|eleutherai|bigscience|bigcode|facebook"
    r"|codellama|huggingfaceh4|nousresearch|stabilityai|mosaicml|databricks)/"
    r"|mistralai/(?:mistral-7b|mixtral)|deepseek-ai/deepseek-(?:r1-distill|llm|coder)"
)
"""Who says it in the name where weights have fewer; of others they may have 8."""
_SMALL_BY_ITSELF: Final = "gpt-oss"
"""Whose weights have 4 bits: https://huggingface.co/openai/gpt-oss-120b."""
_GB: Final = 10**9
_SHARED: Final = 0.8
"""What is left of experts counted each as a whole model: the 8x7B has 47 of 56 billions."""


def model_named(line: str) -> str | None:
    """The model that a command line names, if it does by an option."""
    found = _MODEL.search(line)
    return None if found is None else found[1].strip("'\"")


def weights_gib(line: str) -> float | None:
    """How much its weights are at least; None where nothing tells."""
    model = model_named(line)
    if model is None or re.search(r"--(?:quantization|quantize|load[-_]format)\b", line):
        return None
    name = model.lower()
    if _SMALLER.search(name) or _SMALL_BY_ITSELF in name or "$" in name:
        return None
    sizes = [
        float(each[2]) * (int(each[1]) * _SHARED if each[1] else 1)
        for each in _PARAMETERS.finditer(name)
    ]
    size = 2 if _IN_16_BITS.match(name) else 1
    return sizes[0] * size * _GB / 2**30 if sizes else None
