"""What the server orders from the outside world. Drivers know no account, event, request or resource."""
