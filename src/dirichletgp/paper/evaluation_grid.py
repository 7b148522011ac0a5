"""Every method on every split of every dataset: what several artefacts are made from."""

from ..datasets import dataset_names
from .dataset import Dataset
from .evaluation import evaluation
from .methods import METHODS
from .plan import Plan
from .store import Result
from .task import Task, stored_results


def evaluation_tasks(plan: Plan) -> list[Task]:
    """Every method on every split; the dear ones last, so that much is there early."""
    tasks = [
        task
        for data in plan.available(*dataset_names())
        for method in plan.methods_for(*METHODS)
        for task in _tasks_of_splits(plan, data, method)
    ]
    return sorted(tasks, key=lambda task: task.seconds)


def evaluations_of(plan: Plan, data: Dataset, method: str) -> list[Result]:
    """What is known of a method on a dataset, split by split."""
    return stored_results(_tasks_of_splits(plan, data, method), plan.store)


def _tasks_of_splits(plan: Plan, data: Dataset, method: str) -> list[Task]:
    return [evaluation(data, method, seed) for seed in range(plan.n_splits(data, method))]
