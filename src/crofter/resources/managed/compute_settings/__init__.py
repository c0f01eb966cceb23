"""How the support staff gets into each instance."""
