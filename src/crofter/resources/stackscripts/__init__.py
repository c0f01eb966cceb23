"""StackScripts: what runs inside a new instance when it first boots."""
