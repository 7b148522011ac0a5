"""`python -m dirichletgp.cli`."""

from . import main

main()
