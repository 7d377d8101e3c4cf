"""Learn by MaskablePPO of sb3-contrib (`pip install sb3-contrib`, which takes PyTorch) against random bots.

python maskable_ppo.py policy.zip          # learns from 100,000 own decisions
python maskable_ppo.py policy.zip --play   # plays in the arena
"""

import sys
from typing import Any

import gymnasium
from sb3_contrib import MaskablePPO

from happycity_client import run
from happycity_envs.arena import policy_bot

if "--play" in sys.argv:
    learnt = MaskablePPO.load(sys.argv[1])

    def maskable(observation: Any, mask: Any) -> Any:
        """Return the most likely action."""
        return learnt.predict(observation, action_masks=mask, deterministic=True)[0]

    run(policy_bot(maskable))
else:
    table = gymnasium.make(
        "happycity_envs.gymnasium:HappyCity-v0", opponents=("random",) * 3, reward="points"
    )
    learner = MaskablePPO("MlpPolicy", table, n_steps=4096, batch_size=256, gamma=1.0, seed=0, verbose=1)
    learner.learn(100_000)
    learner.save(sys.argv[1])
