"""The commands of `dirichletgp`, one module each; `dirichletgp.cli` puts them together."""
