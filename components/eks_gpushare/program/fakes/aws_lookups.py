"""Fakes for the look-ups of AWS that programs around a cluster make: networks, images, parameters.

What is asked for is taken to exist. IDs are made from the question, so that they are the same in
every run. Policy documents are no look-up: they are computed as the provider computes them.
"""

from __future__ import annotations

import json
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.fakes.regions import region_of
from eks_gpushare.program.fakes.types import ACCOUNT
from eks_gpushare.program.values import Properties, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fakes.types import Function, Plan

_OWNER = "137112412989"
"""Amazon's account, the owner of its images."""


def _digest(args: Properties, length: int = 17) -> str:
    """Digits that are the same for the same question."""
    return blake2s(json.dumps(args, sort_keys=True, default=str).encode()).hexdigest()[:length]


def _tags(args: Properties) -> Properties:
    return dict(args.get("tags") or {})


def _vpc(plan: Plan, args: Properties, provider: str) -> Properties:
    region, found = region_of(plan, args, provider), args.get("id") or f"vpc-{_digest(args)}"
    plan.assume(f"VPC {found} is taken to exist in {region} with the range 10.0.0.0/16.")
    return {
        "id": found,
        "region": region,
        "arn": f"arn:aws:ec2:{region}:{ACCOUNT}:vpc/{found}",
        "cidrBlock": args.get("cidrBlock", "10.0.0.0/16"),
        "cidrBlockAssociations": [],
        "default": bool(args.get("default")),
        "dhcpOptionsId": f"dopt-{_digest(args)}",
        "enableDnsHostnames": True,
        "enableDnsSupport": True,
        "enableNetworkAddressUsageMetrics": False,
        "instanceTenancy": "default",
        "ipv6AssociationId": "",
        "ipv6CidrBlock": "",
        "mainRouteTableId": f"rtb-{_digest(args)}",
        "ownerId": ACCOUNT,
        "state": "available",
        "tags": _tags(args),
    }


def _subnets(plan: Plan, args: Properties, provider: str) -> Properties:
    region = region_of(plan, args, provider)
    ids = [f"subnet-{_digest({**args, 'zone': zone})}" for zone in "ab"]
    plan.assume(f"Two subnets in {region} are taken to be what a look-up of subnets finds.")
    return {"id": region, "region": region, "ids": ids, "tags": _tags(args)}


def _several(what: str, prefix: str) -> Function:
    """A look-up that finds IDs: one is taken to be there."""

    def found(plan: Plan, args: Properties, provider: str) -> Properties:
        region = region_of(plan, args, provider)
        one = f"{prefix}-{_digest(args)}"
        plan.assume(f"{one} is taken to be what a look-up of {what} finds in {region}.")
        return {"id": region, "region": region, "ids": [one], "tags": _tags(args)}

    return found


def _subnet(plan: Plan, args: Properties, provider: str) -> Properties:
    region, found = region_of(plan, args, provider), args.get("id") or f"subnet-{_digest(args)}"
    zone = args.get("availabilityZone", f"{region}{'abc'[int(_digest(args, 2), 16) % 3]}")
    plan.assume(f"Subnet {found} is taken to exist in {zone}.")
    return {
        "id": found,
        "region": region,
        "arn": f"arn:aws:ec2:{region}:{ACCOUNT}:subnet/{found}",
        "availabilityZone": zone,
        "availableIpAddressCount": 4091,
        "cidrBlock": args.get("cidrBlock", "10.0.0.0/20"),
        "mapPublicIpOnLaunch": False,
        "ownerId": ACCOUNT,
        "state": "available",
        "tags": _tags(args),
        "vpcId": args.get("vpcId", f"vpc-{_digest({})}"),
    }


def _security_group(plan: Plan, args: Properties, provider: str) -> Properties:
    region, found = region_of(plan, args, provider), args.get("id") or f"sg-{_digest(args)}"
    plan.assume(f"Security group {found} is taken to exist in {region}.")
    return {
        "id": found,
        "region": region,
        "arn": f"arn:aws:ec2:{region}:{ACCOUNT}:security-group/{found}",
        "name": args.get("name", found),
        "description": "",
        "tags": _tags(args),
        "vpcId": args.get("vpcId", f"vpc-{_digest({})}"),
    }


