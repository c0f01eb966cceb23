"""Real machines: QEMU through libvirt, on one host or on many. The module libvirt is imported only where chosen."""
