"""EC2 as moto has it, and what moto lacks or makes too easy.

moto keeps subnets, launch templates, instances and tags, and has EC2's own recorded answers about
instance types and where they are offered. It never lacks capacity, ignores what of a fleet's
overrides is not in the launch template, and knows no spot prices of today's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES
from moto.ec2.responses import EC2Response

from eks_gpushare.catalog import Catalog
from eks_gpushare_lab.cloud import prices, reservations
from eks_gpushare_lab.cloud.settings import ON_DEMAND, SPOT, CloudSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare_lab.cloud.account import CapacityReservation

_ICE = "InsufficientInstanceCapacity"
_PRIORITIZED = ("prioritized", "capacity-optimized-prioritized")


class Behaviour:
    """The settings that requests are answered by. They change while the emulation runs."""

    settings = CloudSettings()
    """As they are now."""
    reservations: tuple[CapacityReservation, ...] = ()
    """Capacity reservations of the account."""


class Ec2(EC2Response):
    """Answers to EC2's actions; those that are not here are moto's."""

    def describe_instances(self) -> ActionResult:
        """As moto has it, which fails where an id is named twice. EC2 does not."""
        asked = self._get_param("InstanceIds", [])
        if asked:
            self.params["InstanceIds"] = list(dict.fromkeys(asked))
        return super().describe_instances()

    def describe_instance_types(self) -> ActionResult:
        """The types with NVIDIA GPUs and those named: what the rest is, nobody here asks."""
        asked = self._get_param("InstanceTypes", [])
        filters = self._filters_from_querystring()
        self.error_on_dryrun()
        named = asked or known_types()
        found = self.ec2_backend.describe_instance_types(named, filters)
        return ActionResult({"InstanceTypes": found})

    def describe_instance_type_offerings(self) -> ActionResult:
        """Where those types are offered."""
        where = self._get_param("LocationType")
        filters = self._filters_from_querystring()
        found = self.ec2_backend.describe_instance_type_offerings(where, filters)
        known = known_types()
        return ActionResult(
            {
                "InstanceTypeOfferings": [
                    offering for offering in found if offering["InstanceType"] in known
                ]
            }
        )

    def describe_spot_price_history(self) -> ActionResult:
        """One price of each type in each zone."""
        found = []
        for offering in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(self.region, ()):
            kind = offering["InstanceType"]
            price = prices.spot(kind, self.region) if kind in known_types() else None
            if price is None or "spot" not in INSTANCE_TYPES[kind]["SupportedUsageClasses"]:
                continue
            found.append(
                {
                    "InstanceType": kind,
                    "AvailabilityZone": offering["Location"],
                    "ProductDescription": "Linux/UNIX",
                    "SpotPrice": f"{price:.6f}",
                    "Timestamp": utcnow(),
                }
            )
        return ActionResult({"SpotPriceHistory": found})

    def describe_capacity_reservations(self) -> ActionResult:
        """Those of the account, and what is left of each."""
        found = reservations.described(
            Behaviour.reservations,
            self._get_param("CapacityReservationIds", []),
            self._filters_from_querystring(),
            Behaviour.settings,
            self._instances(),
        )
        return ActionResult({"CapacityReservations": found})

    def create_fleet(self) -> ActionResult:
        """Launch what there is capacity for, and say of every offer that was tried what failed."""
        self.error_on_dryrun()
        target = self._get_param("TargetCapacitySpecification", {})
        wanted = int(target.get("TotalTargetCapacity", 0))
        market = target.get("DefaultTargetCapacityType") or ON_DEMAND
        tags = self._parse_tag_specification()
        errors: list[Mapping[str, Any]] = []
        for offer in self._offers(market):
            refusal = self._refusal(offer, market)
            if refusal is not None:
                errors.append(refusal)
                continue
            launched = self._launch(offer, market, wanted, tags)
            return ActionResult({**_fleet(), "Instances": [launched], "Errors": errors})
        return ActionResult({**_fleet(), "Instances": [], "Errors": errors})

    def _offers(self, market: str) -> list[dict[str, Any]]:
        """Launch template and override of each offer, in the order in which EC2 tries them."""
        options = "SpotOptions" if market == SPOT else "OnDemandOptions"
        strategy = self._get_param(options, {}).get("AllocationStrategy", "")
        offers = list(self._every_offer())

        def order(offer: dict[str, Any]) -> float:
            override = offer["Overrides"]
            if strategy in _PRIORITIZED and "Priority" in override:
                return float(override["Priority"])
            kind = override["InstanceType"]
            return prices.price_of(kind, self.region, is_spot=market == SPOT)

        return sorted(offers, key=order)

    def _every_offer(self) -> Iterator[dict[str, Any]]:
        for config in self._get_param("LaunchTemplateConfigs", []):
            given = config["LaunchTemplateSpecification"]
            template = self._template(given)
            specification = {
                "LaunchTemplateId": template.id,
                "LaunchTemplateName": template.name,
                "Version": str(template.latest_version_number),
            }
            data = template.get_version(given.get("Version", "$Default")).data
            for override in config.get("Overrides") or [{}]:
                merged = {"InstanceType": data.get("InstanceType"), **override}
                yield {
                    "LaunchTemplateSpecification": specification,
                    "Overrides": merged,
                    "data": data,
                }

    def _template(self, given: Mapping[str, Any]) -> Any:
        backend = self.ec2_backend
        if "LaunchTemplateId" in given:
            return backend.get_launch_template(given["LaunchTemplateId"])
        return backend.get_launch_template_by_name(given["LaunchTemplateName"])

    def _refusal(self, offer: Mapping[str, Any], market: str) -> dict[str, Any] | None:
        """Why EC2 cannot launch an offer, as an error of the fleet; None if it can."""
        kind, zone = offer["Overrides"]["InstanceType"], self._zone(offer)
        target = reservations.target_of(offer["data"])
        if target:
            named = next(
                (reservation for reservation in Behaviour.reservations if reservation.id == target),
                None,
            )
            instances = self._instances()
            why = reservations.why_not(named, kind, zone, Behaviour.settings, instances)
            return None if why is None else _error(offer, ON_DEMAND, *why)
        kept = SPOT if market == SPOT else ON_DEMAND
        if not any(
            shortage.covers(kind, zone, kept) for shortage in Behaviour.settings.insufficient
        ):
            return None
        # EC2's own words: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html
        # and https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-request-status.html
        message = "There is no Spot capacity available that matches your request."
        if market != SPOT:
            message = (
                f"We currently do not have sufficient {kind} capacity in the Availability Zone "
                f"you requested ({zone}). Our system will be working on provisioning additional "
                "capacity."
            )
        return _error(offer, kept, _ICE, message)

    def _instances(self) -> list[Any]:
        """The instances of moto, ended ones too."""
        there = self.ec2_backend.reservations.values()
        return [instance for reservation in there for instance in reservation.instances]

    def _zone(self, offer: Mapping[str, Any]) -> str:
        override = offer["Overrides"]
        subnet = override.get("SubnetId") or next(
            (
                interface["SubnetId"]
                for interface in _interfaces(offer["data"])
                if "SubnetId" in interface
            ),
            None,
        )
        if subnet:
            return str(self.ec2_backend.get_subnet(subnet).availability_zone)
        return str(override.get("AvailabilityZone") or f"{self.region}a")

    def _launch(
        self,
        offer: Mapping[str, Any],
        market: str,
        count: int,
        tags: Mapping[str, Mapping[str, str]],
    ) -> dict[str, Any]:
        data, override = offer["data"], offer["Overrides"]
        interfaces = _interfaces(data)
        groups = data.get("SecurityGroupIds") or [
            group for interface in interfaces[:1] for group in interface.get("Groups", ())
        ]
        subnet = override.get("SubnetId") or next(
            (interface["SubnetId"] for interface in interfaces if "SubnetId" in interface), None
        )
        template = offer["LaunchTemplateSpecification"]
        reservation = self.ec2_backend.run_instances(
            image_id=override.get("ImageId") or data.get("ImageId"),
            count=count,
            user_data=data.get("UserData"),
            security_group_names=[],
            security_group_ids=list(groups),
            instance_type=override["InstanceType"],
            is_instance_type_default=False,
            region_name=self.region,
            subnet_id=subnet,
            tags={"instance": dict(tags.get("instance", {})), "volume": {}},
            launch_template={
                "LaunchTemplateId": template["LaunchTemplateId"],
                "Version": template["Version"],
            },
            metadata_options=data.get("MetadataOptions"),
            lifecycle=SPOT if market == SPOT else None,
        )
        for instance in reservation.instances:
            if market == SPOT:
                instance.spot_instance_request_id = f"sir-{instance.id[2:10]}"
                instance.instance_lifecycle = SPOT
            target = reservations.target_of(data)
            if target:
                reservations.mark(instance, target, is_block=market == reservations.BLOCK)
        return {
            "InstanceIds": [instance.id for instance in reservation.instances],
            "InstanceType": override["InstanceType"],
            "Lifecycle": SPOT if market == SPOT else ON_DEMAND,
            "LaunchTemplateAndOverrides": _shown(offer),
        }


def known_types() -> list[str]:
    """The types that exist here: those with NVIDIA GPUs, as EC2 itself describes them."""
    return [name for name in Catalog().gpu_types() if name in INSTANCE_TYPES]


def _error(offer: Mapping[str, Any], market: str, code: str, message: str) -> dict[str, Any]:
    """What a fleet says of an offer that it cannot launch."""
    return {
        "ErrorCode": code,
        "ErrorMessage": message,
        "Lifecycle": market,
        "LaunchTemplateAndOverrides": _shown(offer),
    }


def _interfaces(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(data.get("NetworkInterfaces") or ())


def _shown(offer: Mapping[str, Any]) -> dict[str, Any]:
    return {key: offer[key] for key in ("LaunchTemplateSpecification", "Overrides")}


def _fleet() -> dict[str, str]:
    return {"FleetId": f"fleet-{uuid4()}"}
