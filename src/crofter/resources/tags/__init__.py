"""Tags: names that objects of any kind can carry."""
