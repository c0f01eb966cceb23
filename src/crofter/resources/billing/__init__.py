"""Money: what is metered, invoiced, owed and paid."""
