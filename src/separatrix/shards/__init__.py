"""Rows that are not all in this process's memory: in files read piece by piece, or on the workers of a cluster."""

from separatrix.shards.local import Local
from separatrix.shards.messages import Answer, Nodes, Plan, Query, Swept
from separatrix.shards.shard import Shard
from separatrix.shards.sharded import ShardedRows, Team

__all__ = ["Answer", "Local", "Nodes", "Plan", "Query", "Shard", "ShardedRows", "Swept", "Team"]
