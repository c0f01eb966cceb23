"""What the house orders from the outside world. Drivers know no account, event, request or room."""
