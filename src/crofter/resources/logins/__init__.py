"""Logins: who signed in at the login service, and from where."""
