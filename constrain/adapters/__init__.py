"""Hosts, one module each. Importing this package imports none of them; importing a module needs its host.

transformers   ConstraintLogitsProcessor for `generate`

_history and _logits are what the modules share: states that follow token histories, and masked writes.
"""
