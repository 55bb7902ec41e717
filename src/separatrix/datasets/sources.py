"""Where each data set comes from and what its files must be: addresses, sizes, checksums, licences.

`files` are the published ones, which `fetch` brings;
`instead` lists what is read in place of one that is not there. Checksums are the publisher's (MD5) and, of the same
files, SHA-256.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from separatrix.reporting.hints import did_you_mean

Part = Literal["train", "test"]

CIFAR_BATCH = 10_000 * (1 + 3 * 32 * 32)  # bytes
CIFAR_SUBSET = "cifar-10-class01"


@dataclass(frozen=True)
class File:
    """One file: its name under the data set's folder, and what is known of its bytes."""

    name: str
    size: int
    sha256: str
    md5: str = ""
    unpacked: int = 0  # bytes once unpacked, where the file is packed
    part: Literal["train", "test", "both"] = "both"
    instead: tuple[tuple[File, ...], ...] = ()  # groups of files; a whole group holds the same rows

    def groups(self, part: Part | None = None) -> list[tuple[File, ...]]:
        """The file alone, then the groups that may stand for it; only the files of `part` where it is given."""
        wanted = ("train", "test", "both") if part is None else (part, "both")
        return [tuple(file for file in group if file.part in wanted) for group in ((self,), *self.instead)]


@dataclass(frozen=True)
class Source:
    """One data set: the classes the paper uses, the training rows they have, and where the files are published."""

    name: str
    title: str
    classes: tuple[int, int]
    class_names: tuple[str, str]
    rows: int
    home: str
    base_url: str  # a file's address is base_url and its name
    licence: str
    citation: str
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """Bytes of the published files."""
        return sum(file.size for file in self.files)


def source_of(name: str) -> Source:
    """The data set of this name."""
    if name not in SOURCES:
        raise ValueError(f"unknown data set {name!r}{did_you_mean(name, SOURCES)}; data sets: {', '.join(SOURCES)}.")
    return SOURCES[name]


# The files.


def _idx(part: Part, kind: str, md5: str, packed: tuple[int, str], plain: tuple[int, str]) -> File:
    """One gzipped IDX file, and the same unpacked; `packed` and `plain` are sizes and SHA-256 sums."""
    name = f"{'train' if part == 'train' else 't10k'}-{kind}-ubyte"
    unpacked = File(name, *plain, part=part)
    return File(f"{name}.gz", *packed, md5=md5, unpacked=plain[0], part=part, instead=((unpacked,),))


