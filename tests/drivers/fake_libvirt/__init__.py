"""A libvirt in memory: hosts with volumes and machines that answer at once, and that a test can hold up or break.

The driver above it is the real one. Where libvirt's own module is installed, its constants and its error serve; else
a module of ours with the same names takes its place. Either way only connections to ``fake:`` addresses end up here.
"""
