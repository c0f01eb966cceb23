"""Users of an account, and what each may do."""