def _batches(folder: str) -> tuple[File, ...]:
    """The six files of CIFAR-10's binary archive, unpacked."""
    return tuple(
        File(f"{folder}{name}.bin", CIFAR_BATCH, sha256, part="test" if name == "test_batch" else "train")
        for name, sha256 in (
            ("data_batch_1", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
            ("data_batch_2", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
            ("data_batch_3", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
            ("data_batch_4", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
            ("data_batch_5", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
            ("test_batch", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
        )
    )


MNIST = Source(
    name="mnist",
    title="MNIST",
    classes=(7, 8),
    class_names=("digit 7", "digit 8"),
    rows=12_116,
    home="http://yann.lecun.com/exdb/mnist/",
    base_url="https://ossci-datasets.s3.amazonaws.com/mnist/",
    licence="CC BY-SA 3.0",
    citation="LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition, "
    "Proceedings of the IEEE, 1998",
    files=(
        _idx(
            "train",
            "images-idx3",
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            (9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            (47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        ),
        _idx(
            "train",
            "labels-idx1",
            "d53e105ee54ea40749a09fcbcd1e9432",
            (28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            (60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        ),
        _idx(
            "test",
            "images-idx3",
            "9fb629c4189551a2d022fa330f9573f3",
            (1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            (7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        ),
        _idx(
            "test",
            "labels-idx1",
            "ec29112dd5afa0611ce80d1b7f02629c",
            (4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
            (10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
        ),
    ),
)

FASHION_MNIST = Source(
    name="fashion-mnist",
    title="FashionMNIST",
    classes=(0, 4),
    class_names=("T-shirt/top", "Coat"),
    rows=12_000,
    home="https://github.com/zalandoresearch/fashion-mnist",
    base_url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    licence="MIT",
    citation="Xiao, Rasul and Vollgraf, Fashion-MNIST, arXiv:1708.07747, 2017",
    files=(
        _idx(
            "train",
            "images-idx3",
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            (26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            (47_040_016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
        ),
        _idx(
            "train",
            "labels-idx1",
            "25c81989df183df01b3e8a0aad5dffbe",
            (29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            (60_008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        ),
        _idx(
            "test",
            "images-idx3",
            "bef4ecab320f06d8554ea6380940ec79",
            (4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            (7_840_016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
        ),
        _idx(
            "test",
            "labels-idx1",
            "bb300cfdad3c16e7a12a480ee83cd310",
            (5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
            (10_008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
        ),
    ),
)

CIFAR_10 = Source(
    name="cifar-10",
    title="CIFAR-10",
    classes=(0, 1),
    class_names=("airplane", "automobile"),
    rows=10_000,
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
    base_url="https://www.cs.toronto.edu/~kriz/",
    licence="none stated; cite the report",
    citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, technical report, 2009",
    files=(
        File(
            "cifar-10-binary.tar.gz",
            170_052_171,
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            md5="c32a1d4ab5d03f1284b67883e8d87530",
            unpacked=6 * CIFAR_BATCH + 2**20,  # the batches, a page, a list of names, and what tar adds
            instead=(
                _batches("cifar-10-batches-bin/"),
                _batches(""),
                (
                    File(
                        f"{CIFAR_SUBSET}-train.bin.gz",
                        26_910_534,
                        "1764272a07e47d84e46f00f3eae9bb4d3f1813d06a305e93c7100d44d8c0f52d",
                        unpacked=CIFAR_BATCH,
                        part="train",
                    ),
                    File(
                        f"{CIFAR_SUBSET}-test.bin.gz",
                        5_346_274,
                        "1d103c66277780eab0a2de8fb86a8f0afad656bbb3152a2cc4cdb5f64e490cf8",
                        unpacked=CIFAR_BATCH // 5,
                        part="test",
                    ),
                ),
                (
                    File(
                        f"{CIFAR_SUBSET}-train.bin",
                        CIFAR_BATCH,
                        "712b54b98090b4b687849195aeb8162809d7d691e956aeea1cf51089d9c6c2b2",
                        part="train",
                    ),
                    File(
                        f"{CIFAR_SUBSET}-test.bin",
                        CIFAR_BATCH // 5,
                        "b6e88c881dd1b7d0886ab296c67c67403408f5575f66eb24e4926ac16ad3ef2f",
                        part="test",
                    ),
                ),
            ),
        ),
    ),
)

EUROSAT = Source(
    name="eurosat",
    title="EuroSAT (RGB)",
    classes=(0, 1),
    class_names=("AnnualCrop", "Forest"),
    rows=6_000,
    home="https://zenodo.org/records/7711810",
    base_url="https://zenodo.org/records/7711810/files/",
    licence="MIT",
    citation="Helber, Bischke, Dengel and Borth, EuroSAT, IEEE Journal of Selected Topics in Applied Earth "
    "Observations and Remote Sensing, 2019",
    files=(
        File(
            "EuroSAT_RGB.zip",
            94_658_721,
            "b4f5b234ecb7d7ff9c6cddb046543b4717c53fd6e9815be6c0e80cc614f51b90",
            md5="f46e308c4d50d4bf32fedad2d3d62f3b",
            part="train",
            instead=(
                (
                    File(
                        "EuroSAT.zip",
                        94_280_567,
                        "8ebea626349354c5328b142b96d0430e647051f26efc2dc974c843f25ecf70bd",
                        md5="c8fa014336c82ac7804f0398fcb19387",
                        part="train",
                    ),
                ),
                (
                    File(
                        "eurosat-annualcrop-forest.zip",
                        18_472_023,
                        "1cfad760bb9b3d2abc314c838678494a55354a80a436b63ae919a81b7fcbe476",
                        part="train",
                    ),
                ),
            ),
        ),
    ),
)

SOURCES = {source.name: source for source in (MNIST, FASHION_MNIST, CIFAR_10, EUROSAT)}
CLASSES = {name: source.classes for name, source in SOURCES.items()}  # the paper's choice
