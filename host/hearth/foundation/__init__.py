"""Foundation holds what knows no word of the domain: files, properties, processes, ports, the terminal, a Java.

Nothing here imports another part of the host, so every part may build on it. Each module is one idea;
there is no collection of odds and ends.
"""
