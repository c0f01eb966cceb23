"""Services: what is monitored, and what happens when it goes down."""
