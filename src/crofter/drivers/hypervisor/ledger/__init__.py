"""A hypervisor's things and what is being done to them, in the server's database: of simulated and real ones alike."""
