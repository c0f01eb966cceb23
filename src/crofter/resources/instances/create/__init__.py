"""Creating an instance, and deploying what is on its disks."""
