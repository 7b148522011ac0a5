"""Every routine equals its NumPy definition."""

import numpy as np
import pytest

from dirichletgp._gp.core import parallel


@pytest.fixture(params=[1, 5, 64, 130])
def size(request):
    return request.param


@pytest.fixture
def lower(size):
    A = np.random.default_rng(size).normal(size=(size, size + 3))
    return np.linalg.cholesky(A @ A.T + np.eye(size))


@pytest.fixture
def rows(size):
    return np.random.default_rng(1).normal(size=(7, size))


def test_cholesky_and_inverses(lower, size):
    matrix = lower @ lower.T
    np.testing.assert_allclose(parallel.cholesky(matrix), lower, atol=1e-10)
    np.testing.assert_allclose(
        parallel.inverse_from_cholesky(lower), np.linalg.inv(matrix), atol=1e-8
    )
    np.testing.assert_allclose(
        parallel.outer_product_of_root(lower), lower.T @ lower, rtol=1e-10, atol=1e-10
    )
    assert parallel.log_determinant(lower) == pytest.approx(np.linalg.slogdet(matrix)[1])


def test_solves(lower, rows):
    inverse = np.linalg.inv(lower)
    np.testing.assert_allclose(parallel.solve_rows(lower, rows.copy()), rows @ inverse.T, atol=1e-8)
    np.testing.assert_allclose(
        parallel.solve_rows_transposed(lower, rows.copy()), rows @ inverse, atol=1e-8
    )


def test_sums_in_single_precision_are_right_to_its_digits(lower, rows):
    inverse = np.linalg.inv(lower)
    exact = np.square(rows @ inverse.T).sum(axis=1)
    single = rows.astype(np.float32)
    squares = parallel.coarse_squares(inverse.astype(np.float32), single.copy())
    reach = np.square(rows).sum(axis=1).max() * np.linalg.norm(inverse, 2) ** 2
    np.testing.assert_allclose(squares, exact, atol=3e-6 * reach)
    gram = rows.T @ rows
    found = parallel.coarse_gram(single)
    np.testing.assert_allclose(np.tril(found), np.tril(gram), atol=3e-6 * gram.max())
    assert squares.dtype == found.dtype == np.float64
    for wrong in (rows, single[::2]):
        with pytest.raises(ValueError, match="float32"):
            parallel.coarse_gram(wrong)


def test_products_from_both_sides(lower, size):
    inverse = np.linalg.inv(lower)
    A = np.random.default_rng(2).normal(size=(size, size))
    gram = A @ A.T
    found = parallel.inverse_triangle(lower)
    np.testing.assert_allclose(found, inverse, atol=1e-8)
    np.testing.assert_allclose(
        parallel.whitened(found, gram), inverse @ gram @ inverse.T, atol=1e-7
    )
    np.testing.assert_allclose(
        parallel.pulled_back(found, gram.copy()), inverse.T @ gram @ inverse, atol=1e-7
    )
    np.testing.assert_allclose(
        parallel.whitened_in_parallel(found, gram, map), inverse @ gram @ inverse.T, atol=1e-7
    )
    np.testing.assert_allclose(
        parallel.pulled_back_in_parallel(found, gram, map), inverse.T @ gram @ inverse, atol=1e-7
    )
    np.testing.assert_allclose(parallel.product(A, gram), A @ gram, atol=1e-9)


def test_products_with_a_triangle(lower, rows):
    columns = np.ascontiguousarray(rows.T)
    for found, wanted in (
        (parallel.multiply_rows(lower, rows.copy()), rows @ lower.T),
        (parallel.multiply_rows_transposed(lower, rows.copy()), rows @ lower),
        (parallel.multiply_columns(lower, columns.copy()), lower @ columns),
        (parallel.multiply_columns_transposed(lower, columns.copy()), lower.T @ columns),
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_a_triangle_with_a_zero_on_its_diagonal_has_no_inverse():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        parallel.inverse_triangle(np.array([[1.0, 0.0], [1.0, 0.0]]))


@pytest.mark.parametrize("n_columns", [1, 9, 26, 300])
def test_a_row_of_a_product_in_tiles_has_the_same_bits_among_any_others(size, n_columns):
    rng = np.random.default_rng(0)
    rows, right = rng.normal(size=(300, size)), rng.normal(size=(n_columns, size)).T
    together = parallel.product_in_tiles(rows, right)
    np.testing.assert_allclose(together, rows @ right, atol=1e-12)
    for n in (0, 1, 23, 24, 25, 96, 200):
        some = rows[len(rows) - n :]
        found = parallel.product_in_tiles(some, right)
        np.testing.assert_array_equal(found, together[len(rows) - n :])


def test_outer_gram_accumulates(rows):
    gram = np.eye(len(rows))
    parallel.add_outer_gram(rows, gram, 0.5)
    parallel.add_outer_gram(rows[:, :0].copy(), gram)
    wanted = np.eye(len(rows)) + 0.5 * rows @ rows.T
    np.testing.assert_allclose(parallel.symmetrise(gram), wanted, atol=1e-10)


def test_gram_accumulates(rows, size):
    gram = np.zeros((size, size))
    parallel.add_gram(rows, gram)
    parallel.add_gram(2 * rows, gram)
    parallel.add_gram(rows[:0].copy(), gram)
    np.testing.assert_allclose(parallel.symmetrise(gram), 5 * rows.T @ rows, atol=1e-10)


@pytest.mark.parametrize("matrix", [-np.eye(3), np.full((2, 2), np.nan), np.ones((3, 3))])
def test_what_is_not_positive_definite_is_refused(matrix):
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        parallel.cholesky(matrix)


def test_what_fortran_would_misread_is_refused():
    with pytest.raises(ValueError, match="C-contiguous"):
        parallel.solve_rows(np.eye(3), np.ones((3, 4)).T)
