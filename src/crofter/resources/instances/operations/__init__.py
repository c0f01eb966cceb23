"""What can be done to an instance: each file a few jobs, all of them together the state machine."""
