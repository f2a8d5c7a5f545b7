"""AWS for one lab: EC2, EKS, IAM, SQS and prices on moto, and machines that become nodes.

A controller of a stack is a real program that calls AWS. Here it finds an account in memory, made
of what the stack registers. What it launches joins the lab's cluster as its user data says.
"""
