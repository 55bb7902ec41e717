"""Rows that are not all in this process's memory: in files read piece by piece, or on the workers of a cluster."""

from separatrix.data.open import opened
from separatrix.shards.messages import Answer, ClusterError, Nodes, Plan, Query, Swept
from separatrix.shards.shard import Shard
from separatrix.shards.sharded import Local, Sharded, Team

__all__ = ["Answer", "ClusterError", "Local", "Nodes", "Plan", "Query", "Shard", "Sharded", "Swept", "Team", "opened"]
