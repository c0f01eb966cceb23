"""The account: contact data, settings, cancellation."""