def _ami(plan: Plan, args: Properties, provider: str) -> Properties:
    region, found = region_of(plan, args, provider), f"ami-{_digest(args)}"
    plan.assume(f"Image {found} is taken to be what a look-up of an AMI finds in {region}.")
    return {
        "id": found,
        "imageId": found,
        "region": region,
        "arn": f"arn:aws:ec2:{region}::image/{found}",
        "architecture": "x86_64",
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volume_size": "20"}}],
        "creationDate": "2026-01-01T00:00:00.000Z",
        "deprecationTime": "2028-01-01T00:00:00.000Z",
        "description": "",
        "enaSupport": True,
        "hypervisor": "xen",
        "imageLocation": f"amazon/{found}",
        "imageOwnerAlias": "amazon",
        "imageType": "machine",
        "name": found,
        "ownerId": _OWNER,
        "platformDetails": "Linux/UNIX",
        "public": True,
        "rootDeviceName": "/dev/xvda",
        "rootDeviceType": "ebs",
        "rootSnapshotId": f"snap-{_digest(args)}",
        "state": "available",
        "tags": {},
        "virtualizationType": "hvm",
    }


def _parameter(plan: Plan, args: Properties, provider: str) -> Properties:
    region, name = region_of(plan, args, provider), str(args.get("name"))
    value = f"ami-{_digest(args)}" if name.endswith("image_id") else "assumed"
    if name.endswith("release_version"):
        value = "1.35.8-20260930"
    secret = name.startswith("/aws/") is False and args.get("withDecryption", True)
    plan.assume(f"The value of the parameter {name} is not known; {value} stands for it.")
    return {
        "id": name,
        "name": name,
        "region": region,
        "arn": f"arn:aws:ssm:{region}:{ACCOUNT}:parameter/{name.lstrip('/')}",
        "type": "String",
        "value": Secret(value) if secret else value,
        "insecureValue": value,
        "version": 1,
    }


def _role(plan: Plan, args: Properties, _provider: str) -> Properties:
    name = str(args.get("name"))
    plan.assume(f"IAM role {name} is taken to exist.")
    return {
        "id": name,
        "name": name,
        "arn": f"arn:aws:iam::{ACCOUNT}:role/{name}",
        "assumeRolePolicy": '{"Version":"2012-10-17","Statement":[]}',
        "createDate": "2026-01-01T00:00:00Z",
        "description": "",
        "maxSessionDuration": 3600,
        "path": "/",
        "permissionsBoundary": "",
        "roleLastUseds": [],
        "tags": {},
        "uniqueId": f"AROA{_digest(args).upper()}",
    }


def _policy(plan: Plan, args: Properties, _provider: str) -> Properties:
    name = str(args.get("name") or str(args.get("arn", "assumed")).rpartition("/")[2])
    arn = args.get("arn") or f"arn:aws:iam::{ACCOUNT}:policy/{name}"
    plan.assume(f"IAM policy {name} is taken to exist.")
    text = '{"Version":"2012-10-17","Statement":[]}'
    return {"id": arn, "arn": arn, "name": name, "path": "/", "policy": text, "tags": {}}


def _kms_key(plan: Plan, args: Properties, provider: str) -> Properties:
    region, asked = region_of(plan, args, provider), str(args.get("keyId"))
    digits = _digest(args, 32)
    key = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    arn = asked if asked.startswith("arn:") else f"arn:aws:kms:{region}:{ACCOUNT}:key/{key}"
    plan.assume(f"KMS key {asked} is taken to exist.")
    return {"id": key, "keyId": asked, "arn": arn, "region": region, "enabled": True}


def _zone(plan: Plan, args: Properties, _provider: str) -> Properties:
    name = str(args.get("name", "example.com")).rstrip(".")
    found = args.get("zoneId") or f"Z{_digest(args, 13).upper()}"
    plan.assume(f"Hosted zone {name} is taken to exist.")
    return {
        "id": found,
        "zoneId": found,
        "arn": f"arn:aws:route53:::hostedzone/{found}",
        "name": name,
        "nameServers": [],
        "tags": _tags(args),
    }


