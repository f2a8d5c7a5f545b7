"""Rules about single objects of Kubernetes."""

from __future__ import annotations

from eks_gpushare.facts.index import objects as objects_facts

WRONG_KIND = objects_facts.WRONG_KIND.rule("GPU1004")
NO_FIELD = objects_facts.NO_FIELD.rule("GPU1005")
BAD_TOLERATION = objects_facts.BAD_TOLERATION.rule("GPU1006")
OLD_API = objects_facts.OLD_API.rule("GPU1007")
COUNTS_NOTHING = objects_facts.COUNTS_NOTHING.rule("GPU1008")
DEVICES_BY_HAND = objects_facts.DEVICES_BY_HAND.rule("GPU1009")
GPU_FOR_ALL = objects_facts.GPU_FOR_ALL.rule("GPU1010")
NO_VENDOR = objects_facts.NO_VENDOR.rule("GPU1015")
