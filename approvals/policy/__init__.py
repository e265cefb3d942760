"""What is decided by rule and not by a person each time: matches over what is asked, and what stands on them.

Pure: nothing here reads or writes the database. `match` says whether a request fits, and why; `documents` reads the stored
form of a match; `globs` is the one grammar of patterns.
"""
