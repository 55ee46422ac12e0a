"""A fuzzer of schemas and instances: `python -m fuzz --seconds 60` (or `make fuzz`).

corpus/    small schemas, one a line, a file per family of keywords
mutate     from corpus schemas to odd ones
instances  values that lie close to what a schema says
judge      what must hold for a schema, and what does not
shrink     a smaller schema that fails alike
"""
