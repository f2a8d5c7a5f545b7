"""What the lab asks of the process that is AWS, besides what is AWS's."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from moto.backends import get_backend
from moto.events.models import EventPattern

from eks_gpushare_lab.cloud.account import ACCOUNT_ID
from eks_gpushare_lab.cloud.answers import Answer, as_json
from eks_gpushare_lab.cloud.ec2 import Behaviour
from eks_gpushare_lab.cloud.settings import CloudSettings

if TYPE_CHECKING:
    from eks_gpushare_lab.cloud.account import Account
    from eks_gpushare_lab.cloud.machines import Machines


class Control:
    """Answers the lab."""

    def __init__(self, account: Account, machines: Machines) -> None:
        """Act on these."""
        self._account, self._machines = account, machines

    def answer(self, path: str, body: bytes) -> Answer:
        """Answer a request under /lab/."""
        given: dict[str, Any] = json.loads(body) if body else {}
        if path == "/lab/machines":
            return as_json([machine.as_json() for machine in self._machines.all()])
        if path == "/lab/settings":
            Behaviour.settings = CloudSettings.from_json(given)
            return as_json({})
        if path == "/lab/interrupt":
            return as_json({"told": self._interrupt(given["instance"])})
        return as_json({"message": f"there is no {path}"}, 404)

    def _interrupt(self, instance: str) -> bool:
        """Give notice of a spot interruption, and end the instance when its time is up.

        Returns:
            Whether a rule of the account puts the notice into the queue.
        """
        event: Any = interruption(instance, self._account.region)
        told = any(
            EventPattern.load(pattern).matches_event(event) for pattern in self._account.patterns
        )
        if told:
            queues: Any = get_backend("sqs")[ACCOUNT_ID][self._account.region]
            queues.send_message(self._account.queue, json.dumps(event))
        self._machines.end(instance, Behaviour.settings.notice)
        return told


def interruption(instance: str, region: str) -> dict[str, Any]:
    """The event that EC2 sends two minutes before it takes a spot instance.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
    """
    return {
        "version": "0",
        "id": str(uuid4()),
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "source": "aws.ec2",
        "account": ACCOUNT_ID,
        "time": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:ec2:{region}:{ACCOUNT_ID}:instance/{instance}"],
        "detail": {"instance-id": instance, "instance-action": "terminate"},
    }
