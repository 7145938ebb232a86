"""Room 8: serves an exported model over HTTP, with a page to try it. No torch.

Reads:  ModelFolder
Writes: nothing; it answers over HTTP
"""
