"""Pictures of runs, planes and diagnoses: matplotlib axes in, matplotlib axes out.

Step sizes are ordered in colour, from cold to warm, neighbours apart in the eyes of the colour-blind too; the
perceptrons have colours of their own, and all others are the Okabe-Ito palette.
"""

from separatrix.plot.curves import compare as compare
from separatrix.plot.film import animate as animate
from separatrix.plot.limits import coefficients as coefficients
from separatrix.plot.limits import estimates as estimates
from separatrix.plot.looks import COLOURS as COLOURS
from separatrix.plot.looks import DASHES as DASHES
from separatrix.plot.looks import LABELS as LABELS
from separatrix.plot.looks import LOGARITHMIC as LOGARITHMIC
from separatrix.plot.looks import NAMES as NAMES
from separatrix.plot.looks import PALETTE as PALETTE
from separatrix.plot.looks import STEPS as STEPS
from separatrix.plot.looks import finish as finish
from separatrix.plot.looks import name_of as name_of
from separatrix.plot.looks import shade as shade
from separatrix.plot.looks import words as words
from separatrix.plot.planes import plane as plane
