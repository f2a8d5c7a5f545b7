"""A real Kubernetes control plane on this machine, to prove a stack on before it reaches AWS.

`control_plane.ControlPlane` is the way in; `builder` makes the programs it runs.
"""
