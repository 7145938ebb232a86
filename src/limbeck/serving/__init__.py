"""Room 8: an exported model behind an HTTP port, with a page to try it on. No torch.

Reads:  ModelFolder
Writes: nothing; it answers over HTTP
"""
