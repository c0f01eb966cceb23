"""The login service: sign in, allow an application, hand out tokens."""
