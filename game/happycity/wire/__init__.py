"""Between the engine's objects and the contract's messages: the one package that knows both.

`messages` and `match` read and write through the generated classes. For the one message that is sent for
every move, `decisions` is the fast way to write it and `shallow` to read it. `status` is the typed part of an
error; `watch` reads a watched match.
"""
