"""Who works: the event-loop actor, its system, and in time the agent with all it runs on.

Actors, replies, agents, sessions, tools, prompts, stores and models live here.
What children are made from (providers/) and who watches them (supervision/) do not,
and nothing here may import them.
"""
