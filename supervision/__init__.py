"""Who watches: the subagent service, its drivers, the tree, and the runtime itself.

Everything live about delegation is here: checks, creation, ownership, endings.
What a child is made from is said in ``providers/``; what an agent does is in
``actors/``. What a person sees is computed here and only rendered by the door.
"""
