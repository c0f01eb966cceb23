"""The sandbox API: what a real cloud does not let you do. Mounted in sandbox mode only."""
