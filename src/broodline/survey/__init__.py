"""The main job of `broodline demo`: agents that survey a folder of real files.

Here live the facts about files, the tools that gather them, the rules that stand
in for a model, the picture of the agents at work and the report. Whatever the
runtime needs of its own does not belong here: this folder only uses it.
"""
