"""Numbers that float64 and the methods fix, each with one name and one home."""

UNIT = 2.0**-53  # u: a rounded result is off by at most this share of itself
SPACING = 2.0**-52  # between 1 and the next float64
SMALLEST = 5e-324  # the least positive float64: what a product may lose below the normal range
EXACT = 2**53  # whole numbers up to here are float64 numbers
SHORT_LEAST, SHORT_MOST = 1e-15, 1e15  # lengths whose products float32 can bear, clear of its ends
UNDERFLOW = 600.0  # γm from which all weights exp(-γm) near float64's end: they are then enlarged by one factor
UNDERFLOW_SHORT = 60.0  # and float32's
FIRST_LOOK = 8  # steps along a stretch before a look at how long the wrong set will stay; then after twice as many
WORTH_A_LOOK = 4  # steps left to make, below which that look costs more than it saves
ENDLESS = 1 << 60  # more updates than anyone makes
