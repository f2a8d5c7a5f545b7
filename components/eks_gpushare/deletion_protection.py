"""What refuses to destroy half of something: the first to be deleted, and protected."""

from collections.abc import Sequence

import pulumi


class DeletionProtection(pulumi.ComponentResource):
    """Depends on all that it protects, so that Pulumi has to delete it before any of that.

    Pulumi refuses to delete what is protected only when its turn comes, and the control plane's
    turn is the last: `pulumi destroy --skip-preview`, which is what the automation API does, has
    deleted node groups, charts and add-ons by then. What depends on everything comes first, alone,
    and of what it depends on the engine deletes nothing once it has failed:
    https://github.com/pulumi/pulumi, pkg/resource/deploy/deployment_executor.go, performPostSteps.

    It is registered without protection too: a protected resource that is not registered any more
    could not be deleted. It makes nothing anywhere.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[pulumi.Resource],
        *,
        enabled: bool,
        parent: pulumi.Resource,
    ) -> None:
        """Stand before the parts of a component.

        Args:
            name: Name of the component, with which its own starts.
            parts: All that the component is made of; components among them stand for what is in
                them at this time.
            enabled: Whether to refuse.
            parent: The component.
        """
        super().__init__(
            "eks-gpushare:index:DeletionProtection",
            f"{name}-deletion-protection",
            {"enabled": enabled},
            pulumi.ResourceOptions(parent=parent, depends_on=list(parts), protect=enabled or None),
        )
        self.register_outputs({})
