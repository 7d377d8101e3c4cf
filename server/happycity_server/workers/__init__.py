"""Workers: the program that joins a server and plays for it, and what starts it on a Ray cluster."""
