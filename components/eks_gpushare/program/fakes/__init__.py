"""What AWS, EKS and Kubernetes would answer a program that runs without them."""
