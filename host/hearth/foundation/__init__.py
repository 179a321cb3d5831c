"""Foundation: modules without domain knowledge, for files, properties, processes, ports, the terminal and Java.

Nothing here imports another package of the host, so every package may use it. Each module has one purpose.
"""
