resource "aws_security_group" "nodes" {
  name   = "nodes"
  vpc_id = "vpc-0123456789abcdef0"

  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
  }

  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_launch_template" "gpu" {
  name          = "gpu"
  instance_type = "g6.8xlarge"

  network_interfaces {
    device_index    = 0
    interface_type  = "efa"
    security_groups = [aws_security_group.nodes.id]
  }

  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_size = 200
      encrypted   = true
    }
  }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
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
    min_size     = 2
    desired_size = 2
    max_size     = 2
  }
}
