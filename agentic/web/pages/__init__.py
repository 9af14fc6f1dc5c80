"""The pages for people: asking, messages, runs, reviewing and widen attempts.

A page is a `load` that reads rows within what its reader may see, and a thin view that shows them. Mail is text on
every one of them: never HTML, never in an address, a title or a log.
"""
