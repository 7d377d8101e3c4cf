"""Between the engine's objects and the contract's messages: the one package that knows both.

`messages` and `match` read and write through the generated classes. `decisions` is the fast way to write the
one message that is sent for every move. `status` is the typed part of an error.
"""
