resource "aws_launch_template" "gpu" {
  name          = "gpu"
  instance_type = "g5.xlarge"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "own"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  launch_template {
    id      = aws_launch_template.gpu.id
    version = 1
  }
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 20
  }
}
