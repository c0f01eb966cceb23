"""The rooms of the house: one per resource, all with the same furniture."""
