"""JAXopt, Optimistix and Lineax: minima, roots, least squares, linear systems, and their gradients."""

import jax
import jax.numpy as jnp
import jaxopt
import lineax
import optimistix

matrix = jax.random.normal(jax.random.key(0), (50, 20))
target = jax.random.normal(jax.random.key(1), (50,))
zeros = jnp.zeros(20)


def squares(x):
    return jnp.mean((matrix @ x - target) ** 2)


def ridge(x):
    return squares(x) + 0.1 * jnp.sum(x**2)


def lasso(weight):
    solver = jaxopt.BlockCoordinateDescent(jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=30)
    return solver.run(zeros, weight, (matrix, target)).params.sum()


proximal = jaxopt.ProximalGradient(squares, jaxopt.prox.prox_lasso, maxiter=200)
normal = lineax.MatrixLinearOperator(matrix.T @ matrix + jnp.eye(20), lineax.positive_semidefinite_tag)
RESULTS = [
    ridge(jaxopt.LBFGS(ridge, maxiter=50).run(zeros).params),
    ridge(jaxopt.NonlinearCG(ridge, maxiter=50).run(zeros).params),
    jnp.abs(proximal.run(zeros, hyperparams_prox=0.05).params).sum(),
    jaxopt.projection.projection_simplex(target).max(),
    optimistix.root_find(lambda y, args: y - jnp.tanh(y + 1), optimistix.Newton(1e-6, 1e-6),
                         jnp.array(0.0)).value,
    optimistix.least_squares(lambda y, args: matrix @ y - target,
                             optimistix.LevenbergMarquardt(1e-5, 1e-5), zeros).value.sum(),
    lineax.linear_solve(normal, matrix.T @ target, lineax.CG(1e-5, 1e-5)).value.sum(),
    lineax.linear_solve(normal, matrix.T @ target, lineax.Cholesky()).value.sum(),
    lineax.linear_solve(lineax.MatrixLinearOperator(matrix), target, lineax.QR()).value.sum(),
    lineax.linear_solve(lineax.MatrixLinearOperator(matrix), target, lineax.SVD()).value.sum(),
    jax.grad(lasso)(0.1),
]
