"""What a load balancer serves on each of its ports."""
