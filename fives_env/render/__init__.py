"""Drawing a table from its plain data (``Table.to_dict()``)."""