def _secret_version(plan: Plan, args: Properties, provider: str) -> Properties:
    region, found = region_of(plan, args, provider), str(args.get("secretId"))
    plan.assume(f"The value of the secret {found} is not known; assumed stands for it.")
    arn = f"arn:aws:secretsmanager:{region}:{ACCOUNT}:secret:{found}"
    return {"id": found, "secretId": found, "arn": arn, "secretString": Secret("assumed")}


def _policy_document(_plan: Plan, args: Properties, _provider: str) -> Properties:
    """As `aws_iam_policy_document` computes it.

    Source: hashicorp/terraform-provider-aws, `internal/service/iam/policy_document_data_source.go`
    and `policy_model.go`: lists in reverse order, lists of one as the one.
    """
    document: Properties = {"Version": args.get("version", "2012-10-17")}
    if args.get("policyId"):
        document["Id"] = args["policyId"]
    statements: list[Properties] = []
    for text in args.get("sourcePolicyDocuments") or ():
        _merge(statements, json.loads(text).get("Statement", []))
    _merge(statements, [_statement(statement) for statement in args.get("statements") or ()])
    for text in args.get("overridePolicyDocuments") or ():
        _merge(statements, json.loads(text).get("Statement", []))
    document["Statement"] = statements
    text = json.dumps(document, indent=2)
    compact = json.dumps(document, separators=(",", ":"))
    digits = str(int(_digest(document, 8), 16))
    return {"id": digits, "json": text, "minifiedJson": compact, "version": document["Version"]}


def _merge(into: list[Properties], more: list[Properties] | Properties) -> None:
    """Statements with the Sid of an earlier one take its place."""
    for statement in [more] if isinstance(more, dict) else more:
        same = [
            at
            for at, old in enumerate(into)
            if statement.get("Sid") and old.get("Sid") == statement["Sid"]
        ]
        if same:
            into[same[0]] = statement
        else:
            into.append(statement)


def _statement(given: Properties) -> Properties:
    made: Properties = {}
    if given.get("sid"):
        made["Sid"] = given["sid"]
    made["Effect"] = given.get("effect", "Allow")
    keys = ("actions", "Action"), ("notActions", "NotAction")
    for key, name in (*keys, ("resources", "Resource"), ("notResources", "NotResource")):
        if given.get(key):
            made[name] = _one_or_more(given[key])
    for key, name in (("principals", "Principal"), ("notPrincipals", "NotPrincipal")):
        if given.get(key):
            made[name] = _principals(given[key])
    conditions: dict[str, Properties] = {}
    for condition in given.get("conditions") or ():
        of_test = conditions.setdefault(condition["test"], {})
        of_test[condition["variable"]] = _one_or_more(condition["values"])
    return {**made, **({"Condition": conditions} if conditions else {})}


def _principals(given: list[Properties]) -> str | Properties:
    found: dict[str, list[str]] = {}
    for statement in given:
        found.setdefault(statement["type"], []).extend(statement["identifiers"])
    if found == {"*": ["*"]}:
        return "*"
    return {kind: _one_or_more(names) for kind, names in found.items()}


def _one_or_more(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else sorted(values, reverse=True)


LOOKUPS: Mapping[str, Function] = {
    "aws:ec2/getAmi:getAmi": _ami,
    "aws:ec2/getAmiIds:getAmiIds": _several("AMIs", "ami"),
    "aws:ec2/getSecurityGroup:getSecurityGroup": _security_group,
    "aws:ec2/getSecurityGroups:getSecurityGroups": _several("security groups", "sg"),
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:ec2/getSubnets:getSubnets": _subnets,
    "aws:ec2/getVpc:getVpc": _vpc,
    "aws:ec2/getVpcs:getVpcs": _several("VPCs", "vpc"),
    "aws:iam/getPolicy:getPolicy": _policy,
    "aws:iam/getPolicyDocument:getPolicyDocument": _policy_document,
    "aws:iam/getRole:getRole": _role,
    "aws:kms/getKey:getKey": _kms_key,
    "aws:route53/getZone:getZone": _zone,
    "aws:secretsmanager/getSecretVersion:getSecretVersion": _secret_version,
    "aws:ssm/getParameter:getParameter": _parameter,
}
"""Token to fake."""
