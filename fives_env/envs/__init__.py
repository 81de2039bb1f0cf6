"""Environments over :class:`fives_env.Table`, one module for each API they speak."""

#: Identity of the AEC environment in PettingZoo's registry.
AEC_ID = "fives_env/fives-v0"
#: Identity of the one-seat environments in Gymnasium's.
GYMNASIUM_ID = "fives_env/Fives-v0"


def register_aec() -> None:
    """Make :data:`AEC_ID` known to ``pettingzoo.make``; nothing where PettingZoo has no registry.

    Imports PettingZoo (which has one since 1.27), but neither the environment nor its table.
    """
    try:
        from pettingzoo.env_registry.registration import aec_registry, register
    except ImportError:
        return
    if AEC_ID not in aec_registry:
        register("aec", AEC_ID, entry_point="fives_env.fives_v0:env")


def register_gymnasium() -> None:
    """Make :data:`GYMNASIUM_ID` known to ``gymnasium.make`` and ``gymnasium.make_vec``.

    Imports Gymnasium, but not the environments.
    """
    from gymnasium.envs.registration import register, registry

    if GYMNASIUM_ID not in registry:
        register(
            GYMNASIUM_ID,
            entry_point="fives_env.envs.single:FivesEnv",
            vector_entry_point="fives_env.envs.vector:FivesVectorEnv",
        )
