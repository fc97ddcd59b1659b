"""What travels between agents and what is written down: pure data.

Content, messages, stream chunks, log events, errors, requests and results live
here. Nothing in this folder does I/O, reads a clock or knows an event loop.
"""
