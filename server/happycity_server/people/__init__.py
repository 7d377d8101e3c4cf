"""People at tables: seats for a browser, tables that they set up, and practice games of bots."""
