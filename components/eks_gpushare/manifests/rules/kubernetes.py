"""Rules about single objects of Kubernetes."""

from __future__ import annotations

from eks_gpushare.facts.index import rule_of

WRONG_KIND = rule_of("GPU1004")
NO_FIELD = rule_of("GPU1005")
BAD_TOLERATION = rule_of("GPU1006")
OLD_API = rule_of("GPU1007")
COUNTS_NOTHING = rule_of("GPU1008")
DEVICES_BY_HAND = rule_of("GPU1009")
GPU_FOR_ALL = rule_of("GPU1010")
NO_VENDOR = rule_of("GPU1015")
