"""The end of an account: its last invoice, and the removal of all that it has."""
