"""The disks of an instance."""
