"""The serial console of an instance: who may join it, and for how long."""
