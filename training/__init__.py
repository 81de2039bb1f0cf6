"""Scripts that train players, run from a checkout: ``python -m training.ppo``."""
