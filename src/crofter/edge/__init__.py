"""HTTP: knows requests, answers and endpoints, and no resource."""
