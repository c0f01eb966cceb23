"""Kernels: what a configuration profile can boot."""
