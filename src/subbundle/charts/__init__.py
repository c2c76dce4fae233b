"""Charts: invertible coordinates on a patch of the learned submanifold."""
