"""The program: the command line, the engine session and the desktop."""
