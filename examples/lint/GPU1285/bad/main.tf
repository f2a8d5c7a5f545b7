module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.15"

  name = "vision-eu"

  eks_managed_node_groups = {
    system = { instance_types = ["m6i.large"] }
  }
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 5.21"

  name            = "vision"
  azs             = ["eu-west-1a", "eu-west-1b"]
  private_subnets = ["10.0.0.0/20", "10.0.16.0/20"]

  private_subnet_tags = {
    "karpenter.sh/discovery" = "vision"
  }
}
