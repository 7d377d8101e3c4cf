"""Workers: processes that play matches for a server, and what starts them."""
