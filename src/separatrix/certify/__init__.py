"""The kinds of proof, their files, and their rigorous checks; nothing here knows how a proof was found."""

from separatrix.certify.check import check, verify
from separatrix.certify.files import load_proof, save_proof
from separatrix.certify.off_face import separated
from separatrix.certify.proof import Claim, Proof, ProofError, Stage

__all__ = ["Claim", "Proof", "ProofError", "Stage", "check", "load_proof", "save_proof", "separated", "verify"]
