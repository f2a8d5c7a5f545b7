module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  eks_managed_node_groups = {
    gpu = {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = ["g5.xlarge"]
      min_size       = 1
      desired_size   = 1
      max_size       = 4
      taints         = { gpu = { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" } }
      block_device_mappings = {
        xvda = { device_name = "/dev/xvda", ebs = { volume_size = 200, encrypted = true } }
      }
      labels = { team = "ml" }
    }
  }
}
