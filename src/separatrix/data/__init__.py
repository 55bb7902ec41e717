"""Whatever the user has → rows: tables, arrays and files are opened and checked here, once."""
