"""Images: what disks are made from."""
