"""The paper's image data sets: fetched from their public sources, checked, and read from files on disk.

The data folder is `data_dir`, or what the environment variable SEPARATRIX_DATA names, or else the user's cache folder;
nothing else is searched, and only `fetch` downloads. What is read there, the first of each line that is there::

    mnist/, fashion-mnist/   train-images-idx3-ubyte.gz, or without .gz; so too train-labels-idx1-ubyte, t10k-…     IDX
    cifar-10/   cifar-10-binary.tar.gz, cifar-10-batches-bin/data_batch_1.bin …, data_batch_1.bin …,
                cifar-10-class01-train.bin.gz, cifar-10-class01-train.bin   records of 1 label byte and 3,072 pixels
    eurosat/    EuroSAT_RGB.zip, EuroSAT.zip, eurosat-annualcrop-forest.zip           JPEG files, read with Pillow
"""

from separatrix.datasets.check import Checked, State, verify
from separatrix.datasets.download import FetchError, fetch
from separatrix.datasets.places import VARIABLE
from separatrix.datasets.read import (
    CIFAR_RECORD,
    EUROSAT_CLASSES,
    EUROSAT_SHAPE,
    IDX_IMAGES,
    IDX_LABELS,
    READERS,
    Pixels,
    Reader,
)
from separatrix.datasets.rows import available, load, load_ten
from separatrix.datasets.sources import CLASSES, SOURCES, File, Part, Source

__all__ = [
    "CIFAR_RECORD",
    "CLASSES",
    "EUROSAT_CLASSES",
    "EUROSAT_SHAPE",
    "IDX_IMAGES",
    "IDX_LABELS",
    "READERS",
    "SOURCES",
    "VARIABLE",
    "Checked",
    "FetchError",
    "File",
    "Part",
    "Pixels",
    "Reader",
    "Source",
    "State",
    "available",
    "fetch",
    "load",
    "load_ten",
    "verify",
]
