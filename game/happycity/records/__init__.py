"""Game records: written, read, and checked by replay."""
