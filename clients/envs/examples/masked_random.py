"""Play a game by random legal actions, in PettingZoo and in Gymnasium: how the mask is used."""

import gymnasium

from happycity_envs.pettingzoo import env

game = env(players=3, mode="expert")
game.reset(seed=1)
for agent in game.agent_iter():
    observation, reward, termination, truncation, info = game.last()
    if termination or truncation:
        print(f"{agent}: {reward:+.1f}")
        action = None
    else:
        action = game.action_space(agent).sample(observation["action_mask"])
    game.step(action)

table = gymnasium.make("happycity_envs.gymnasium:HappyCity-v0", opponents=("greedy", "planner"))
observation, info = table.reset(seed=1)
done = False
while not done:
    action = table.action_space.sample(info["action_mask"])
    observation, reward, done, truncated, info = table.step(action)
print(f"place {info['rank']} with {info['points']} points")
