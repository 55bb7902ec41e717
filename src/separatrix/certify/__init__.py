"""The kinds of proof, their files, and their rigorous checks; nothing here knows how a proof was found."""

from separatrix.certify.check import check, verify
from separatrix.certify.proof import Claim, Proof, ProofError, load_proof, save_proof

__all__ = ["Claim", "Proof", "ProofError", "check", "load_proof", "save_proof", "verify"]
