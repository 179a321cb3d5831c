"""Foundation holds what knows no word of the domain: property files, child processes, the terminal, files, ports.

Nothing here imports another part of the host, so every part may build on it. Each module is one idea;
there is no collection of odds and ends.
"""
