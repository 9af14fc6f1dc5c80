"""The mail store and its search. It knows nothing of agents."""

import os

# Read when numpy is loaded. Its workers spin while they wait for each other: embedding one question costs ten times the
# processor seconds with two of them that it costs with one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
