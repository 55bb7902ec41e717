"""The page to play with: five methods at any step size in a browser, on the user's points or its own."""

from separatrix.exploring.explorer import Explorer as Explorer
from separatrix.exploring.explorer import explore as explore
