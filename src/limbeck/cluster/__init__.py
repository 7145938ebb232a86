"""Many files predicted in pieces, and teachers asked, in this process or by the workers of a Ray cluster.

Reads:  files on any file system; a model, or teachers and blocks of texts
Writes: a folder of Parquet files on any file system; answers go back to the labeling room
"""
