"""A model as a repository of the Hugging Face Hub.

Reads:  a run or a ModelFolder
Writes: a folder as the hub shows it, or a commit
"""
