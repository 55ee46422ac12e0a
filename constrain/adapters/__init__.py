"""Hosts, one module each (docs/hosts.md). Importing this package imports none; importing a module needs its host.

transformers   ConstraintLogitsProcessor for `generate`, and jump_ahead
outlines       a backend that makes processors
mlx_lm         a processor
llama_cpp      a processor, for llama-cpp-python
vllm           a logits processor for both model runners, and a backend of structured outputs
sglang         a grammar backend
tensorrt_llm   a matcher and its factory

What they share:

_tracks        matchers that follow the tokens of a sequence
_masks         the masks of many of them; failures and events
_history       rows that show nothing but their token histories     _processor   processors for such hosts
_slots         requests that come, move and go
_served        constraints by kind, and the state of one request, for grammar backends
_logits        masked copies of scores of any array library         _torch       bitmasks as tensors
_drafts        what may come next                                   _jump_ahead  a loop of transformers that uses it
_imports       what is said when a host is not there
"""
