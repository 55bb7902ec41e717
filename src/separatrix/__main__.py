"""`python -m separatrix` is the command `separatrix`."""

from separatrix.cli import app

if __name__ == "__main__":
    app(prog_name="separatrix")
